"""The forward passes: packed under a tree mask, and plain as the model itself does it."""

from __future__ import annotations

import inspect
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from itertools import pairwise

import numpy as np
import tokenizers
import torch
import transformers
from numpy.typing import NDArray
from torch import nn
from transformers import DynamicCache, PreTrainedModel
from transformers.cache_utils import DynamicLayer

from safetyrepro.score.backend import Identity, OutOfMemory, PackingUnsupported
from safetyrepro.score.local.device import default_token_budget, device_class
from safetyrepro.score.local.shape import context_tokens_of, output_head
from safetyrepro.score.local.tokens import LocalTokenizer
from safetyrepro.score.packing import Schedule, Step, Trie
from safetyrepro.spec.models import Dtype, WeightRounding

_LOGIT_BYTES = {"cpu": 32 << 20, "cuda": 512 << 20}


class LocalBackend:
    """A causal language model of transformers. Implements `score.backend.Backend`."""

    def __init__(
        self,
        model: PreTrainedModel,
        tokenizer: LocalTokenizer,
        *,
        weights_digest: str,
        dtype: Dtype,
        rounding: WeightRounding | None,
        compiled: bool = False,
    ) -> None:
        self.model = model
        nn.Module.eval(model)
        self._tokenizer = tokenizer
        self._config = model.config.get_text_config()
        self._device = next(model.parameters()).device
        self._takes_logits_to_keep = "logits_to_keep" in inspect.signature(model.forward).parameters
        trunk: nn.Module = model.base_model
        self._trunk = torch.compile(trunk, dynamic=True) if compiled else trunk
        parameters = inspect.signature(trunk.forward).parameters
        self._cache_argument = "cache" if "cache" in parameters else "past_key_values"
        self._takes_positions = "position_ids" in parameters
        self._head = self._find_head()
        self._identity = Identity(
            weights=weights_digest,
            tokenizer=tokenizer.digest,
            template=tokenizer.template_digest,
            architecture=type(model).__name__,
            dtype=dtype,
            rounding=rounding,
            device=device_class(self._device),
            attention=str(getattr(model.config, "_attn_implementation", "none")),
            compiled=compiled,
            context_tokens=self.context_tokens,
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
        return context_tokens_of(self._config)

    @property
    def window_tokens(self) -> int | None:
        window = getattr(self._config, "sliding_window", None)
        return window if isinstance(window, int) and window > 0 else None

    @property
    def default_token_budget(self) -> int:
        return default_token_budget(self._device)

    @torch.inference_mode()
    def packed(self, schedule: Schedule) -> NDArray[np.float64]:
        self._check_packing()
        trie = schedule.trie
        nats = np.full(len(trie.edge_tokens), np.nan)  # an edge that no step reaches poisons its answer
        cache: DynamicCache | None = None
        with _memory_errors():
            for step, after in pairwise((*schedule.steps, None)):
                assert step is not None
                wanted = None if after is None or len(after.past) == 0 else after.past
                states, cache = self._forward(trie, step, cache, keep=wanted is not None)
                if wanted is not None and cache is not None:
                    _keep_past(cache, _positions_in(wanted, step))
                nats[step.edge_start : step.edge_stop] = self._edge_nats(trie, step, states)
        return nats

    @torch.inference_mode()
    def plain(self, sequences: Sequence[tuple[tuple[int, ...], int]]) -> tuple[NDArray[np.float64], ...]:
        longest = max(len(ids) for ids, _ in sequences)
        ids = torch.zeros((len(sequences), longest), dtype=torch.long)
        mask = torch.zeros_like(ids)
        for row, (sequence, _) in enumerate(sequences):
            ids[row, : len(sequence)] = torch.tensor(sequence)
            mask[row, : len(sequence)] = 1
        first = min(start for _, start in sequences) - 1
        extra = {"logits_to_keep": longest - first} if self._takes_logits_to_keep else {}
        with _memory_errors():
            output = self.model(
                input_ids=ids.to(self._device),
                attention_mask=mask.to(self._device) if len(sequences) > 1 else None,
                use_cache=False,
                **extra,
            )
            logits = output.logits
            skipped = longest - logits.shape[1]
            return tuple(
                _target_nats(
                    logits[row, start - 1 - skipped : len(sequence) - 1 - skipped],
                    rows=torch.arange(len(sequence) - start, device=self._device),
                    targets=torch.tensor(sequence[start:], device=self._device),
                )
                for row, (sequence, start) in enumerate(sequences)
            )

    def _check_packing(self) -> None:
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if not self._takes_positions or getattr(self._config, "alibi", False):
            raise PackingUnsupported(f"{self._identity.architecture} takes no explicit positions")
        if exotic := sorted(kinds - {"full_attention", "sliding_attention"}):
            raise PackingUnsupported(
                f"{self._identity.architecture} has layers of kind {', '.join(exotic)}"
            )

    def _forward(
        self, trie: Trie, step: Step, cache: DynamicCache | None, *, keep: bool
    ) -> tuple[torch.Tensor, DynamicCache | None]:
        """What the head makes logits of, one row a scored node, and the cache with past and step."""
        if len(step.past) == 0:
            cache = DynamicCache() if keep else None
        here = np.arange(step.start, step.stop)
        rows = self._tensor(np.unique(trie.edge_sources[step.edge_start : step.edge_stop]) - step.start)
        inputs = {
            "input_ids": self._tensor(trie.tokens[here])[None],
            "position_ids": self._tensor(trie.depths[here])[None],
            "attention_mask": self._mask(trie, here, np.concatenate([step.past, here])),
            self._cache_argument: cache,
            "use_cache": cache is not None,
        }
        if self._head is None:
            return self.model(**inputs, logits_to_keep=rows).logits[0], cache
        return self._trunk(**inputs).last_hidden_state[0][rows], cache

    def _mask(
        self, trie: Trie, queries: NDArray[np.int64], keys: NDArray[np.int64]
    ) -> torch.Tensor | dict[str, torch.Tensor]:
        """What each query may see, additive, (1, 1, Q, K): its ancestors and itself, within the window."""
        query, key = self._tensor(queries)[:, None], self._tensor(keys)[None, :]
        seen = (key <= query) & (query <= self._tensor(trie.lasts[keys])[None, :])
        window = self.window_tokens
        kinds = set(getattr(self._config, "layer_types", None) or ())
        if window is None or kinds == {"full_attention"}:
            return self._additive(seen)
        distance = self._tensor(trie.depths[queries])[:, None] - self._tensor(trie.depths[keys])[None, :]
        near = seen & (distance < window)
        if kinds <= {"sliding_attention"}:
            return self._additive(near)
        return {"full_attention": self._additive(seen), "sliding_attention": self._additive(near)}

    def _additive(self, seen: torch.Tensor) -> torch.Tensor:
        dtype = self.model.dtype
        zeros = torch.zeros(seen.shape, dtype=dtype, device=seen.device)
        return zeros.masked_fill_(~seen, torch.finfo(dtype).min)[None, None]

    def _edge_nats(self, trie: Trie, step: Step, states: torch.Tensor) -> NDArray[np.float64]:
        """Log-probabilities of the step's edges; logits exist only where an answer token is scored."""
        rows, row_of_edge = np.unique(
            trie.edge_sources[step.edge_start : step.edge_stop], return_inverse=True
        )
        tokens = trie.edge_tokens[step.edge_start : step.edge_stop]
        chunk = max(1, _LOGIT_BYTES[self._device.type] // (4 * int(self._config.vocab_size)))
        parts: list[NDArray[np.float64]] = []
        for low in range(0, len(rows), chunk):
            edges = np.flatnonzero(
                (row_of_edge >= low) & (row_of_edge < low + chunk)
            )  # ascending, contiguous
            logits = states[low : low + chunk]
            if self._head is not None:
                logits = self._head(logits)
            parts.append(
                _target_nats(
                    logits, rows=self._tensor(row_of_edge[edges] - low), targets=self._tensor(tokens[edges])
                )
            )
        return np.concatenate(parts) if parts else np.empty(0)

    def _find_head(self) -> nn.Module | None:
        """The output head where logits are its product with the last states, checked on a probe.

        None where the family scales or caps its logits afterwards: there the model's own tail is used.
        """
        head = output_head(self.model)
        return head if head is not None and self._head_agrees(head) else None

    @torch.inference_mode()
    def _head_agrees(self, head: nn.Module) -> bool:
        probe = torch.arange(1, 9, device=self._device)[None] % int(self._config.vocab_size)
        own = self.model(input_ids=probe, use_cache=False).logits
        ours = head(self.model.base_model(input_ids=probe, use_cache=False).last_hidden_state)
        return bool(torch.allclose(own.float(), ours.float(), rtol=1e-5, atol=1e-5))

    def _tensor(self, values: NDArray[np.int64]) -> torch.Tensor:
        return torch.from_numpy(np.ascontiguousarray(values)).to(self._device)


def _target_nats(logits: torch.Tensor, *, rows: torch.Tensor, targets: torch.Tensor) -> NDArray[np.float64]:
    """Log-probability of target e under the logits of row `rows[e]`, (E,), from (R, V) logits.

    The logits are widened to float32 before the softmax, and what leaves is float64 for the sums.
    """
    wide = logits.float()
    picked = wide[rows, targets].double()
    return np.asarray(
        (picked - torch.logsumexp(wide, dim=-1).double()[rows]).cpu().numpy(), dtype=np.float64
    )


def _positions_in(wanted: NDArray[np.int64], step: Step) -> NDArray[np.int64]:
    """Where the nodes `wanted` stand in the keys of `step` (its past, then its own nodes)."""
    keys = np.concatenate([step.past, np.arange(step.start, step.stop)])
    return np.searchsorted(keys, wanted)


def _keep_past(cache: DynamicCache, positions: NDArray[np.int64]) -> None:
    """Cuts the cache down to the trunk that the next step hangs on."""
    for layer in cache.layers:
        if not isinstance(layer, DynamicLayer) or layer.keys is None or layer.values is None:
            raise TypeError(f"{type(layer).__name__} is no trunk that can be cut")
        index = torch.from_numpy(positions).to(layer.keys.device)
        layer.keys = layer.keys.index_select(-2, index)
        layer.values = layer.values.index_select(-2, index)


@contextmanager
def _memory_errors() -> Iterator[None]:
    """Turns the device's out-of-memory errors into ours."""
    try:
        yield
    except torch.OutOfMemoryError as error:
        torch.cuda.empty_cache()
        raise OutOfMemory(f"device memory: must hold one pack; {str(error).splitlines()[0]}") from error
    except RuntimeError as error:
        if "can't allocate memory" not in str(error):
            raise
        raise OutOfMemory(f"memory: must hold one pack; {str(error).splitlines()[0]}") from error
