"""The chapter on ranks and its page: what is printed, at every size, and that it is a pure function."""

from __future__ import annotations

import datetime as dt
import xml.etree.ElementTree as ET
from pathlib import Path

import numpy as np
import pytest

from safetyrepro.analysis.rank_input import RankOptions
from safetyrepro.analysis.ranks import study_scores
from safetyrepro.claims.rank_verdicts import pair_verdicts
from safetyrepro.data.rank_study import RankStudy
from safetyrepro.data.score_matrix import ScoreMatrix
from safetyrepro.report.rank_page import page_html, publish_ranks, rank_page, study_bytes
from safetyrepro.report.ranks import ranks_view

MADE = dt.datetime(2026, 12, 1, tzinfo=dt.UTC)


def study_of(*, models: int = 3, templates: int = 3, rules: int = 2, items: int = 60) -> RankStudy:
    """Skills from .2 to .8, and a first model that turns around under the last template."""
    rng = np.random.default_rng(2)
    chance = np.repeat(np.linspace(0.2, 0.8, models)[:, None], templates * rules, axis=1)
    chance[0, -rules:] = 0.95
    scores = (rng.random((models, templates * rules, items)) < chance[:, :, None]).astype(np.float64)
    matrix = ScoreMatrix(
        models=tuple(f"model <{m}>" for m in range(models)),
        factors=("template", "rule"),
        levels=tuple((f"t{t}", f"r{r}") for t in range(templates) for r in range(rules)),
        items=tuple(f"q{n}" for n in range(items)),
        clusters=None,
        scores=scores,
    )
    primary = {"template": "t0", "rule": "r0"}
    return study_scores(matrix, RankOptions(joint_resamples=400, margin=0.05, primary=primary))


def test_the_verdicts_are_worded_as_those_of_claims() -> None:
    study = study_of()
    found = next(one for one in pair_verdicts(study) if one.verdict == "REVERSED BY THE HARNESS")
    short = study.envelope_digest.removeprefix("sha256:")[:4]
    counts = found.counts
    undecided = counts.n - counts.ahead - counts.behind
    assert found.sentences[1] == (
        f"Over the 6 configurations of envelope {short}, {found.leader} was reliably ahead in "
        f"{counts.ahead}, {found.other} in {counts.behind}; {undecided} could not be decided."
    )
    assert found.sentences[2].startswith(
        "Verdict: REVERSED BY THE HARNESS: which system ranks higher depends on the configuration; "
        "changing the prompt template alone reversed it most often ("
    )
    assert found.sentences[0].startswith("In the primary configuration, template=t0,rule=r0, ")


@pytest.mark.parametrize(("models", "templates"), [(2, 2), (3, 3), (12, 8), (30, 4), (4, 200)])
def test_every_size_has_drawings_that_are_whole(models: int, templates: int) -> None:
    view = ranks_view(study_of(models=models, templates=templates, items=30))
    figures = [view.bumps, view.reversals, view.sets, view.factors, view.floors]
    drawn = [one for one in figures if one is not None]
    assert len(drawn) >= 4
    for figure in drawn:
        root = ET.fromstring(str(figure.svg))
        assert root.findtext("{http://www.w3.org/2000/svg}title")
        assert len(str(figure.svg)) < 2_000_000


def test_the_page_says_what_it_is_not_and_escapes_names() -> None:
    study = study_of()
    html = page_html(rank_page(study, made_at=MADE), medium="html", document=study_bytes(study))
    assert "Not a claim report." in html
    assert "date and expiry of the evidence not stated" in html
    assert "model <0>" not in html
    assert "model &lt;0&gt;" in html
    assert "<script" not in html


def test_the_same_study_gives_the_same_bytes(tmp_path: Path) -> None:
    study = study_of()
    one, two = (publish_ranks(study, out=tmp_path / name, made_at=MADE).parent for name in ("a", "b"))
    for name in ("ranks.json", "ranks.html", "ranks.pdf"):
        assert (one / name).read_bytes() == (two / name).read_bytes()


def test_one_model_has_a_chapter_without_pairs() -> None:
    view = ranks_view(study_of(models=1))
    assert view.lead == ("There is one system, so there is nothing to rank.",)
    assert view.pairs is None
    assert view.reversals is None
