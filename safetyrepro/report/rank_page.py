"""A rank study of anybody's scores as a page: ranks.json, ranks.html and ranks.pdf, unsigned.

It is no claim report: nobody declared level, tier, scope or window, so the page says that they are not
stated. It has no signature, and its only date is the day on which it was made.
"""

from __future__ import annotations

import datetime as dt
from collections.abc import Iterator
from pathlib import Path
from typing import Final

from safetyrepro.canonical import canonical_bytes, digest_bytes
from safetyrepro.claims.numbers import fraction
from safetyrepro.claims.rank_verdicts import unstated_limits
from safetyrepro.data.bundle import write_atomically
from safetyrepro.data.rank_study import RankedFactor, RankStudy, Value
from safetyrepro.errors import StorageError
from safetyrepro.report.elements import Method, Term
from safetyrepro.report.notation import count, day, plural, short_digest
from safetyrepro.report.pages import Medium, render_page
from safetyrepro.report.pdf import Attachment, render_pdf
from safetyrepro.report.printer import program
from safetyrepro.report.rank_order import rank_order
from safetyrepro.report.rank_tables import scores_table
from safetyrepro.report.rank_tree import RanksPage
from safetyrepro.report.ranks import ranks_view
from safetyrepro.report.view import LANGUAGE, findings_view

JSON_FILE: Final = "ranks.json"
HTML_FILE: Final = "ranks.html"
PDF_FILE: Final = "ranks.pdf"
TEMPLATE: Final = "ranks-page.html.j2"

_PROJECT = "safetyrepro, measurement decisions"


def study_bytes(study: RankStudy) -> bytes:
    """The canonical JSON of a study: what `ranks.json` holds."""
    return canonical_bytes(study.model_dump(mode="json", by_alias=True))


def publish_ranks(study: RankStudy, *, out: Path, made_at: dt.datetime) -> Path:
    """Write the study, its page for browsers and its PDF into a folder; the path of the PDF.

    Raises:
        StorageError: the folder cannot be made or written.
    """
    try:
        out.mkdir(parents=True, exist_ok=True)
    except OSError as error:
        raise StorageError(f"{out}: must be a folder that can be written; {error.strerror}") from error
    document = study_bytes(study)
    page = rank_page(study, made_at=made_at)
    for name, data in (
        (JSON_FILE, document),
        (HTML_FILE, page_html(page, medium="html", document=document).encode()),
        (PDF_FILE, page_pdf(page, document=document, made_at=made_at)),
    ):
        write_atomically(out / name, data)
    return out / PDF_FILE


def page_html(page: RanksPage, *, medium: Medium, document: bytes) -> str:
    """The page as HTML; for a browser with `ranks.json` inside."""
    return render_page(TEMPLATE, medium=medium, tree={"page": page}, files={JSON_FILE: document})


def page_pdf(page: RanksPage, *, document: bytes, made_at: dt.datetime) -> bytes:
    """The page as PDF with `ranks.json` attached; the same study and time give the same bytes."""
    return render_pdf(
        page_html(page, medium="pdf", document=document),
        attachments=[Attachment(name=JSON_FILE, data=document, description="every number of this page")],
        issued_at=made_at,
        identifier=document,
    )


def rank_page(study: RankStudy, *, made_at: dt.datetime) -> RanksPage:
    """The printed tree of the page."""
    moment = made_at.astimezone(dt.UTC).strftime("%Y-%m-%dT%H:%M:%SZ")
    names = " and ".join(file.name for file in study.files[:2])
    more = f" and {len(study.files) - 2} more files" if len(study.files) > 2 else ""
    return RanksPage(
        title=f"Does the ranking survive the harness? {names}{more}",
        question=(
            "Which system ranks higher, and in how many configurations of the harness does that hold "
            "reliably?"
        ),
        caveat=(
            "These are scores from elsewhere: evidence level, formality tier, scope and window were not "
            "stated, and nobody has signed this page."
        ),
        language=LANGUAGE,
        generator=program(),
        id=f"ranks {short_digest(digest_bytes(study_bytes(study)))}",
        made=day(moment),
        made_at=moment,
        ranks=ranks_view(study),
        scores=scores_table(study, rank_order(study)),
        card=tuple(_card(study)),
        levels=tuple((factor.name, _levels(factor)) for factor in study.factors),
        sources=tuple(_sources(study)),
        findings=findings_view(study.findings),
        methods=tuple(_methods(study)),
        limits=unstated_limits(study),
    )


def _card(study: RankStudy) -> Iterator[Term]:
    size = len(study.configurations)
    grid = " × ".join(str(len(factor.levels)) for factor in study.factors)
    whole = "" if study.full_grid else ", not every combination of levels occurs"
    yield Term("envelope", f"{plural(size, 'configuration')}{f' ({grid})' if grid else ''}{whole}")
    yield Term("digest", study.envelope_digest, is_code=True)
    effective = study.effective_configurations
    if isinstance(effective, Value):
        yield Term("effective number", f"{effective.value:.1f}, near-duplicates counted as one")
    varied = [factor.name for factor in study.factors if len(factor.levels) > 1]
    fixed = [factor.name for factor in study.factors if len(factor.levels) == 1]
    yield Term("varied", ", ".join(varied) or "nothing")
    yield Term("held fixed", ", ".join(fixed) or "nothing was named")
    yield Term("not varied", "every harness choice that is not named here; nothing is said about them")
    weights = [factor.name for factor in study.factors if factor.weights is not None]
    yield Term("weights", f"declared for {', '.join(weights)}" if weights else "all configurations alike")
    primary = None if study.primary is None else study.configurations[study.primary].id
    yield Term("primary configuration", primary or "none was declared")
    near = f" {study.direction.target:g}" if study.direction.target is not None else ""
    yield Term("score", f"{study.score}; {study.direction.kind}{near} is better")
    asked = (
        f"up to {count(study.items)} trials a cell"
        if study.source == "counts"
        else plural(study.items, "item")
    )
    grouped = f" in {plural(study.clusters, 'cluster')}" if study.clustered else ", each sampled by itself"
    yield Term("asked", asked + (grouped if study.source != "counts" else ""))


def _levels(factor: RankedFactor) -> str:
    if factor.weights is None:
        return " · ".join(factor.levels)
    pairs = zip(factor.levels, factor.weights, strict=True)
    return " · ".join(f"{level} (weight {weight:g})" for level, weight in pairs)


def _sources(study: RankStudy) -> Iterator[Term]:
    for file in study.files:
        yield Term(f"{file.name}, {plural(file.rows, 'row')}", file.digest, is_code=True)
    yield Term("seed", str(study.seed))


def _methods(study: RankStudy) -> Iterator[Method]:
    level = fraction(study.confidence)
    if study.source == "counts":
        yield Method(
            "Ahead, reliably ahead",
            "Differences of proportions, unpaired, with Agresti and Caffo's standard error; reliably ahead "
            f"means that a joint step-down over all pairs and configurations at {level} excludes zero, by "
            f"{count(study.joint_resamples)} simulated maxima of independent cells.",
            "Agresti and Caffo 2000; Romano and Wolf 2005; " + _PROJECT,
        )
    else:
        grouped = "clusters" if study.clustered else "items"
        yield Method(
            "Ahead, reliably ahead",
            "Ahead is the sign of an estimate. Reliably ahead means that a simultaneous bound excludes "
            f"zero: step-down max-T over all pairs and configurations at {level}, "
            f"{count(study.joint_resamples)} joint resamples of whole {grouped} ({study.method}).",
            "Romano and Wolf 2005 (step-down max-T); SafetyRepro, arXiv 2605.25492; " + _PROJECT,
        )
    yield Method(
        "Verdicts",
        "Exclusive, decided by bounds and never by signs: a truly tied pair shows a raw reversal in most "
        "studies over twelve configurations.",
        _PROJECT,
    )
    yield Method(
        "Ranks that the data allow",
        "One more than the systems reliably ahead, up to all but those reliably behind; the sets hold "
        "together over systems and configurations.",
        "Mogstad, Romano, Shaikh and Wilhelm 2024",
    )
    if study.direction.kind == "near":
        yield Method(
            "Near a target",
            "A mean is the better the nearer it lies. Each cell's scores are turned towards the target on "
            "the side on which its mean lies, so that a difference of distances is a difference of means.",
            "safetyrepro, derivation in `analysis/rank_input.py`",
        )
    if study.source != "counts":
        yield Method(
            "Noise floor",
            "Items are halved at random; two configurations are compared between halves, and each with "
            "itself between halves. Equal where the configuration does not matter. Label swap: labels of "
            "configurations are dealt anew within items.",
            "Split-half reliability (Spearman 1910; Brown 1910), applied to rankings; " + _PROJECT,
        )
        yield Method(
            "Fewest removals",
            "The fewest items without which another system has the higher mean, each item counting once; "
            "for scores 0 and 1 it is wins minus losses plus one.",
            _PROJECT,
        )
    if study.missing.missing:
        yield Method(
            "Missing scores",
            "Worst case: every missing score at its worst and best for each pair; a decision survives "
            "where it is the same at both ends.",
            "Horowitz and Manski 2000",
        )
