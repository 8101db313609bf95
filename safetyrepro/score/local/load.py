"""From a declared source to a loaded, rounded model with its digests."""

from __future__ import annotations

from pathlib import Path
from typing import cast

import torch
from safetensors import SafetensorError
from torch import nn
from transformers import (
    AutoConfig,
    AutoModelForCausalLM,
    AutoModelForSequenceClassification,
    PreTrainedConfig,
    PreTrainedModel,
)

from safetyrepro.errors import InputError, must_be
from safetyrepro.score.cost import ModelShape
from safetyrepro.score.local.device import choose_device
from safetyrepro.score.local.files import find_files, find_weights
from safetyrepro.score.local.model import LocalBackend
from safetyrepro.score.local.quiet import quiet_transformers
from safetyrepro.score.local.reward import LocalRewardModel
from safetyrepro.score.local.rounding import round_model
from safetyrepro.score.local.shape import fresh_model, shape_of
from safetyrepro.score.local.tokens import LocalTokenizer, load_folder_tokenizer
from safetyrepro.spec.experiment import Device
from safetyrepro.spec.models import Dtype, ModelSource, WeightRounding

_DTYPES = {"float32": torch.float32, "bfloat16": torch.bfloat16, "float16": torch.float16}


def load_local_backend(
    source: ModelSource,
    *,
    dtype: Dtype,
    rounding: WeightRounding | None,
    device: Device,
    base_dir: Path,
    cache_dir: Path | None,
) -> LocalBackend:
    """The loaded model; see `score.local.load_backend`."""
    files = find_files(source, base_dir=base_dir, cache_dir=cache_dir)
    tokenizer = load_folder_tokenizer(files.folder)
    chosen = choose_device(device)
    model = _load_model(files.folder, dtype=dtype, attention=device.attention)
    if rounding is not None:
        round_model(model, rounding)
    nn.Module.to(model, chosen)
    return LocalBackend(
        model,
        tokenizer,
        weights_digest=files.digest,
        dtype=dtype,
        rounding=rounding,
        compiled=device.compile,
    )


def load_local_reward(
    source: ModelSource, *, dtype: Dtype, device: Device, base_dir: Path
) -> LocalRewardModel:
    """The loaded reward model; see `score.local.load_reward_model`."""
    place, digest = find_weights(source, base_dir=base_dir)
    if not place.is_dir():
        raise InputError(f"{place}: reward model must be a folder with its head; got a file")
    tokenizer = load_folder_tokenizer(place)
    _load_config(place)
    chosen = None if device.attention == "auto" else device.attention
    try:
        with quiet_transformers():
            model, info = AutoModelForSequenceClassification.from_pretrained(
                place,
                dtype=_DTYPES[dtype],
                attn_implementation=chosen,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
                output_loading_info=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{place}: must be a sequence-classification model that transformers can load; {error}"
        ) from error
    if missing := sorted(info["missing_keys"]):
        raise InputError(f"{place}: reward model must hold all its weights; {missing[0]} is not there")
    if model.config.num_labels != 1:
        raise InputError(must_be(f"{place}: reward model", "must have one label", model.config.num_labels))
    nn.Module.to(model, choose_device(device))
    return LocalRewardModel(model, tokenizer, weights_digest=digest, dtype=dtype)


def load_local_tokenizer(source: ModelSource, *, base_dir: Path, cache_dir: Path | None) -> LocalTokenizer:
    """The tokenizer alone; see `score.local.load_tokenizer`."""
    return load_folder_tokenizer(find_files(source, base_dir=base_dir, cache_dir=cache_dir).folder)


def load_local_shape(source: ModelSource, *, base_dir: Path, cache_dir: Path | None) -> ModelShape:
    """The sizes alone; see `score.local.load_shape`."""
    folder = find_files(source, base_dir=base_dir, cache_dir=cache_dir).folder
    config = _load_config(folder)
    with quiet_transformers(), torch.device("meta"):
        model = fresh_model(config)
    return shape_of(model)


def _load_config(folder: Path) -> PreTrainedConfig:
    try:
        config = AutoConfig.from_pretrained(folder, local_files_only=True, trust_remote_code=False)
    except (OSError, ValueError, KeyError) as error:
        raise InputError(f"{folder}: must hold a configuration that transformers knows; {error}") from error
    return cast(PreTrainedConfig, config)


def _load_model(folder: Path, *, dtype: Dtype, attention: str) -> PreTrainedModel:
    chosen = None if attention == "auto" else attention
    try:
        with quiet_transformers():
            return AutoModelForCausalLM.from_pretrained(
                folder,
                dtype=_DTYPES[dtype],
                attn_implementation=chosen,
                local_files_only=True,
                trust_remote_code=False,
                use_safetensors=True,
            )
    except (OSError, ValueError, KeyError, RuntimeError, SafetensorError) as error:
        raise InputError(
            f"{folder}: must be a causal language model that transformers can load; {error}"
        ) from error
