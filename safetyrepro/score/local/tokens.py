"""A transformers tokenizer as the scoring floor sees it: ids with exact character offsets, chat as text."""

from __future__ import annotations

import datetime as dt
import json
from collections.abc import Sequence
from pathlib import Path

import jinja2
from tokenizers import Encoding
from tokenizers import Tokenizer as FastTokenizer
from transformers import AutoTokenizer, PreTrainedTokenizerBase

from safetyrepro.canonical import JsonValue, digest_bytes, digest_json
from safetyrepro.errors import InputError
from safetyrepro.score.backend import Encoded, Turn
from safetyrepro.score.local.quiet import quiet_transformers

TEMPLATE_DAY = dt.date(2024, 7, 26)
"""The day that templates with a clock in them (Llama 3's) are told, so that the same items give the same
tokens on any day; it is what Llama 3.1's template says when it has no clock."""


def load_folder_tokenizer(folder: Path) -> LocalTokenizer:
    """The tokenizer of a model folder.

    Raises:
        InputError: no tokenizer there, or only a slow one, which cannot say where its tokens stand.
    """
    try:
        with quiet_transformers():
            tokenizer = AutoTokenizer.from_pretrained(
                folder, local_files_only=True, trust_remote_code=False
            )
    except (OSError, ValueError, ImportError) as error:
        raise InputError(f"{folder}: must hold a tokenizer that transformers can read; {error}") from error
    if not getattr(tokenizer, "is_fast", False):
        raise InputError(f"{folder}: tokenizer must be a fast one, with character offsets; got a slow one")
    return LocalTokenizer(tokenizer)


class LocalTokenizer:
    """A fast tokenizer with its chat template. Implements `score.backend.Tokenizer`."""

    def __init__(self, tokenizer: PreTrainedTokenizerBase) -> None:
        self._tokenizer = tokenizer
        text = tokenizer.backend_tokenizer.to_str()
        self._fast = FastTokenizer.from_str(_with_whole_offsets(text))
        self._fast.no_padding()
        self._fast.no_truncation()
        self._special = frozenset(tokenizer.all_special_ids) | frozenset(
            number for number, token in tokenizer.added_tokens_decoder.items() if token.special
        )
        self._template = None if tokenizer.chat_template is None else tokenizer.get_chat_template()
        self._digest = digest_json(
            {"tokenizer": digest_bytes(text.encode()), "bos": self.bos_id, "special": sorted(self._special)}
        )

    @property
    def library_tokenizer(self) -> PreTrainedTokenizerBase:
        """The transformers tokenizer behind this one, for peers that want it."""
        return self._tokenizer

    @property
    def digest(self) -> str:
        return self._digest

    @property
    def template_digest(self) -> str | None:
        return None if self._template is None else digest_bytes(self._template.encode())

    @property
    def bos_id(self) -> int | None:
        number = self._tokenizer.bos_token_id
        return None if number is None else int(number)

    def encode(self, text: str, *, add_special: bool) -> Encoded:
        encoding = self._fast.encode(text, add_special_tokens=add_special)
        starts, ends = _cover(encoding, len(text))
        return Encoded(
            ids=tuple(encoding.ids),
            starts=starts,
            ends=ends,
            special=tuple(number in self._special for number in encoding.ids),
        )

    def chat(self, turns: Sequence[Turn], *, generation_prompt: bool) -> str:
        return str(self._apply(turns, generation_prompt=generation_prompt, tokenize=False))

    def reference_ids(self, turns: Sequence[Turn], *, generation_prompt: bool) -> tuple[int, ...]:
        encoded = self._apply(turns, generation_prompt=generation_prompt, tokenize=True)
        return tuple(int(number) for number in encoded["input_ids"])

    def _apply(self, turns: Sequence[Turn], *, generation_prompt: bool, tokenize: bool):  # type: ignore[no-untyped-def]
        if self._template is None:
            raise InputError(
                "factors: template must be plain for a tokenizer without a chat template; got chat"
            )
        try:
            return self._tokenizer.apply_chat_template(
                [{"role": turn.role, "content": turn.content} for turn in turns],
                tokenize=tokenize,
                add_generation_prompt=generation_prompt,
                return_dict=tokenize,
                chat_template=_FIXED_DAY + self._template
                if "strftime_now" in self._template
                else self._template,
            )
        except (jinja2.TemplateError, TypeError, ValueError, KeyError) as error:
            roles = ", ".join(turn.role for turn in turns)
            raise InputError(f"chat template: must render the turns {roles}; it says: {error}") from error


def _fixed_day() -> str:
    """A macro that answers `strftime_now` in a template with `TEMPLATE_DAY` at midnight."""
    codes = ["%d", "%m", "%b", "%B", "%y", "%Y", "%a", "%A", "%j", "%H", "%M", "%S"]
    filters = "".join(f"|replace('{code}', '{TEMPLATE_DAY.strftime(code)}')" for code in codes)
    return "{%- macro strftime_now(format) -%}{{ format" + filters + " }}{%- endmacro -%}"


_FIXED_DAY = _fixed_day()


def _cover(encoding: Encoding, length: int) -> tuple[tuple[int, ...], tuple[int, ...]]:
    """Where each token starts and ends, -1 for added ones; together the tokens cover every character.

    Characters that normalisation merged into a token (an accent into its letter) have no token of their
    own: they go to the token before them, those at the very start to the first.
    """
    spans = encoding.offsets
    own = [at for at, added in enumerate(encoding.special_tokens_mask) if not added]
    starts, ends = [-1] * len(spans), [-1] * len(spans)
    for place, at in enumerate(own):
        starts[at] = spans[at][0] if place else 0
        following = spans[own[place + 1]][0] if place + 1 < len(own) else length
        ends[at] = max(spans[at][1], following)
    return tuple(starts), tuple(ends)


def _with_whole_offsets(text: str) -> str:
    """The tokenizer's JSON with offsets that keep a token's whitespace.

    Byte-level tokenizers trim it by default, which would hide that ` B` of `A B` begins inside a prompt
    that ends in a space. Ids are not touched.
    """
    document = json.loads(text)
    _untrim(document.get("pre_tokenizer"))
    _untrim(document.get("post_processor"))
    return json.dumps(document)


def _untrim(node: JsonValue) -> None:
    if isinstance(node, dict):
        if "trim_offsets" in node:
            node["trim_offsets"] = False
        for value in node.values():
            _untrim(value)
    elif isinstance(node, list):
        for value in node:
            _untrim(value)
