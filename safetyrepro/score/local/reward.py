"""A reward model of transformers: one number for a whole sequence, read alone and unpadded."""

from __future__ import annotations

from collections.abc import Sequence

import numpy as np
import tokenizers
import torch
import transformers
from numpy.typing import NDArray
from torch import nn
from transformers import PreTrainedModel

from safetyrepro.score.backend import Identity
from safetyrepro.score.local.device import device_class
from safetyrepro.score.local.shape import context_tokens_of
from safetyrepro.score.local.tokens import LocalTokenizer
from safetyrepro.spec.models import Dtype


class LocalRewardModel:
    """A sequence-classification model with one label. Implements `score.reward.RewardBackend`.

    The model's own forward pass and pooling, one sequence at a time: which token counts as the last of a
    padded batch depends on the padding token that a configuration names, and many name none.
    """

    def __init__(
        self, model: PreTrainedModel, tokenizer: LocalTokenizer, *, weights_digest: str, dtype: Dtype
    ) -> None:
        self._model = model
        nn.Module.eval(model)
        self._tokenizer = tokenizer
        self._device = next(model.parameters()).device
        self._identity = Identity(
            weights=weights_digest,
            tokenizer=tokenizer.digest,
            template=tokenizer.template_digest,
            architecture=type(model).__name__,
            dtype=dtype,
            rounding=None,
            device=device_class(self._device),
            attention=str(getattr(model.config, "_attn_implementation", "none")),
            compiled=False,
            context_tokens=context_tokens_of(model.config.get_text_config()),
            versions=(
                ("tokenizers", tokenizers.__version__),
                ("torch", torch.__version__),
                ("transformers", transformers.__version__),
            ),
        )

    @property
    def identity(self) -> Identity:
        return self._identity

    @property
    def tokenizer(self) -> LocalTokenizer:
        return self._tokenizer

    @property
    def context_tokens(self) -> int:
        return self._identity.context_tokens

    @torch.inference_mode()
    def rewards(self, sequences: Sequence[tuple[int, ...]]) -> NDArray[np.float64]:
        found = np.empty(len(sequences))
        for at, ids in enumerate(sequences):
            output = self._model(torch.tensor([ids], device=self._device), use_cache=False)
            found[at] = float(output.logits[0, 0].float())
        return found
