"""The answer's own tokens in the whole rendered sequence are scored: every known way to get it wrong."""

from __future__ import annotations

import pytest
from hypothesis import assume, given
from hypothesis import strategies as st
from tiny_models import (
    CHATML,
    DATED,
    DEFAULT_SYSTEM,
    NO_GENERATION_PROMPT,
    NO_SYSTEM,
    THINKS,
    TRIMS,
    WRITES_BOS,
    Kind,
    tiny_tokenizer,
)

from safetyrepro.errors import InputError
from safetyrepro.score.local.tokens import LocalTokenizer
from safetyrepro.score.rendering import Rendered, Renderer
from safetyrepro.spec.envelope import Frame
from safetyrepro.spec.experiment import BosContext, TextContext
from safetyrepro.spec.factors import ChatTemplate, Exemplar, PlainTemplate

JOINED = PlainTemplate(kind="plain", id="joined", answer_join="")
PLAIN = PlainTemplate(kind="plain", id="plain", prompt="Q: {prompt}")
CHAT = ChatTemplate(kind="chat", id="chat")
CHAT_BARE = ChatTemplate(kind="chat", id="bare", end_of_turn=False)
WHERE = "item 1: chosen"
PLAIN_TOKENIZER = tiny_tokenizer()


def renderer(
    template: PlainTemplate | ChatTemplate,
    *,
    tokenizer: LocalTokenizer = PLAIN_TOKENIZER,
    system: str | None = None,
    exemplars: tuple[Exemplar, ...] = (),
) -> Renderer:
    return Renderer(tokenizer, Frame(template=template, system=system, exemplars=exemplars))


def text_of(tokenizer: LocalTokenizer, ids: tuple[int, ...]) -> str:
    return str(tokenizer._tokenizer.decode(list(ids), skip_special_tokens=False))


def scored_text(rendered: Rendered, tokenizer: LocalTokenizer = PLAIN_TOKENIZER) -> str:
    return text_of(tokenizer, rendered.ids[rendered.start :])


def context_text(rendered: Rendered, tokenizer: LocalTokenizer = PLAIN_TOKENIZER) -> str:
    return text_of(tokenizer, rendered.ids[: rendered.start])


def test_a_token_over_the_join_is_scored_with_the_answer_and_recorded() -> None:
    rendered = renderer(JOINED).render("The Ans", "wer", where=WHERE)
    assert rendered.spans_join
    assert scored_text(rendered) == "Answer"
    assert rendered.bytes_ == 3


def test_a_prompt_ending_in_a_space_merges_with_the_answer_and_says_so() -> None:
    """Byte-level tokenizers trim whitespace off offsets by default, which would hide this join."""
    rendered = renderer(JOINED).render("A ", "B", where=WHERE)
    assert scored_text(rendered) == " B"
    assert rendered.spans_join


def test_an_answer_that_starts_with_its_space_owns_it() -> None:
    rendered = renderer(JOINED).render("A", " B", where=WHERE)
    assert scored_text(rendered) == " B"
    assert not rendered.spans_join


def test_newlines_at_the_join_stay_where_they_are() -> None:
    rendered = renderer(JOINED).render("A\n", "\nQ", where=WHERE)
    assert scored_text(rendered) == "\n\nQ"
    assert rendered.spans_join
    assert not renderer(PLAIN).render("A ", "B", where=WHERE).spans_join  # a newline stands between


def test_an_answer_that_quotes_its_prompt_is_found_in_its_own_place() -> None:
    prompt = "Say the word."
    for template, end in ((PLAIN, ""), (CHAT, "<|end|>")):
        rendered = renderer(template).render(prompt, f"{prompt} {prompt}", where=WHERE)
        assert scored_text(rendered) == f"{prompt} {prompt}{end}"


def test_the_rendered_plain_text_is_system_exemplars_prompt_and_answer() -> None:
    shots = (Exemplar(prompt="p1", chosen="c1"), Exemplar(prompt="p2", chosen="c2"))
    rendered = renderer(PLAIN, system="S.", exemplars=shots).render("p3", "c3", where=WHERE)
    assert text_of(PLAIN_TOKENIZER, rendered.ids) == "S.\n\nQ: p1\nc1\n\nQ: p2\nc2\n\nQ: p3\nc3"
    assert scored_text(rendered) == "c3"


def test_a_header_that_is_no_token_prefix_moves_no_span() -> None:
    """'\n\n' + 'Q' is one token: tokenising the few-shot header alone would shift everything after it."""
    header = "S.\n\n"
    alone = PLAIN_TOKENIZER.encode(header, add_special=True).ids
    rendered = renderer(PLAIN, system="S.").render("p", "c", where=WHERE)
    assert rendered.ids[: len(alone)] != alone
    assert context_text(rendered) == "S.\n\nQ: p\n"


def test_an_empty_system_prompt_is_a_turn_under_chat_and_nothing_under_plain() -> None:
    tokenizer = tiny_tokenizer(DEFAULT_SYSTEM)
    none = renderer(CHAT, tokenizer=tokenizer).render("p", "c", where=WHERE)
    empty = renderer(CHAT, tokenizer=tokenizer, system="").render("p", "c", where=WHERE)
    assert context_text(none).startswith("<|start|>system\nYou are Tiny.<|end|>")
    assert context_text(empty).startswith("<|start|>system\n<|end|>")
    plain = [renderer(PLAIN, system=system).render("p", "c", where=WHERE) for system in (None, "")]
    assert plain[0] == plain[1]


def test_a_system_prompt_that_the_template_inserts_is_recorded_with_its_text() -> None:
    inserts = renderer(CHAT, tokenizer=tiny_tokenizer(DEFAULT_SYSTEM))
    assert inserts.facts.default_system == "You are Tiny."
    assert [found.code for found in inserts.findings("pass p")] == ["SR105"]
    assert (
        renderer(CHAT, tokenizer=tiny_tokenizer(DEFAULT_SYSTEM), system="Own.").facts.default_system is None
    )
    assert renderer(CHAT).facts.default_system is None


@pytest.mark.parametrize("kind", ["bos", "bos_and_eos"])
def test_the_beginning_token_is_there_once_and_an_end_token_never(kind: Kind) -> None:
    tokenizer = tiny_tokenizer(WRITES_BOS, kind=kind)
    begin, end = 0, 2
    plain = renderer(PLAIN, tokenizer=tokenizer).render("p", "c", where=WHERE)
    chat = renderer(CHAT, tokenizer=tokenizer).render("p", "c", where=WHERE)
    assert plain.ids.count(begin) == chat.ids.count(begin) == 1
    assert plain.ids[0] == chat.ids[0] == begin
    assert end not in plain.ids
    assert scored_text(plain, tokenizer) == "c"


def test_no_beginning_token_is_put_on_top_of_a_template_without_one() -> None:
    chat = renderer(CHAT, tokenizer=tiny_tokenizer(CHATML, kind="bos")).render("p", "c", where=WHERE)
    assert 0 not in chat.ids


def test_the_end_of_turn_is_scored_under_chat_and_the_newline_after_it_never() -> None:
    scored = renderer(CHAT).render("p", "c", where=WHERE)
    bare = renderer(CHAT_BARE).render("p", "c", where=WHERE)
    assert scored_text(scored) == "c<|end|>"
    assert scored_text(bare) == "c"
    assert (scored.tokens, scored.bytes_, bare.tokens, bare.bytes_) == (2, 1, 1, 1)
    assert renderer(CHAT).facts.end_of_turn == "<|end|>"
    assert renderer(CHAT_BARE).facts.end_of_turn is None


def test_the_ids_are_the_template_libraries_own() -> None:
    tokenizer = tiny_tokenizer(DEFAULT_SYSTEM)
    rendered = renderer(CHAT, tokenizer=tokenizer).render("the Ans", " wer B", where=WHERE)
    messages = [{"role": "user", "content": "the Ans"}, {"role": "assistant", "content": " wer B"}]
    own = tokenizer._tokenizer.apply_chat_template(messages, tokenize=True)["input_ids"]
    assert list(rendered.ids) == own[: len(rendered.ids)]
    assert text_of(tokenizer, tuple(own[len(rendered.ids) :])) == "\n"


def test_a_template_without_a_generation_prompt_gives_the_same_span() -> None:
    tokenizer = tiny_tokenizer(NO_GENERATION_PROMPT)
    rendered = renderer(CHAT, tokenizer=tokenizer).render("p", "c", where=WHERE)
    assert scored_text(rendered, tokenizer) == "c<|end|>"
    assert renderer(CHAT, tokenizer=tokenizer).facts.inserted == "<|start|>assistant\n"


def test_text_that_the_template_puts_before_an_answer_is_context_and_is_recorded() -> None:
    tokenizer = tiny_tokenizer(THINKS)
    thinking = renderer(CHAT, tokenizer=tokenizer)
    assert thinking.facts.inserted == "<think></think>\n"
    assert [found.code for found in thinking.findings("pass p")] == ["SR107"]
    assert scored_text(thinking.render("p", "c", where=WHERE), tokenizer) == "c<|end|>"


def test_whitespace_that_the_template_trims_is_recorded() -> None:
    tokenizer = tiny_tokenizer(TRIMS)
    trimming = renderer(CHAT, tokenizer=tokenizer)
    rendered = trimming.render("p", " c ", where=WHERE)
    assert (scored_text(rendered, tokenizer), rendered.bytes_, rendered.altered) == ("c<|end|>", 1, True)
    assert trimming.render("p ", "c", where=WHERE).altered
    assert not trimming.render("p", "c", where=WHERE).altered
    with pytest.raises(
        InputError, match="item 1: chosen: answer must be one that the chat template writes as it is"
    ):
        trimming.render("p", "  ", where=WHERE)


def test_a_template_error_stops_the_run_with_the_templates_words() -> None:
    with pytest.raises(
        InputError, match="turns system, user, assistant; it says: system role not supported"
    ):
        renderer(CHAT, tokenizer=tiny_tokenizer(NO_SYSTEM), system="Be kind.")
    assert renderer(CHAT, tokenizer=tiny_tokenizer(NO_SYSTEM)).facts.default_system is None


def test_chat_without_a_template_is_refused() -> None:
    with pytest.raises(InputError, match="template must be plain for a tokenizer without a chat template"):
        renderer(CHAT, tokenizer=tiny_tokenizer(None))


def test_a_template_with_a_clock_is_told_a_fixed_day() -> None:
    tokenizer = tiny_tokenizer(DATED)
    assert "Today is 26 Jul 2024." in context_text(
        renderer(CHAT, tokenizer=tokenizer).render("p", "c", where=WHERE)
    )


def test_exemplars_are_earlier_turns_under_chat() -> None:
    shots = (Exemplar(prompt="p1", chosen="c1"),)
    rendered = renderer(CHAT, exemplars=shots).render("p2", "c2", where=WHERE)
    assert context_text(rendered) == (
        "<|start|>user\np1<|end|>\n<|start|>assistant\nc1<|end|>\n<|start|>user\np2<|end|>\n<|start|>assistant\n"
    )


def test_an_empty_answer_is_refused() -> None:
    with pytest.raises(InputError, match="item 1: chosen: answer must not be empty"):
        renderer(PLAIN).render("p", "", where=WHERE)


def test_an_answer_with_no_token_before_it_is_refused() -> None:
    with pytest.raises(InputError, match="prompt must leave at least one token before the answer"):
        renderer(JOINED).render("Ans", "wer", where=WHERE)
    with_bos = renderer(JOINED, tokenizer=tiny_tokenizer(kind="bos")).render("Ans", "wer", where=WHERE)
    assert (with_bos.start, with_bos.spans_join) == (1, True)


@pytest.mark.parametrize("answer", ["é", "☕", "Zoë ☕"])
def test_bytes_are_of_the_answers_text_in_utf8(answer: str) -> None:
    assert renderer(PLAIN).render("Ünicode ☕", answer, where=WHERE).bytes_ == len(answer.encode())


def test_a_cut_answer_counts_the_bytes_that_are_left() -> None:
    rendered = renderer(JOINED).render("p:", "xyz☕", where=WHERE)  # x y z and three bytes of one character
    cut = rendered.truncated(4)
    assert cut is not None
    assert (cut.tokens, cut.bytes_, cut.dropped_tokens) == (3, 3, 3)
    assert rendered.truncated(100) == rendered
    assert rendered.truncated(1) is None


def test_the_unconditional_answer_has_the_very_same_tokens() -> None:
    tokenizer = tiny_tokenizer(kind="bos")
    frames = renderer(PLAIN, tokenizer=tokenizer)
    rendered = frames.render("the Ans", "wer B", where=WHERE)
    bos = frames.unconditional(rendered, "wer B", context=BosContext(kind="bos"), where=WHERE)
    text = frames.unconditional(
        rendered, "wer B", context=TextContext(kind="text", text="Say:"), where=WHERE
    )
    answer = rendered.ids[rendered.start :]
    assert (bos.ids, bos.start) == ((0, *answer), 1)
    assert text.ids[text.start :] == answer
    assert context_text(text, tokenizer) == "<|begin|>Q: Say:\n"


def test_a_bos_context_is_refused_where_there_is_no_such_token() -> None:
    frames = renderer(PLAIN)
    rendered = frames.render("p", "c", where=WHERE)
    with pytest.raises(InputError, match=r"scorer\.context: must be a text for a tokenizer without"):
        frames.unconditional(rendered, "c", context=BosContext(kind="bos"), where=WHERE)


TEXTS = st.text(alphabet="AnswerB the\nQé☕e\u0301", min_size=1, max_size=12)


@pytest.mark.parametrize("kind", ["plain", "bos", "nfc", "metaspace"])
@given(prompt=TEXTS, answer=TEXTS)
def test_every_character_of_an_answer_is_scored_and_none_before_it_unless_a_token_spans(
    kind: Kind, prompt: str, answer: str
) -> None:
    tokenizer = TOKENIZERS[kind]
    try:
        rendered = renderer(JOINED, tokenizer=tokenizer).render(prompt, answer, where=WHERE)
    except InputError as error:
        assume("at least one token" not in str(error))
        raise
    whole = tokenizer.encode(prompt + answer, add_special=True)
    assert rendered.ids == tuple(
        number for number, start in zip(whole.ids, whole.starts, strict=True) if start >= 0 or number == 0
    )
    covered = {at for start, end in list(zip(whole.starts, whole.ends, strict=True))[rendered.start :]
               for at in range(start, end)}  # fmt: skip
    wanted = set(range(len(prompt), len(prompt) + len(answer)))
    assert wanted <= covered
    assert rendered.spans_join == bool(covered - wanted)
    assert rendered.bytes_ == len(answer.encode())


TOKENIZERS: dict[Kind, LocalTokenizer] = {
    kind: tiny_tokenizer(kind=kind) for kind in ("plain", "bos", "nfc", "metaspace")
}


@given(prompt=TEXTS, answer=TEXTS)
def test_the_scored_ids_under_chat_decode_to_the_answer_and_its_end_of_turn(
    prompt: str, answer: str
) -> None:
    rendered = renderer(CHAT).render(prompt, answer, where=WHERE)
    if not rendered.spans_join:
        assert scored_text(rendered) == answer + "<|end|>"
    else:
        assert scored_text(rendered).endswith(answer + "<|end|>")
