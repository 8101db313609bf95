"""A frame, a prompt and an answer to the tokens that are scored.

Everything is read off the *whole* rendered sequence: the text is rendered once with its answer, tokenised
once, and the tokens that hold the answer's characters are found by their offsets. No piece is tokenised on
its own (a few-shot header alone is not a token prefix) and no text is searched for or replaced (an answer
may quote its prompt).

Plain text is `system + turn_join`, then for each exemplar `frame(prompt) + answer_join + chosen +
turn_join`, then `frame(prompt) + answer_join + answer`. An empty system prompt adds nothing there; under a
chat template it is an empty system turn, which is not the same as none.
"""

from __future__ import annotations

from dataclasses import dataclass, replace

from safetyrepro.errors import InputError, must_be
from safetyrepro.findings import Finding, finding
from safetyrepro.score.backend import Encoded, Tokenizer, Turn
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import Context
from safetyrepro.spec.factors import ChatTemplate, PlainTemplate

_SLOT = "{prompt}"


@dataclass(frozen=True, slots=True)
class Rendered:
    """A rendered sequence: `ids[start:]` is scored, and nothing follows its last scored token.

    `byte_ends[t]` is how many bytes of the answer's text are covered once scored token t is read; an
    end-of-turn token adds none. `spans_join` says that the first scored token also holds characters that
    stand before the answer. `altered` says that the template changed whitespace of the answer or prompt,
    `holds_control` that one of the two spells a control token of the tokenizer.
    """

    ids: tuple[int, ...]
    start: int
    byte_ends: tuple[int, ...]
    spans_join: bool
    altered: bool
    dropped_tokens: int = 0
    holds_control: bool = False

    @property
    def tokens(self) -> int:
        """How many tokens are scored."""
        return len(self.ids) - self.start

    @property
    def bytes_(self) -> int:
        """UTF-8 bytes of the answer's text that the scored tokens hold."""
        return self.byte_ends[-1]

    def truncated(self, context_tokens: int) -> Rendered | None:
        """The sequence cut so that every token but the last fits the context; None where nothing is left.

        A token is predicted from those before it, so `context_tokens + 1` ids still fit.
        """
        keep = min(len(self.ids), context_tokens + 1)
        if keep <= self.start:
            return None
        dropped = len(self.ids) - keep
        return replace(
            self,
            ids=self.ids[:keep],
            byte_ends=self.byte_ends[: keep - self.start],
            dropped_tokens=self.dropped_tokens + dropped,
        )


@dataclass(frozen=True, slots=True)
class FrameFacts:
    """What a chat template does on its own accord in this frame; all None or empty under plain text.

    `default_system` is the system text that the template inserts although the frame gives none;
    `end_of_turn` the text of the scored end-of-turn tokens; `inserted` what the template puts between its
    generation prompt and an answer (a closed reasoning block, for instance).
    """

    default_system: str | None
    end_of_turn: str | None
    inserted: str | None


@dataclass(frozen=True, slots=True)
class _Slot:
    """The rendered text around an answer."""

    before: str
    after: str


class Renderer:
    """Renders prompts and answers through one frame; a pure function of (tokenizer, frame, texts)."""

    def __init__(self, tokenizer: Tokenizer, frame: Frame) -> None:
        """Reads what the template does in this frame.

        Raises:
            InputError: a chat frame without a chat template, or one that refuses the frame's turns.
        """
        self._tokenizer = tokenizer
        self._frame = frame
        self._last: tuple[str, _Slot] | None = None
        self._last_control: tuple[str, bool] | None = None
        self.facts = self._find_facts()

    def findings(self, where: str) -> tuple[Finding, ...]:
        """What a reader must know about the template in this frame."""
        found: list[Finding] = []
        if self.facts.default_system is not None:
            found.append(finding("SR105", where, f"the template inserts {self.facts.default_system!r}"))
        if self.facts.inserted is not None:
            found.append(finding("SR107", where, f"the template inserts {self.facts.inserted!r}"))
        return tuple(found)

    def render(self, prompt: str, answer: str, *, where: str) -> Rendered:
        """The whole sequence of one prompt and answer, with the span of what is scored.

        Under chat the tokens up to the template's end of turn are scored where the level says so; what the
        template writes after it (a newline, often) never is.

        Raises:
            InputError: the template refuses the conversation or rewrites the answer, the answer is empty,
                or there is no token before it.
        """
        if answer == "":
            raise InputError(must_be(where, "answer must not be empty", answer))
        rendered = self._rendered(prompt, answer, where=where)
        return replace(rendered, holds_control=self._holds_control(prompt) or self._spells(answer))

    def _rendered(self, prompt: str, answer: str, *, where: str) -> Rendered:
        match self._frame.template:
            case PlainTemplate() as template:
                before = self._plain_before(template, prompt)
                encoded = self._tokenizer.encode(before + answer, add_special=True)
                return _span(
                    encoded, begin=len(before), answer=answer, end_of_turn=None, altered=False, where=where
                )
            case ChatTemplate() as template:
                slot = self._chat_slot(prompt, where)
                text = self._tokenizer.chat(self._turns(prompt, answer), generation_prompt=False)
                shown = _shown_answer(text, slot=slot, answer=answer, where=where)
                encoded = self._tokenizer.encode(text, add_special=False)
                return _span(
                    encoded,
                    begin=len(slot.before),
                    answer=shown,
                    end_of_turn=slot.after if template.end_of_turn else None,
                    altered=shown != answer or prompt not in slot.before,
                    where=where,
                )

    def conversation(self, prompt: str, answer: str, *, where: str) -> tuple[int, ...]:
        """The tokens of the whole conversation with its answer, as the template ends it.

        Raises:
            InputError: the template refuses the conversation, or the answer is empty.
        """
        if answer == "":
            raise InputError(must_be(where, "answer must not be empty", answer))
        match self._frame.template:
            case PlainTemplate() as template:
                text = self._plain_before(template, prompt) + answer
                return self._tokenizer.encode(text, add_special=True).ids
            case ChatTemplate():
                text = self._tokenizer.chat(self._turns(prompt, answer), generation_prompt=False)
                return self._tokenizer.encode(text, add_special=False).ids

    def unconditional(
        self, conditional: Rendered, answer: str, *, context: Context, where: str
    ) -> Rendered:
        """The answer after the declared context in place of its prompt: what the pmi rule subtracts.

        `bos` puts the beginning-of-sequence token before the very same answer tokens; `text` renders the
        declared text as a prompt through the same frame.

        Raises:
            InputError: `bos` with a tokenizer that has no such token; otherwise as `render`.
        """
        match context.kind:
            case "bos":
                if self._tokenizer.bos_id is None:
                    raise InputError(
                        "scorer.context: must be a text for a tokenizer without beginning-of-sequence; "
                        "got bos"
                    )
                ids = (self._tokenizer.bos_id, *conditional.ids[conditional.start :])
                return replace(conditional, ids=ids, start=1)
            case "text":
                return self.render(context.text, answer, where=where)

    def text_before(self, prompt: str, *, where: str) -> str:
        """The text that stands before any answer to `prompt` in this frame.

        Raises: as `render`.
        """
        match self._frame.template:
            case PlainTemplate() as template:
                return self._plain_before(template, prompt)
            case ChatTemplate():
                return self._chat_slot(prompt, where).before

    def _holds_control(self, prompt: str) -> bool:
        """Whether `prompt` spells a control token; kept for the item's other answers."""
        if self._last_control is None or self._last_control[0] != prompt:
            self._last_control = (prompt, self._spells(prompt))
        return self._last_control[1]

    def _spells(self, text: str) -> bool:
        return any(self._tokenizer.encode(text, add_special=False).special)

    def _plain_before(self, template: PlainTemplate, prompt: str) -> str:
        head, _, tail = template.prompt.partition(_SLOT)
        parts = [self._frame.system + template.turn_join] if self._frame.system else []
        for exemplar in self._frame.exemplars:
            parts += [
                head,
                exemplar.prompt,
                tail,
                template.answer_join,
                exemplar.chosen,
                template.turn_join,
            ]
        return "".join([*parts, head, prompt, tail, template.answer_join])

    def _turns(self, prompt: str, answer: str | None, *, system: str | None = None) -> tuple[Turn, ...]:
        text = self._frame.system if system is None else system
        turns = [] if text is None else [Turn("system", text)]
        for exemplar in self._frame.exemplars:
            turns += [Turn("user", exemplar.prompt), Turn("assistant", exemplar.chosen)]
        turns.append(Turn("user", prompt))
        if answer is not None:
            turns.append(Turn("assistant", answer))
        return tuple(turns)

    def _chat_slot(self, prompt: str, where: str) -> _Slot:
        """The text around any answer to `prompt`, from two probes; kept for the pair's other answer."""
        if self._last is None or self._last[0] != prompt:
            texts = [
                self._tokenizer.chat(self._turns(prompt, probe), generation_prompt=False)
                for probe in ("0", "1")
            ]
            slot = _common(texts[0], texts[1])
            if slot is None:
                raise InputError(
                    f"{where}: the chat template must write an answer once, as it is; its texts of "
                    "the answers '0' and '1' differ in more than the answer"
                )
            self._last = (prompt, slot)
        return self._last[1]

    def _find_facts(self) -> FrameFacts:
        if not isinstance(self._frame.template, ChatTemplate):
            return FrameFacts(default_system=None, end_of_turn=None, inserted=None)
        slot = self._chat_slot("0", "template")
        prompt_text = self._tokenizer.chat(self._turns("0", None), generation_prompt=True)
        inserted = (
            slot.before.removeprefix(prompt_text) if slot.before.startswith(prompt_text) else slot.before
        )
        end_of_turn = None
        if self._frame.template.end_of_turn:
            encoded = self._tokenizer.encode(slot.before + "0" + slot.after, add_special=False)
            end = _end_of_turn(encoded, begin=len(slot.before) + 1, after=slot.after)
            end_of_turn = slot.after[: end - len(slot.before) - 1] or None
        return FrameFacts(
            default_system=None if self._frame.system is not None else self._default_system(prompt_text),
            end_of_turn=end_of_turn,
            inserted=inserted or None,
        )

    def _default_system(self, without: str) -> str | None:
        """What stands in the system turn although none was given, or None where there is no such turn."""
        try:
            texts = [
                self._tokenizer.chat(self._turns("0", None, system=probe), generation_prompt=True)
                for probe in ("0", "1")
            ]
        except InputError:  # the template knows no system turn, so it cannot insert one
            return None
        slot = _common(texts[0], texts[1])
        if slot is None or len(without) < len(slot.before) + len(slot.after):
            return None
        if not (slot.before and without.startswith(slot.before) and without.endswith(slot.after)):
            return None
        inserted = without[len(slot.before) : len(without) - len(slot.after)]
        return inserted or (slot.before if self._is_visible(slot.before) else None)

    def _is_visible(self, text: str) -> bool:
        """Whether `text` holds more than control tokens and whitespace."""
        encoded = self._tokenizer.encode(text, add_special=False)
        spans = zip(encoded.special, encoded.starts, encoded.ends, strict=True)
        return any(not special and text[start:end].strip() != "" for special, start, end in spans)


def _common(zero: str, one: str) -> _Slot | None:
    """The text around the probes '0' and '1', or None where the renderings differ in anything else."""
    place = next((at for at, (a, b) in enumerate(zip(zero, one, strict=False)) if a != b), None)
    if place is None:
        return None
    slot = _Slot(before=zero[:place], after=zero[place + 1 :])
    same = zero == slot.before + "0" + slot.after and one == slot.before + "1" + slot.after
    return slot if same else None


def _shown_answer(text: str, *, slot: _Slot, answer: str, where: str) -> str:
    """The answer as the template wrote it: as given, or with outer whitespace trimmed."""
    for shown in (answer, answer.strip(), answer.lstrip(), answer.rstrip()):
        if shown and text == slot.before + shown + slot.after:
            return shown
    raise InputError(must_be(where, "answer must be one that the chat template writes as it is", answer))


def _end_of_turn(encoded: Encoded, *, begin: int, after: str) -> int:
    """Where the end of turn ends: behind its first control token, or else its last visible character."""
    for special, start, end in zip(encoded.special, encoded.starts, encoded.ends, strict=True):
        if special and start >= begin:
            return end
    return begin + len(after.rstrip())


def _span(
    encoded: Encoded, *, begin: int, answer: str, end_of_turn: str | None, altered: bool, where: str
) -> Rendered:
    end = begin + len(answer)
    scored_end = end if end_of_turn is None else _end_of_turn(encoded, begin=end, after=end_of_turn)
    inside = [at for at, (start, stop) in enumerate(zip(encoded.starts, encoded.ends, strict=True))
              if stop > begin and start < scored_end]  # fmt: skip
    if not inside:
        raise InputError(must_be(where, "answer must hold at least one token", answer))
    first, last = inside[0], inside[-1]
    if first == 0:
        raise InputError(
            must_be(where, "prompt must leave at least one token before the answer (it has none)", answer)
        )
    counts = [0]
    for character in answer:
        counts.append(counts[-1] + len(character.encode()))
    ends = [encoded.ends[at] for at in range(first, last + 1)]
    return Rendered(
        ids=encoded.ids[: last + 1],
        start=first,
        byte_ends=tuple(counts[min(max(stop - begin, 0), len(answer))] for stop in ends),
        spans_join=encoded.starts[first] < begin,
        altered=altered,
    )
