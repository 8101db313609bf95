"""Where a model comes from, what digest it has, and every way it can be missing."""

from __future__ import annotations

import sys
from pathlib import Path

import pytest
from tiny_models import CHATML, tiny_model, tiny_tokenizer

from safetyrepro.canonical import digest_bytes
from safetyrepro.errors import InputError, MissingExtraError, StorageError
from safetyrepro.score import local
from safetyrepro.score.local import files
from safetyrepro.score.rendering import Renderer
from safetyrepro.score.selfcheck import self_check
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.factors import ChatTemplate
from safetyrepro.spec.models import HubModel, PackageModel, PathModel, WeightRounding

CPU = Device(name="cpu")


@pytest.fixture(scope="module")
def folder(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """A saved tiny model with its tokenizer."""
    path = tmp_path_factory.mktemp("models") / "tiny"
    tiny_model().save_pretrained(path)
    tiny_tokenizer(CHATML)._tokenizer.save_pretrained(path)
    return path


def test_a_folder_loads_and_scores(folder: Path) -> None:
    source = PathModel(kind="path", path="tiny", sha256=files.digest_folder(folder))
    backend = local.load_backend(source, dtype="float32", rounding=None, device=CPU, base_dir=folder.parent)
    assert backend.identity.weights == source.sha256 == local.weights_digest(source, base_dir=folder.parent)
    assert self_check(backend).path == "packed"
    frame = Frame(template=ChatTemplate(kind="chat", id="chat"), system=None, exemplars=())
    tokenizer = local.load_tokenizer(source, base_dir=folder.parent)
    rendered = [
        Renderer(one, frame).render("the Ans", "wer", where="x") for one in (tokenizer, backend.tokenizer)
    ]
    assert rendered[0] == rendered[1]
    assert tokenizer.digest == backend.identity.tokenizer


def test_the_eager_and_the_fused_attention_are_two_identities(folder: Path) -> None:
    source = PathModel(kind="path", path=str(folder))
    names = []
    for attention in ("eager", "sdpa"):
        device = Device(name="cpu", attention=attention)
        backend = local.load_backend(source, dtype="float32", rounding=None, device=device, base_dir=folder)
        assert self_check(backend).path == "packed"
        names.append(backend.identity.attention)
    assert names == ["eager", "sdpa"]


def test_a_rounded_model_has_the_stored_digest_and_its_rounding(folder: Path) -> None:
    source, rounding = PathModel(kind="path", path=str(folder)), WeightRounding(bits=3, group=32)
    plain = local.load_backend(source, dtype="float32", rounding=None, device=CPU, base_dir=folder)
    small = local.load_backend(source, dtype="float32", rounding=rounding, device=CPU, base_dir=folder)
    assert small.identity.weights == plain.identity.weights
    assert small.identity.digest() != plain.identity.digest()
    ids = tuple(range(5, 30))
    assert abs(small.plain([(ids, 3)])[0] - plain.plain([(ids, 3)])[0]).max() > 1e-3


def test_sizes_are_read_without_weights(folder: Path) -> None:
    shape = local.load_shape(PathModel(kind="path", path=str(folder)), base_dir=folder)
    model = tiny_model()
    assert shape.parameters == sum(one.numel() for one in model.parameters())
    assert shape.linear_parameters == shape.parameters - 2 * 300 * 64
    assert (shape.layers, shape.width, shape.vocabulary, shape.key_value_width) == (3, 64, 300, 32)
    assert shape.context_tokens == 256


def test_one_flipped_byte_of_a_folder_is_another_digest(folder: Path, tmp_path: Path) -> None:
    for name in ("config.json", "model.safetensors"):
        (tmp_path / name).write_bytes((folder / name).read_bytes())
    assert files.digest_folder(tmp_path) == files.digest_folder(folder)
    data = bytearray((tmp_path / "model.safetensors").read_bytes())
    data[-1] ^= 1
    (tmp_path / "model.safetensors").write_bytes(bytes(data))
    assert files.digest_folder(tmp_path) != files.digest_folder(folder)


def test_a_declared_digest_that_differs_is_refused(folder: Path) -> None:
    source = PathModel(kind="path", path=str(folder), sha256=digest_bytes(b"other"))
    with pytest.raises(InputError, match=r"sha256 must be sha256:.*; got 'sha256:"):
        local.weights_digest(source, base_dir=folder)


def test_a_missing_model_is_named_with_its_place(tmp_path: Path) -> None:
    with pytest.raises(InputError, match=r"nowhere: model must exist; there is no such file or folder"):
        local.weights_digest(PathModel(kind="path", path="nowhere"), base_dir=tmp_path)
    (tmp_path / "model.bin").write_bytes(b"x")
    with pytest.raises(InputError, match=r"must be a folder or a \.gguf file; got a file '\.bin'"):
        local.weights_digest(PathModel(kind="path", path="model.bin"), base_dir=tmp_path)
    (tmp_path / "empty").mkdir()
    with pytest.raises(InputError, match=r"must hold \.safetensors weights; there are none"):
        local.weights_digest(PathModel(kind="path", path="empty"), base_dir=tmp_path)
    (tmp_path / "empty" / "model.safetensors").write_bytes(b"x")
    with pytest.raises(InputError, match=r"must hold config\.json; there is none"):
        local.weights_digest(PathModel(kind="path", path="empty"), base_dir=tmp_path)


def test_a_broken_model_folder_is_refused_with_its_place(folder: Path, tmp_path: Path) -> None:
    for path in folder.iterdir():
        (tmp_path / path.name).write_bytes(path.read_bytes())
    source = PathModel(kind="path", path=str(tmp_path))
    (tmp_path / "model.safetensors").write_bytes(b"not weights")
    with pytest.raises(InputError, match="must be a causal language model that transformers can load"):
        local.load_backend(source, dtype="float32", rounding=None, device=CPU, base_dir=tmp_path)
    (tmp_path / "tokenizer.json").unlink()
    (tmp_path / "tokenizer_config.json").unlink()
    with pytest.raises(InputError, match="must hold a tokenizer that transformers can read"):
        local.load_tokenizer(source, base_dir=tmp_path)


def test_a_file_that_is_no_gguf_is_refused_and_leaves_no_cache(tmp_path: Path) -> None:
    (tmp_path / "broken.gguf").write_bytes(b"GGUF but not really")
    source = PathModel(kind="path", path="broken.gguf")
    with pytest.raises(InputError, match=r"broken\.gguf: must be a GGUF model that transformers can read"):
        local.load_tokenizer(source, base_dir=tmp_path, cache_dir=tmp_path / "cache")
    assert list((tmp_path / "cache" / "models").iterdir()) == []


def test_a_package_is_found_without_being_imported(
    folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    package = tmp_path / "holds_a_model"
    package.mkdir()
    (package / "__init__.py").write_text("raise RuntimeError('imported')")
    (package / "weights.gguf").write_bytes(b"weights")
    monkeypatch.syspath_prepend(str(tmp_path))
    source = PackageModel(kind="package", package="holds_a_model", file="weights.gguf")
    assert local.weights_digest(source, base_dir=tmp_path) == digest_bytes(b"weights")
    assert "holds_a_model" not in sys.modules
    with pytest.raises(InputError, match=r"must hold the file; got 'other\.gguf'"):
        local.weights_digest(source.model_copy(update={"file": "other.gguf"}), base_dir=tmp_path)
    with pytest.raises(InputError, match="model package no_such_package: must be installed"):
        local.weights_digest(source.model_copy(update={"package": "no_such_package"}), base_dir=tmp_path)


def test_a_hub_that_cannot_be_reached_is_an_input_error(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path))
    source = HubModel(kind="hub", repo="someone/nothing", revision="0" * 40)
    with pytest.raises(
        InputError, match=r"model someone/nothing: must be reachable \(or cached\) at revision 000"
    ):
        local.weights_digest(source, base_dir=tmp_path)


def test_a_cache_that_cannot_be_written_says_how_to_move_it(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("in the way")
    (tmp_path / "broken.gguf").write_bytes(b"GGUF")
    source = PathModel(kind="path", path="broken.gguf")
    with pytest.raises(StorageError, match=r"cache must be writable; .*set SAFETYREPRO_CACHE"):
        local.load_tokenizer(source, base_dir=tmp_path, cache_dir=tmp_path / "file" / "cache")


def test_the_cache_is_where_the_environment_says(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SAFETYREPRO_CACHE", "own")
    assert files.default_cache_dir() == Path("own")
    monkeypatch.delenv("SAFETYREPRO_CACHE")
    monkeypatch.setenv("XDG_CACHE_HOME", "xdg")
    assert files.default_cache_dir() == Path("xdg") / "safetyrepro"


def test_a_gpu_that_is_not_there_is_refused(folder: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("torch.cuda.is_available", lambda: False)
    with pytest.raises(InputError, match=r"device\.name: must be auto or cpu where no GPU can be used"):
        local.device_class(Device(name="cuda"))


def test_without_torch_the_extra_is_named(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("importlib.util.find_spec", lambda name: None)
    with pytest.raises(MissingExtraError, match=r"scoring needs the extra 'models'.*safetyrepro\[models\]"):
        local.load_tokenizer(PathModel(kind="path", path="x"), base_dir=tmp_path)
