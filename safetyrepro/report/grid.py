"""The grid card: every factor with its levels, what was held fixed, what was not varied."""

from __future__ import annotations

from collections.abc import Iterator
from typing import assert_never

from safetyrepro.data.manifest import Manifest
from safetyrepro.data.results import Results
from safetyrepro.report.looks import configuration_words
from safetyrepro.report.notation import count, listed, plural, short_digest
from safetyrepro.report.tree import FactorView, GridCard, Level, Term
from safetyrepro.spec.experiment import BosContext, Experiment, TextContext
from safetyrepro.spec.factors import (
    DtypeFactor,
    Factor,
    PlainTemplate,
    RuleFactor,
    ShotsFactor,
    SystemFactor,
    TemplateFactor,
    TemplateLevel,
    WeightsFactor,
)

_FACTORS = {
    "template": ("prompt template", "how prompt and answer are put into text"),
    "system": ("system prompt", "which system prompt stands before the conversation"),
    "shots": ("few-shot level", "how many worked examples stand before the prompt"),
    "rule": ("scoring rule", "how an answer's log-probabilities become one score"),
    "dtype": ("computing precision", "the precision of the forward pass"),
    "weights": ("weight quantisation", "rounding of the weights, applied to every system alike"),
}
_RULES = {
    "sum": "sum over the answer's tokens, in nats",
    "mean": "mean over the answer's tokens, in nats a token",
    "byte": "sum divided by the answer's UTF-8 bytes, in nats a byte",
    "pmi": "sum minus the sum after a declared context without the prompt, in nats",
}
_ALWAYS_FIXED = (
    "decoding (given text is scored, nothing is generated)",
    "turns and tools (the scaffold is the prompt frame)",
    "paraphrases of the items",
)


def grid_card(experiment: Experiment, *, results: Results, manifest: Manifest) -> GridCard:
    """The envelope in full."""
    sizes = " × ".join(str(len(factor.level_ids)) for factor in experiment.factors)
    total = len(results.configurations)
    return GridCard(
        size=f"{plural(total, 'configuration')} ({sizes})" if len(experiment.factors) > 1 else str(total),
        digest=results.envelope_digest,
        primary=configuration_words(results.primary, [factor.kind for factor in experiment.factors]),
        factors=tuple(_factor(factor, experiment) for factor in experiment.factors),
        fixed=tuple(_fixed(experiment, manifest)),
        not_varied=tuple(_not_varied(experiment)),
        templates=tuple(_template_facts(manifest)),
    )


def _factor(factor: Factor, experiment: Experiment) -> FactorView:
    name, meaning = _FACTORS[factor.kind]
    primary = experiment.primary[factor.kind]
    return FactorView(
        name=name,
        meaning=meaning,
        levels=tuple(
            Level(id=level, is_primary=level == primary, details=tuple(_details(factor, level)))
            for level in factor.level_ids
        ),
    )


def _details(factor: Factor, level: str) -> Iterator[Term]:
    match factor:
        case TemplateFactor():
            yield from _template_details(next(one for one in factor.levels if one.id == level))
        case SystemFactor():
            text = next(one.text for one in factor.levels if one.id == level)
            yield Term("text", "none is given" if text is None else text)
        case ShotsFactor():
            number = next(one.count for one in factor.levels if one.id == level)
            yield Term("examples", f"the first {number} of {len(factor.exemplars)}" if number else "none")
        case RuleFactor():
            yield Term("score", _RULES[level])
        case DtypeFactor():
            yield Term("precision", level)
        case WeightsFactor():
            rounding = next(one.rounding for one in factor.levels if one.id == level)
            words = (
                "as stored"
                if rounding is None
                else f"{rounding.bits} bits in groups of {rounding.group}, round to nearest"
            )
            yield Term("weights", words)
        case _:
            assert_never(factor)


def _template_details(level: TemplateLevel) -> Iterator[Term]:
    if isinstance(level, PlainTemplate):
        yield Term("frame", _visible(level.prompt), is_code=True)
        yield Term("before the answer", _visible(level.answer_join), is_code=True)
        yield Term("between turns", _visible(level.turn_join), is_code=True)
        yield Term("end of turn", "not scored")
    else:
        yield Term("frame", "the tokenizer's own chat template; the answer is the assistant's turn")
        yield Term("end of turn", "scored with the answer" if level.end_of_turn else "not scored")


def _visible(text: str) -> str:
    """A string with its line breaks and tabs made visible; an empty one is said to be empty."""
    shown = text.replace("\\", "\\\\").replace("\n", "\\n").replace("\t", "\\t")
    return f'"{shown}"'


def _fixed(experiment: Experiment, manifest: Manifest) -> Iterator[Term]:
    declared = {factor.kind for factor in experiment.factors}
    for factor in experiment.factors:
        if len(factor.level_ids) == 1:
            yield Term(_FACTORS[factor.kind][0], f"{factor.level_ids[0]} (one level)")
    if "dtype" not in declared:
        used = sorted({one.dtype for one in manifest.passes})
        yield Term("computing precision", listed(used))
    if "weights" not in declared:
        yield Term("weight treatment", "what makes each system what it is (see the systems)")
    yield Term("scaffold", f"{experiment.scaffold.id}, {short_digest(manifest.scaffold_digest)}")
    yield Term("token over the join", _BOUNDARY[experiment.scorer.boundary])
    yield Term("too long for the context", _TRUNCATION[experiment.scorer.truncation])
    context = experiment.scorer.context
    if isinstance(context, BosContext):
        yield Term("context that pmi subtracts", "the tokenizer's beginning-of-sequence token")
    elif isinstance(context, TextContext):
        yield Term("context that pmi subtracts", _visible(context.text))
    yield Term("device", f"{manifest.device}, attention {manifest.attention}")
    compiled = "compiled" if manifest.compiled else "not compiled"
    yield Term("forward passes", f"{count(manifest.token_budget)} tokens at most, {compiled}")
    yield Term("seed", str(manifest.seed))


_BOUNDARY = {"record": "scored with the answer, and counted", "refuse": "refused"}
_TRUNCATION = {"refuse": "refused", "per_answer": "cut for that answer alone, and counted"}


def _not_varied(experiment: Experiment) -> Iterator[str]:
    varied = {factor.kind for factor in experiment.factors if len(factor.level_ids) > 1}
    yield from (name for kind, (name, _) in _FACTORS.items() if kind not in varied)
    yield from _ALWAYS_FIXED


def _template_facts(manifest: Manifest) -> Iterator[Term]:
    """What each template level did on its own, once a distinct fact."""
    seen: set[tuple[str, str]] = set()
    for one in manifest.passes:
        if one.template_default_system is None:
            default = "inserted no system prompt of its own"
        else:
            default = f"inserted its own system prompt: “{one.template_default_system}”"
        end = (
            "no end-of-turn scored"
            if one.end_of_turn is None
            else f"end-of-turn {_visible(one.end_of_turn)} scored with the answer"
        )
        between = (
            ""
            if not one.template_inserted
            else f"; {_visible(one.template_inserted)} stands between generation prompt and answer"
        )
        text = f"{default}; {end}{between}"
        if (one.template, text) not in seen:
            seen.add((one.template, text))
            yield Term(one.template, text)
