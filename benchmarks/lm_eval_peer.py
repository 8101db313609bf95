"""lm-evaluation-harness's HFLM on a model that is already loaded, given the same tokens."""

from __future__ import annotations

import importlib.metadata
import logging
import os
from collections.abc import Sequence
from dataclasses import dataclass

from transformers import PreTrainedModel, PreTrainedTokenizerBase

from safetyrepro.score.rendering import Rendered

LM_EVAL = "0.4.13"
BATCH_SIZES = (1, 8, 32)


class PeerMissing(SystemExit):
    """lm-eval is not installed as this comparison needs it."""


def check_installed() -> None:
    """Ends the script with the command that installs lm-eval, unless it is there in the right version.

    Raises:
        PeerMissing: lm-eval is absent or of another version.
    """
    try:
        found = importlib.metadata.version("lm-eval")
    except importlib.metadata.PackageNotFoundError:
        found = "none"
    if found != LM_EVAL:
        raise PeerMissing(
            f"this comparison needs lm-eval {LM_EVAL}; found {found}. Install it without its own copy of "
            f"torch and transformers: pip install --no-deps lm-eval=={LM_EVAL}"
        )


def installed() -> bool:
    """Whether lm-eval is there in the version that the comparison is about."""
    try:
        check_installed()
    except PeerMissing:
        return False
    return True


@dataclass(frozen=True)
class Fault:
    """One answer whose tokens lm-eval cuts differently, with the reason as far as the texts tell it."""

    kind: str
    context_tail: str
    answer_head: str
    item: str = ""


class Peer:
    """HFLM around a loaded model; its own batching, sorting, merging of repeats and log-softmax."""

    def __init__(self, model: PreTrainedModel, tokenizer: PreTrainedTokenizerBase) -> None:
        os.environ.setdefault("HF_HUB_OFFLINE", "1")
        logging.getLogger("lm_eval").setLevel(logging.ERROR)
        from lm_eval.models.huggingface import HFLM

        self._lm = HFLM(
            pretrained=model,
            tokenizer=tokenizer,
            backend="causal",
            batch_size=1,
            device=str(next(model.parameters()).device),
        )

    def scores(self, sequences: Sequence[Rendered], *, batch_size: int) -> list[float]:
        """Sums in nats of every sequence's scored tokens, in order."""
        return self.score_tokens([(one.ids, one.start) for one in sequences], batch_size=batch_size)

    def score_tokens(
        self, sequences: Sequence[tuple[tuple[int, ...], int]], *, batch_size: int
    ) -> list[float]:
        """Sums in nats of `ids[start:]` of every `(ids, start)`, in order."""
        self._lm.batch_size_per_gpu = batch_size
        requests = [(("", ""), list(ids[:start]), list(ids[start:])) for ids, start in sequences]
        found = self._lm._loglikelihood_tokens(requests, disable_tqdm=True)
        return [float(nats) for nats, _ in found]

    def cuts_differently(self, before: str, answer: str, *, ours: Rendered) -> Fault | None:
        """The fault, where lm-eval's own cut of the texts scores other tokens than those of the answer."""
        _, scored = self._lm._encode_pair(before, answer)
        if tuple(scored) == ours.ids[ours.start :]:
            return None
        if before != before.rstrip():
            kind = "whitespace moved from the context into the answer"
        elif ours.spans_join:
            kind = "a token that spans the join is not scored"
        else:
            kind = "the context alone has other tokens than inside the whole"
        return Fault(kind=kind, context_tail=before[-12:], answer_head=answer[:12])
