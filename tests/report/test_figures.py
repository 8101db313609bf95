"""Drawings are well-formed, named in words, set in the report's face, and told apart without colour."""

from __future__ import annotations

import re
from collections.abc import Iterator
from xml.etree import ElementTree

import pytest
from markupsafe import Markup
from report_examples import Example, example

from safetyrepro.report.cover import VERDICT_KINDS
from safetyrepro.report.figures.axes import fraction_scale
from safetyrepro.report.figures.ladder import evidence_ladder
from safetyrepro.report.figures.marks import (
    configuration_strip,
    series,
    series_mark,
    side_cell,
    verdict_mark,
)
from safetyrepro.report.figures.nested import runs
from safetyrepro.report.figures.rank_map import rank_map, rank_map_caption
from safetyrepro.report.figures.ranks import RankGrid, orderings, rank_caption, rank_chart
from safetyrepro.report.figures.svg import FONT
from safetyrepro.report.figures.whiskers import Block, Whisker, WhiskerChart, whisker_chart
from safetyrepro.report.tree import ReportView, Side
from safetyrepro.report.view import report_view

SVG = "{http://www.w3.org/2000/svg}"
SIZES = [
    pytest.param({}, id="3 systems, 8 configurations"),
    pytest.param({"models": 30, "shots": 3}, id="30 systems, 24 configurations"),
    pytest.param(
        {"templates": tuple(f"plain-{i}" for i in range(100))}, id="3 systems, 400 configurations"
    ),
    pytest.param({"templates": ("plain",), "models": 2}, id="2 systems, 4 configurations"),
    pytest.param({"missing": True}, id="a cell without a number"),
]


def drawings(one: Example) -> Iterator[Markup]:
    view: ReportView = report_view(
        one.report, results=one.results, manifest=one.manifest, experiment=one.experiment
    )
    figures = (
        view.cover.ladder,
        view.results.rank_figure,
        view.results.estimate_figure,
        view.results.strata_figure,
    )
    yield from (figure.svg for figure in figures if figure is not None)
    yield from (claim.strip for claim in view.cover.claims if claim.strip is not None)
    yield from (claim.verdict.mark for claim in view.cover.claims)


def grid(ranks: list[list[float | None]], *, levels: int | None = None, primary: int = 0) -> RankGrid:
    columns = levels or len(ranks[0])
    return RankGrid(
        names=tuple(f"system {index}" for index in range(len(ranks))),
        factors=("rule",),
        levels=tuple((f"level-{index}",) for index in range(columns)),
        ranks=tuple(tuple(row) for row in ranks),
        primary=primary,
    )


@pytest.mark.parametrize("sizes", SIZES)
def test_every_drawing_is_named_in_words_set_in_our_face_and_within_its_frame(
    sizes: dict[str, object],
) -> None:
    for svg in drawings(example(**sizes)):  # type: ignore[arg-type]
        root = ElementTree.fromstring(svg)
        _, top, width, height = (float(part) for part in root.attrib["viewBox"].split())
        assert (root[0].tag, bool(root[0].text)) == (f"{SVG}title", True)
        for text in root.iter(f"{SVG}text"):
            assert text.attrib["font-family"] == FONT
            assert 0 <= float(text.attrib["x"]) <= width
            assert 5 <= float(text.attrib["y"]) - top <= height
        assert height <= 900, "a drawing must fit on a page"


def test_text_in_a_drawing_is_escaped() -> None:
    named = grid([[1.0, 1.0], [2.0, 2.0]])
    hostile = RankGrid(
        names=('<script>alert("x")</script>', "b & c"),
        factors=named.factors,
        levels=named.levels,
        ranks=named.ranks,
        primary=0,
    )
    svg = rank_chart(hostile)
    assert "<script" not in svg
    assert ElementTree.fromstring(svg)[0].text is not None


def test_named_series_differ_in_shape_and_dash_and_not_only_in_colour() -> None:
    looks = [series(index) for index in range(6)]
    assert len({look.shape for look in looks}) == 6
    assert len({look.dash for look in looks}) == 6
    bare = {re.sub(r"#[0-9a-f]{6}", "", series_mark(look, 0, 0)) for look in looks}
    assert len(bare) == 6


def test_the_verdicts_marks_differ_without_colour() -> None:
    bare = {
        re.sub(r"#[0-9a-f]{6}|<title>.*</title>", "", verdict_mark(kind)) for kind in VERDICT_KINDS.values()
    }
    assert len(bare) == len(set(VERDICT_KINDS.values()))


def test_the_sides_of_a_configuration_differ_without_colour() -> None:
    sides: tuple[Side, ...] = ("ahead", "behind", "open", "none")
    bare = {re.sub(r"#[0-9a-f]{6}", "", side_cell(side, 0, 0, 10)) for side in sides}
    assert len(bare) == 4


def test_the_ladder_says_the_signed_distance_of_each_level_it_draws() -> None:
    words = ElementTree.fromstring(
        evidence_ladder("response", claims=[(1, "response"), (2, "deployment"), (3, "model")])
    )[0].text
    assert words == (
        "Ladder of evidence levels. Evidence at response level; claim 3 at model level (distance −1); "
        "claim 1 at response level (no distance); claim 2 at deployment level (distance +2)."
    )


def test_the_ladder_draws_one_distance_for_each_other_level() -> None:
    svg = evidence_ladder("model", claims=[(1, "model"), (2, "deployment"), (3, "deployment")])
    assert re.findall(r">(distance [+−]\d)<", svg) == ["distance +3"]


def test_a_level_with_many_claims_says_how_many_more() -> None:
    svg = evidence_ladder("model", claims=[(number, "model") for number in range(1, 13)])
    drawn = re.findall(r">(\d+)</text>", svg)
    more = re.findall(r">\+(\d+) more<", svg)
    assert len(drawn) + int(more[0]) == 12


def test_a_strip_has_a_cell_for_every_configuration() -> None:
    sides: tuple[Side, ...] = ("ahead", "behind", "open", "none", "ahead", "open")
    svg = configuration_strip(sides, primary=4)
    root = ElementTree.fromstring(svg)
    assert root[0].text == (
        "Of 6 configurations: 2 reliably as claimed, 1 reliably the opposite, 2 undecided, "
        "1 without a number"
    )
    assert len(root.findall(f"{SVG}rect")) == 5
    assert len(root.findall(f"{SVG}line")) == 2, "one for no number, one under the primary"


def test_a_strip_of_many_configurations_is_a_bar_with_counts() -> None:
    sides: tuple[Side, ...] = ("ahead",) * 300 + ("behind",) * 60 + ("open",) * 40
    svg = configuration_strip(sides, primary=0, width=200)
    assert re.findall(r">(\d+)</text>", svg) == ["300", "60"]
    widths = [float(one.attrib["width"]) for one in ElementTree.fromstring(svg).findall(f"{SVG}rect")]
    assert widths == [150.0, 20.0, 30.0]


def test_beyond_48_configurations_ranks_are_drawn_by_distinct_ordering() -> None:
    ranks: list[list[float | None]] = [[1.0] * 300 + [2.0] * 100, [2.0] * 300 + [1.0] * 100]
    many = grid(ranks, primary=350)
    assert [(one.count, one.has_primary) for one in orderings(many)] == [(300, False), (100, True)]
    assert re.findall(r">(300|100)</text>", rank_chart(many)) == ["300", "100"]
    assert "2 of the 2 orderings that occur over 400 configurations" in rank_caption(many)


def test_a_line_is_broken_where_a_system_has_no_rank() -> None:
    svg = rank_chart(grid([[1.0, 1.0, None, 1.0, 1.0]]))
    assert len(ElementTree.fromstring(svg).findall(f"{SVG}path")) == 2


def test_systems_with_equal_ranks_are_drawn_side_by_side() -> None:
    svg = rank_chart(grid([[1.5, 1.0], [1.5, 2.0]]))
    paths = [one.attrib["d"] for one in ElementTree.fromstring(svg).findall(f"{SVG}path")]
    starts = {path.split("L")[0].strip() for path in paths}
    assert len(starts) == 2


def test_the_rank_map_keeps_the_primary_configuration_when_it_thins_out() -> None:
    ranks: list[list[float | None]] = [[float(row + 1)] * 400 for row in range(20)]
    many = grid(ranks, primary=203)
    caption = rank_map_caption(many)
    drawn = re.search(r"(\d+) of 400 configurations are drawn", caption)
    assert drawn is not None
    assert int(drawn[1]) <= 48
    svg = rank_map(many)
    frame = [
        one for one in ElementTree.fromstring(svg).findall(f"{SVG}rect") if one.get("stroke-width") == "1.4"
    ]
    assert len(frame) == 1


def test_the_rank_map_prints_primary_best_and_worst_over_the_whole_envelope() -> None:
    ranks: list[list[float | None]] = [
        [float((row + column) % 13 + 1) for column in range(60)] for row in range(13)
    ]
    texts = re.findall(r">([^<>]+)</text>", rank_map(grid(ranks, primary=1)))
    place = texts.index("system 0")
    assert texts[place + 1 : place + 4] == ["2", "1", "13"]


def test_an_estimate_without_a_number_is_written_as_undefined() -> None:
    chart = WhiskerChart(
        heads=("rule",),
        blocks=(Block(labels=("sum",), lanes=(Whisker(look=series(0), value=None, low=0, high=0),)),),
        entries=(),
        coin=None,
        axis="A",
        words="words",
    )
    assert ">undefined</text>" in whisker_chart(chart)


def test_the_scale_holds_its_values_and_one_half() -> None:
    scale = fraction_scale([0.62, 0.71], start=0, end=100)
    assert scale.low <= 0.5 < 0.71 <= scale.high
    assert scale.at(scale.low) == 0
    assert scale.at(scale.high) == pytest.approx(100)


def test_a_scale_without_values_is_not_empty() -> None:
    scale = fraction_scale([], start=0, end=100)
    assert scale.high - scale.low >= 0.2
    assert 0.5 in scale.ticks


def test_a_run_of_levels_ends_where_a_slower_factor_changes() -> None:
    levels = [("plain", "a"), ("plain", "b"), ("chat", "b"), ("chat", "a")]
    assert [(run.first, run.last, run.level) for run in runs(levels, depth=0)] == [
        (0, 1, "plain"),
        (2, 3, "chat"),
    ]
    assert len(runs(levels, depth=1)) == 4
