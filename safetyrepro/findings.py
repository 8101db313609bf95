"""A finding: a defect in a spec, a bundle or a report, with a stable code, a place and a remedy."""

from __future__ import annotations

from dataclasses import dataclass
from typing import Literal

Severity = Literal["note", "warning", "error"]


@dataclass(frozen=True, slots=True)
class FindingKind:
    """What a code means, for every finding that carries it."""

    code: str
    severity: Severity
    title: str
    explanation: str
    remedy: str


@dataclass(frozen=True, slots=True)
class Finding:
    """One defect: which kind, where, and the particulars in one sentence."""

    code: str
    where: str
    detail: str

    @property
    def kind(self) -> FindingKind:
        return KINDS[self.code]


def finding(code: str, where: str, detail: str) -> Finding:
    """A finding of a registered code; an unregistered code is our bug."""
    if code not in KINDS:
        raise KeyError(f"finding code {code} is not registered")
    return Finding(code=code, where=where, detail=detail)


def _register(*kinds: FindingKind) -> dict[str, FindingKind]:
    table: dict[str, FindingKind] = {}
    for kind in kinds:
        if kind.code in table:
            raise KeyError(f"finding code {kind.code} is registered twice")
        table[kind.code] = kind
    return table


# SR1xx scoring and data, SR2xx claims and evidence, SR3xx analysis and ranking, SR4xx attestation.
KINDS: dict[str, FindingKind] = _register(
    FindingKind(
        "SR101",
        "note",
        "plain path used",
        "The packed path did not agree with the plain path on the loaded model, so each sequence was "
        "scored on its own.",
        "Nothing to do; the run is slower, its numbers stand.",
    ),
    FindingKind(
        "SR102",
        "note",
        "token budget halved",
        "The device ran out of memory, so the shard was computed again with half the token budget.",
        "Lower `device.token_budget` to avoid the repeated work.",
    ),
    FindingKind(
        "SR103",
        "note",
        "token spans the join of prompt and answer",
        "Tokenising prompt and answer together merges characters of both into one token.",
        "Let prompts end in a space or newline only if the answer does not start a word; or accept the "
        "declared boundary policy.",
    ),
    FindingKind(
        "SR104",
        "warning",
        "answer truncated",
        "The sequence is longer than the model's context; the spec allows truncation, per answer.",
        "Use shorter items or a model with a longer context.",
    ),
    FindingKind(
        "SR105",
        "note",
        "template inserts its own system prompt",
        "The chat template adds a system prompt although the spec gives none.",
        "Declare a system prompt as a level of the `system` factor if the inserted one is unwanted.",
    ),
    FindingKind(
        "SR106",
        "note",
        "template changes whitespace",
        "The chat template trims or rewrites whitespace of a prompt or an answer; what it wrote was "
        "scored.",
        "Trim the items' texts, or compare under the plain template too.",
    ),
    FindingKind(
        "SR107",
        "note",
        "template puts text before the answer",
        "Between its generation prompt and an answer the chat template writes text of its own (such as a "
        "closed reasoning block); it was part of the context and not scored.",
        "Nothing to do if the deployed system does the same.",
    ),
    FindingKind(
        "SR108",
        "warning",
        "answer beyond the context",
        "The sequence is longer than the model's context, so the answer has no score; its outcome is "
        "`limit`.",
        "Use shorter items, a model with a longer context, or `scorer.truncation: per_answer`.",
    ),
    FindingKind(
        "SR109",
        "warning",
        "score not finite",
        "The model gave a probability that is not a number (an overflow of its precision); the outcome is "
        "`error`, and no number enters an estimate.",
        "Use float32 or bfloat16 for this model.",
    ),
    FindingKind(
        "SR110",
        "warning",
        "text holds a control token",
        "A prompt or an answer spells one of the tokenizer's control tokens, which was read as a control, "
        "not as text: a turn may end where the item's writer meant to quote a mark.",
        "Take the mark out of the item's text, or leave the item out for this model.",
    ),
    FindingKind(
        "SR201",
        "warning",
        "claim above its evidence",
        "The claim speaks of a higher level than the evidence was collected at; it is printed as an "
        "inference with its distance, never as an observation.",
        "Collect evidence at the claim's level, or lower the claim.",
    ),
    FindingKind(
        "SR202",
        "warning",
        "claim below its evidence",
        "Behaviour is a function of model, scaffold and context; attributing it to a lower level needs a "
        "varied scaffold and a null agent.",
        "Vary the scaffold and run a null agent, or claim at the level of the evidence.",
    ),
    FindingKind(
        "SR203",
        "warning",
        "claim without a checkable assertion",
        "The program cannot check this statement; the report prints it as not checked.",
        "Add an `assertion` to the claim.",
    ),
    FindingKind(
        "SR204",
        "note",
        "formality tier F0",
        "At least one link of the evidence (label, scorer, target, code) was decided by a model or by "
        "people without sufficient measured agreement.",
        "Have the labels checked by two people, and measure their agreement.",
    ),
    FindingKind(
        "SR205",
        "error",
        "declared level above what ran",
        "A spec may declare a lower level than what ran, never a higher one.",
        "Set `evidence.level` to the level that ran, or lower.",
    ),
    FindingKind(
        "SR206",
        "warning",
        "claim outside the scope of its evidence",
        "The claim speaks of a population, a language, a task or conditions that were not tested.",
        "Test them too, or narrow the claim's `scope` to what was tested.",
    ),
    FindingKind(
        "SR301",
        "warning",
        "few clusters",
        "With few clusters, intervals by resampling are too narrow.",
        "Add items in new clusters.",
    ),
    FindingKind(
        "SR302",
        "note",
        "estimate undefined",
        "A statistic has no value on these data; the reason is printed in its place.",
        "See the reason.",
    ),
    FindingKind(
        "SR303",
        "warning",
        "missing outcomes",
        "Some items have no score in some cells; denominators are printed.",
        "Repeat the failed items, or report worst-case bounds.",
    ),
    FindingKind(
        "SR304",
        "error",
        "ranking refused",
        "Compared models must differ only in the model, and a higher estimate must be better; here one of "
        "the two does not hold, so no ranking and no comparison of them is given.",
        "Give all models one `dtype`, or declare it as a factor. Where lower, or near a target, is better, "
        "read the estimates one by one.",
    ),
    FindingKind(
        "SR310",
        "warning",
        "missing cells",
        "Some models have no score at all under some configurations, so nothing is decided there, and "
        "statements over the whole envelope are undefined.",
        "Add the missing scores, leave out the configuration, or leave out the model with `--only`.",
    ),
    FindingKind(
        "SR311",
        "warning",
        "a model with other items",
        "A model lacks items that others have under every configuration. Pairs are compared on the items "
        "that both have; mean scores and ranks by them are over different items.",
        "Give every model the same items.",
    ),
    FindingKind(
        "SR312",
        "warning",
        "rows without a score",
        "Some rows have nothing, or no number, in the place of their score. They count as missing, never "
        "as zero.",
        "Repeat the failed items, or leave these rows out and say why.",
    ),
    FindingKind(
        "SR313",
        "warning",
        "one configuration only",
        "The harness was not varied, so nothing is said about whether the ranking survives it.",
        "Add scores under other prompt templates, few-shot levels or scoring rules.",
    ),
    FindingKind(
        "SR314",
        "warning",
        "ties everywhere",
        "No score tells any two models apart, so there is nothing to rank.",
        "Check that the scores are those of different models.",
    ),
    FindingKind(
        "SR315",
        "error",
        "one model only",
        "A ranking needs at least two models.",
        "Add the scores of another model on the same items.",
    ),
    FindingKind(
        "SR316",
        "note",
        "too few models for a rank correlation",
        "Below five models a rank correlation takes a handful of values, so there is none; the orderings "
        "are listed instead.",
        "Nothing to do.",
    ),
    FindingKind(
        "SR317",
        "note",
        "near-duplicate configurations",
        "Many configurations compare the models almost alike, so counts of configurations look like more "
        "evidence than they are.",
        "Quote the effective number beside the count, or use a named envelope.",
    ),
    FindingKind(
        "SR318",
        "note",
        "counts permit no pairing",
        "From counts alone models are compared as if they had been asked different items; the true paired "
        "errors are smaller, so what is undecided here may be decided there.",
        "Publish item scores.",
    ),
    FindingKind(
        "SR319",
        "note",
        "not every combination of levels occurs",
        "Effects of single factors rest on the configurations that differ in one factor only; here some of "
        "these are missing.",
        "Run the missing configurations.",
    ),
    FindingKind(
        "SR320",
        "note",
        "means on both sides of the target",
        "Near the target is better, and some means lie above it, others below; what mixes scores item by "
        "item has no direction then and is undefined.",
        "Nothing to do; decisions, ranks and rank correlations stand.",
    ),
    FindingKind(
        "SR401",
        "note",
        "planned in public before the run",
        "A signed plan of claims, primary configuration, envelope, analysis, items and models is attached; "
        "the time of its signature is its signer's word.",
        "Nothing to do; publish the plan where its date can be seen by others, before the run.",
    ),
    FindingKind(
        "SR402",
        "warning",
        "deviation from the plan",
        "What was run or claimed is not what the attached plan says.",
        "Say in the report why it changed, or claim only what was planned.",
    ),
    FindingKind(
        "SR403",
        "warning",
        "plan not older than the evidence",
        "By its own date the attached plan was signed after the oldest evidence was collected.",
        "Sign the plan before the run; a later one plans nothing.",
    ),
    FindingKind(
        "SR321",
        "warning",
        "a run that did not end well",
        "The harness itself says that a run was cancelled or failed; its scores are used as they are.",
        "Finish the run, or leave its log out.",
    ),
)
