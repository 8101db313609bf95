"""The local backend: models that run in this process through torch and transformers.

Importing this package imports neither; `load_backend`, `load_tokenizer` and `load_shape` do, when called.
"""

from __future__ import annotations

import importlib.util
from pathlib import Path
from typing import TYPE_CHECKING

from safetyrepro.errors import missing_extra
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.models import Dtype, ModelSource, WeightRounding

if TYPE_CHECKING:
    from safetyrepro.score.cost import ModelShape
    from safetyrepro.score.local.model import LocalBackend
    from safetyrepro.score.local.reward import LocalRewardModel
    from safetyrepro.score.local.tokens import LocalTokenizer


def load_backend(
    source: ModelSource,
    *,
    dtype: Dtype,
    rounding: WeightRounding | None,
    device: Device,
    base_dir: Path,
    cache_dir: Path | None = None,
) -> LocalBackend:
    """The model, loaded, rounded and ready to score; one load serves all passes with these arguments.

    Args:
        base_dir: what relative paths of a `path` source are relative to (the spec's folder).
        cache_dir: where converted GGUF files are kept; absent: `SAFETYREPRO_CACHE`, else the user's cache.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        InputError: no such model, another digest, a rounding it cannot have, no such device.
        StorageError: the cache cannot be written.
    """
    _require_extra()
    from safetyrepro.score.local.load import load_local_backend

    return load_local_backend(
        source, dtype=dtype, rounding=rounding, device=device, base_dir=base_dir, cache_dir=cache_dir
    )


def load_reward_model(
    source: ModelSource, *, dtype: Dtype, device: Device, base_dir: Path
) -> LocalRewardModel:
    """The reward model: a folder whose sequence-classification head has one label.

    Raises:
        MissingExtraError: torch or transformers is not installed.
        InputError: no such model, another digest, a head that is missing or has several labels.
    """
    _require_extra()
    from safetyrepro.score.local.load import load_local_reward

    return load_local_reward(source, dtype=dtype, device=device, base_dir=base_dir)


def load_tokenizer(source: ModelSource, *, base_dir: Path, cache_dir: Path | None = None) -> LocalTokenizer:
    """The model's tokenizer and chat template without its weights: what a plan needs to count tokens.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.load import load_local_tokenizer

    return load_local_tokenizer(source, base_dir=base_dir, cache_dir=cache_dir)


def load_shape(source: ModelSource, *, base_dir: Path, cache_dir: Path | None = None) -> ModelShape:
    """The model's sizes, read from its configuration without its weights.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.load import load_local_shape

    return load_local_shape(source, base_dir=base_dir, cache_dir=cache_dir)


def default_cache_dir() -> Path:
    """Where converted models and shards are kept: `SAFETYREPRO_CACHE`, else the user's cache folder."""
    from safetyrepro.score.local.files import default_cache_dir as chosen

    return chosen()


def weights_digest(source: ModelSource, *, base_dir: Path) -> str:
    """The digest of the weights as stored, without loading them; a declared digest is checked.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.files import find_weights

    return find_weights(source, base_dir=base_dir)[1]


def device_class(device: Device) -> str:
    """The kind of device that the spec's `device` block gets on this machine.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.device import choose_device
    from safetyrepro.score.local.device import device_class as class_of

    return class_of(choose_device(device))


def matrix_rate(device: Device, *, width: int, rows: int, dtype: Dtype = "float32") -> float:
    """Floating-point operations a second of this machine's matrix product at a model's own shapes.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.rate import measure_matrix_rate

    return measure_matrix_rate(device, width=width, rows=rows, dtype=dtype)


def token_budget(device: Device) -> int:
    """Tokens a forward pass on this device where the spec does not say.

    Raises: as `load_backend`.
    """
    _require_extra()
    from safetyrepro.score.local.device import choose_device, default_token_budget

    return default_token_budget(choose_device(device))


def _require_extra() -> None:
    if any(importlib.util.find_spec(name) is None for name in ("torch", "transformers")):
        raise missing_extra("scoring", "models")
