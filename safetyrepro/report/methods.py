"""How every number was computed, and where that comes from; only what this report used is listed."""

from __future__ import annotations

from collections.abc import Iterator

from safetyrepro.claims.numbers import fraction
from safetyrepro.data.results import Results
from safetyrepro.report.notation import count
from safetyrepro.report.tree import Method
from safetyrepro.spec.experiment import Experiment

_ALIGNMENT = "Pairwise Reference Alignment, arXiv 2605.30758"
_RANKS = "SafetyRepro, arXiv 2605.25492; safetyrepro, measurement decisions"
_PROJECT = "safetyrepro, measurement decisions"


def methods_view(experiment: Experiment, results: Results) -> tuple[Method, ...]:
    """The methods in the order in which a reader meets their numbers."""
    return tuple(_methods(experiment, results))


def _methods(experiment: Experiment, results: Results) -> Iterator[Method]:
    level = fraction(results.confidence)
    grouped = "clusters" if results.items.clustered else "items"
    yield Method(
        "Scores",
        "Log-likelihood of the given answer after the given prompt: logits in float32 before the "
        "log-softmax, sums in float64. Every scoring rule is read off the same pass.",
        _ALIGNMENT,
    )
    if results.items.kind == "choice":
        yield Method(
            "Accuracy and mass",
            "Accuracy: whether the option with the highest score is right; k options tied for it get 1/k "
            "each. Mass: the softmax of an item's scores over its options, summed over the right ones.",
            "Lin et al. 2022, arXiv 2109.07958 (MC1, MC2)",
        )
        yield Method(
            "Intervals",
            f"At confidence {level}: BCa bootstrap with {count(results.resamples)} resamples of whole "
            f"{grouped}.",
            "Efron 1987 (BCa)",
        )
    else:
        yield Method(
            "Alignment A",
            "The share of pairs in which the chosen answer scores higher than the rejected one. A tie "
            "counts as half a win in the one estimate and as no win in the strict one; m = 2A − 1.",
            _ALIGNMENT,
        )
        yield Method(
            "Intervals",
            f"At confidence {level}. Headline: BCa bootstrap; half credit: percentile bootstrap; both with "
            f"{count(results.resamples)} resamples of whole {grouped}. The Hoeffding radius needs no "
            "distribution: √(ln(2/δ) / 2K), widened where clusters differ in size.",
            "Efron 1987 (BCa); Hoeffding 1963; " + _ALIGNMENT,
        )
    yield Method(
        "Ahead, reliably ahead",
        "Ahead is the sign of an estimate. Reliably ahead means that a simultaneous bound excludes zero: "
        f"step-down max-T over all declared pairs and configurations, {count(results.joint_resamples)} "
        f"joint resamples of whole {grouped}. The true number of configurations ahead lies between k+ and "
        "n − k−.",
        "Romano and Wolf 2005 (step-down max-T); " + _RANKS,
    )
    yield Method(
        "Verdicts",
        "Exclusive, decided by bounds and never by signs: a truly tied pair shows a raw reversal in most "
        "studies over twelve configurations.",
        _PROJECT,
    )
    yield Method(
        "Claims over configurations",
        "“In every configuration” is an intersection-union test, “in at least r” a partial conjunction; "
        "over the declared claims p-values are adjusted by Holm's method.",
        "Berger 1982; Benjamini and Heller 2008; Holm 1979",
    )
    yield Method(
        "Equivalence",
        "Two one-sided tests against the margin of "
        f"{fraction(experiment.analysis.equivalence_margin)}; “no difference” is said by nothing else.",
        "Schuirmann 1987",
    )
    yield Method(
        "Null baselines",
        "The same estimand if the longer or the shorter answer always won, for a coin, and where a "
        "configuration has an unconditional score, for that score, which reads no prompt.",
        _PROJECT,
    )
    if results.items.twins:
        yield Method(
            "Crossed twins",
            "Two prompts and two answers, each right for one prompt. A score that does not read the "
            "prompt gets exactly one half, whatever it prefers. Both-right and the crossed ordering "
            "separate reading the prompt from liking an answer.",
            _PROJECT,
        )
    yield Method(
        "Level, distance, tier",
        "The level is derived from what ran; the distance of a claim is counted in levels, with its "
        "sign; the formality tier is the lowest link's.",
        "arXiv 2605.04454 (levels); arXiv 2607.26191 (weakest link); " + _PROJECT,
    )
