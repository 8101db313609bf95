"""Documents to the printed tree: a pure function, the only way into a template."""

from __future__ import annotations

from collections.abc import Sequence

from safetyrepro.attest.signature import fingerprint
from safetyrepro.data.manifest import Manifest
from safetyrepro.data.report_record import Report
from safetyrepro.data.results import FindingRecord, Results
from safetyrepro.findings import KINDS
from safetyrepro.report.comparisons import differences_table, pairs_table
from safetyrepro.report.cover import cover_view, relation_words, verdict_view
from safetyrepro.report.drawings import estimate_figure, rank_figure, strata_figure
from safetyrepro.report.grid import grid_card
from safetyrepro.report.looks import Looks, find_looks
from safetyrepro.report.methods import methods_view
from safetyrepro.report.notation import size
from safetyrepro.report.provenance import provenance_view
from safetyrepro.report.ranks import ranks_view
from safetyrepro.report.tables import (
    baselines_table,
    estimates_table,
    identity_sentence,
    margins_table,
    outcomes_table,
    strata_table,
    twins_table,
)
from safetyrepro.report.tree import (
    Attached,
    FindingView,
    ReportView,
    ResultsView,
    SignerView,
    Term,
    VerdictView,
)
from safetyrepro.spec.evidence import Evaluator
from safetyrepro.spec.experiment import Experiment

LANGUAGE = "en"
VERIFY_COMMAND = "safetyrepro verify report.pdf"


def report_view(
    report: Report,
    *,
    results: Results,
    manifest: Manifest,
    experiment: Experiment,
    signers: Sequence[SignerView] = (),
    attachments: Sequence[Attached] = (),
) -> ReportView:
    """Everything that is printed, from the documents of one report.

    Args:
        report: the verdicts, dated.
        results: the numbers.
        manifest: what produced them.
        experiment: the spec that ran.
        signers: who signs; empty for a report that says it is unsigned.
        attachments: the files inside the document.
    """
    looks = find_looks(experiment, results)
    return ReportView(
        id=report.id,
        language=LANGUAGE,
        generator=report.generator,
        cover=cover_view(report, results=results, signers=signers, verify_command=VERIFY_COMMAND),
        results=_results_view(results, looks),
        ranks=None if results.ranks is None else ranks_view(results.ranks, drawn=looks.order),
        grid=grid_card(experiment, results=results, manifest=manifest),
        evaluator=evaluator_terms(report.evaluator),
        methods=methods_view(experiment, results),
        provenance=provenance_view(report, results=results, manifest=manifest, experiment=experiment),
        findings=findings_view(report.findings),
        non_claims=report.non_claims,
        attachments=tuple(attachments),
        verdict_key=_verdict_key(report),
    )


def signer_view(name: str, *, role: str, keyid: str) -> SignerView:
    """A signer as printed."""
    return SignerView(name=name, role=role, fingerprint=fingerprint(keyid))


def attached_view(name: str, *, data: bytes, digest: str, what: str) -> Attached:
    """An attached file as printed."""
    return Attached(name=name, size=size(len(data)), digest=digest, what=what)


def evaluator_terms(evaluator: Evaluator) -> tuple[Term, ...]:
    """The evaluator block; what was not declared is said to be so."""
    return (
        Term("who", evaluator.name),
        Term("relation to the developer", relation_words(evaluator)),
        Term("access", evaluator.access),
        Term("funding", evaluator.funding),
        Term("elicitation", evaluator.elicitation),
        Term("dissent", evaluator.dissent or "none declared"),
        Term("right of reply", evaluator.right_of_reply or "none declared"),
    )


def findings_view(findings: Sequence[FindingRecord]) -> tuple[FindingView, ...]:
    """The findings by kind: errors first, then by code, with every place at which they occur."""
    grouped: dict[str, list[FindingRecord]] = {}
    for one in findings:
        grouped.setdefault(one.code, []).append(one)
    order = {"error": 0, "warning": 1, "note": 2}
    views = []
    for code in sorted(grouped, key=lambda code: (order[KINDS[code].severity], code)):
        kind = KINDS[code]
        views.append(
            FindingView(
                code=code,
                severity=kind.severity,
                title=kind.title,
                places=tuple(dict.fromkeys((one.where, one.detail) for one in grouped[code])),
                explanation=kind.explanation,
                remedy=kind.remedy,
            )
        )
    return tuple(views)


def _results_view(results: Results, looks: Looks) -> ResultsView:
    return ResultsView(
        rank_figure=rank_figure(results, looks),
        estimate_figure=estimate_figure(results, looks),
        estimates=estimates_table(results, looks),
        margins=margins_table(results, looks),
        strata_figure=strata_figure(results, looks),
        strata=strata_table(results, looks),
        baselines=baselines_table(results, looks),
        twins=twins_table(results, looks),
        outcomes=outcomes_table(results, looks),
        pairs=pairs_table(results, looks),
        differences=differences_table(results, looks),
        identity_check=identity_sentence(results),
    )


def _verdict_key(report: Report) -> tuple[VerdictView, ...]:
    distinct = {claim.verdict: claim.margin for claim in report.claims}
    return tuple(verdict_view(name, margin=margin) for name, margin in distinct.items())
