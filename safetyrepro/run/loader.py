"""The loader of real models; importing it imports neither torch nor transformers."""

from __future__ import annotations

from dataclasses import dataclass, field
from pathlib import Path

from safetyrepro.score import local
from safetyrepro.score.backend import Backend, Tokenizer
from safetyrepro.score.cost import ModelShape
from safetyrepro.score.reward import RewardBackend
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.models import Dtype, ModelSource, WeightRounding


@dataclass(frozen=True, slots=True)
class LocalLoader:
    """Loads models through `score.local`; converted files are kept in `cache_dir`."""

    cache_dir: Path | None = None

    def device_class(self, device: Device) -> str:
        return local.device_class(device)

    def weights_digest(self, source: ModelSource, *, base_dir: Path) -> str:
        return local.weights_digest(source, base_dir=base_dir)

    def load(
        self,
        source: ModelSource,
        *,
        dtype: Dtype,
        rounding: WeightRounding | None,
        device: Device,
        base_dir: Path,
    ) -> Backend:
        return local.load_backend(
            source,
            dtype=dtype,
            rounding=rounding,
            device=device,
            base_dir=base_dir,
            cache_dir=self.cache_dir,
        )

    def load_reward_model(
        self, source: ModelSource, *, dtype: Dtype, device: Device, base_dir: Path
    ) -> RewardBackend:
        return local.load_reward_model(source, dtype=dtype, device=device, base_dir=base_dir)


@dataclass(frozen=True, slots=True)
class LocalSurveyor:
    """What a plan asks, answered from tokenizers and configurations, each read once."""

    cache_dir: Path | None = None
    _tokenizers: dict[str, Tokenizer] = field(default_factory=dict)
    _shapes: dict[str, ModelShape] = field(default_factory=dict)

    def tokenizer(self, source: ModelSource, *, base_dir: Path) -> Tokenizer:
        key = source.model_dump_json()
        if key not in self._tokenizers:
            self._tokenizers[key] = local.load_tokenizer(
                source, base_dir=base_dir, cache_dir=self.cache_dir
            )
        return self._tokenizers[key]

    def shape(self, source: ModelSource, *, base_dir: Path) -> ModelShape:
        key = source.model_dump_json()
        if key not in self._shapes:
            self._shapes[key] = local.load_shape(source, base_dir=base_dir, cache_dir=self.cache_dir)
        return self._shapes[key]

    def token_budget(self, device: Device) -> int:
        return local.token_budget(device)

    def matrix_rate(self, device: Device, *, width: int, rows: int, dtype: Dtype) -> float:
        return local.matrix_rate(device, width=width, rows=rows, dtype=dtype)
