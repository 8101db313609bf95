"""Choices by hand through the whole analysis: points, baselines, contrasts, and what is refused."""

from __future__ import annotations

from collections.abc import Iterable, Sequence

import numpy as np
import pytest
from fakes import spec_document, spec_text
from table_examples import UNCHECKED

from safetyrepro.analysis.analyse import analyse
from safetyrepro.data.quantities import Estimate, NoEstimate
from safetyrepro.data.records import ItemRecord, Outcome, Row
from safetyrepro.data.results import Results
from safetyrepro.errors import InputErrors, IntegrityError
from safetyrepro.spec.envelope import passes
from safetyrepro.spec.experiment import Experiment
from safetyrepro.spec.load import parse_experiment

ITEMS = {
    "kind": "choice",
    "id": "trial",
    "name": "trial choices",
    "source": {"kind": "file", "path": "items.jsonl"},
    "fields": {
        "prompt": ["q"],
        "options": {"kind": "list", "column": "o"},
        "gold": {"column": "g", "form": "index"},
        "stratum": "s",
    },
    "labels": {"by": "key", "note": "made by rule"},
    "texts": {"by": "program", "note": "made by rule"},
}

Sums = Sequence[Sequence[float | None]]


def _experiment(claims: Sequence[dict[str, object]] = (UNCHECKED,), **items: object) -> Experiment:
    document = spec_document(
        models=("a", "b"),
        rules=("sum",),
        templates=("plain",),
        claims=claims,
        changes={"items": {**ITEMS, **items}},
    )
    return parse_experiment(spec_text(document), "trial")


def _records(sums: Sums, *, golds: Sequence[int] = (0,)) -> list[ItemRecord]:
    return [
        ItemRecord(
            id=f"i{at:02d}",
            digest=f"sha256:{at:064x}",
            stratum="even" if at % 2 == 0 else "odd",
            cluster=None,
            options=len(one),
            golds=tuple(golds),
        )
        for at, one in enumerate(sums)
    ]


def _analysed(
    experiment: Experiment, sums: dict[str, Sums], *, tokens: Sequence[int] = (1, 2, 3, 4)
) -> Results:
    todo = passes(experiment)
    items = _records(next(iter(sums.values())))

    def rows(pass_id: str) -> Iterable[Row]:
        for item, own in zip(items, sums[todo[pass_id].model.id], strict=True):
            for place, nats in enumerate(own):
                yield Row(
                    pass_=pass_id,
                    item=item.id,
                    item_digest=item.digest,
                    answer=str(place),
                    outcome=Outcome.ERROR if nats is None else Outcome.SCORED,
                    sum_nats=nats,
                    unconditional_nats=None if nats is None else -1.0,
                    tokens=tokens[place],
                    bytes_=2 * tokens[place],
                )

    return analyse(experiment, items=items, rows=rows)


RIGHT, WRONG, TIED, MISSING = (-1.0, -2.0), (-3.0, -1.0, -2.0), (-1.0, -1.0, -9.0), (-1.0, None)
A = [RIGHT, WRONG, TIED, MISSING] * 5
B = [(-2.0, -1.0), (-3.0, -1.0, -2.0), (-2.0, -1.0, -9.0), (-2.0, -1.0)] * 5


def _value(quantity: object) -> float:
    assert isinstance(quantity, Estimate)
    return quantity.value


def test_accuracy_of_items_with_unlike_options_is_their_mean_credit() -> None:
    results = _analysed(_experiment(), {"a": A, "b": B})
    cell = results.cells[0]
    assert _value(cell.headline) == pytest.approx((1 + 0 + 1 / 2) / 3)
    assert (cell.headline.n, results.estimand, results.items.kind) == (15, "accuracy", "choice")
    assert {kind: n for kind, n in cell.outcomes.items() if n} == {"scored": 10, "tie": 5, "error": 5}
    assert (cell.half, cell.strict, cell.twins, cell.swapped_identity) == (None, None, None, None)


def test_the_mass_of_the_right_option_is_averaged_over_items() -> None:
    results = _analysed(_experiment(measure="gold_mass"), {"a": A, "b": B})
    e = np.exp
    by_hand = [
        e(-1) / (e(-1) + e(-2)),
        e(-3) / (e(-3) + e(-1) + e(-2)),
        e(-1) / (2 * e(-1) + e(-9)),
    ]
    assert _value(results.cells[0].headline) == pytest.approx(sum(by_hand) / 3)
    assert results.random is not None
    assert results.random.low == results.random.expected == results.random.high


def test_baselines_are_over_the_items_that_the_model_was_scored_on() -> None:
    results = _analysed(_experiment(), {"a": A, "b": B})
    cell = results.cells[0]
    # The first option is right and has one token, the others more: shortest is always right.
    assert cell.shorter_wins.kind == cell.first_option.kind == "point"  # type: ignore[union-attr]
    assert cell.shorter_wins.value == 1.0
    assert cell.longer_wins.value == 0.0  # type: ignore[union-attr]
    assert cell.prompt_blind is not None  # every option costs the same without the prompt: credit 1/k
    assert _value(cell.prompt_blind) == pytest.approx((1 / 2 + 1 / 3 + 1 / 3) / 3)
    assert results.random is not None
    assert results.random.expected == pytest.approx((1 / 2 + 1 / 3 + 1 / 3 + 1 / 2) / 4)


def test_models_are_compared_on_the_points_of_shared_items() -> None:
    claim: dict[str, object] = {
        **UNCHECKED,
        "assertion": {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"},
    }
    results = _analysed(_experiment([claim]), {"a": A, "b": B})
    (difference,) = results.comparisons[0].differences
    assert difference.difference.value == pytest.approx(1 / 2)  # type: ignore[union-attr]
    assert difference.ahead == 1
    assert results.rankings[0].ranks == {"a": 1.0, "b": 2.0}
    assert results.claim_tests[0].contrasts[0].k_ahead == 1
    assert results.ranks is not None


def test_strata_have_their_own_estimates() -> None:
    results = _analysed(_experiment(), {"a": A, "b": B})
    values = {one.stratum: one.headline.value for one in results.cells[0].strata}  # type: ignore[union-attr]
    assert values == {"even": pytest.approx(3 / 4), "odd": 0.0}


def test_an_item_that_no_option_of_was_scored_leaves_no_number() -> None:
    nothing: Sums = [(None, None)] * 6
    results = _analysed(_experiment(), {"a": nothing, "b": nothing})
    assert isinstance(results.cells[0].headline, NoEstimate)
    assert results.comparisons[0].n == 0


def test_a_missing_row_of_an_option_is_an_error_of_the_bundle() -> None:
    experiment = _experiment()
    with pytest.raises(IntegrityError, match="must have a row for i00 0; it has none"):
        analyse(experiment, items=_records(A), rows=lambda _: [])


def test_the_estimand_of_choices_is_their_measure() -> None:
    document = spec_document(
        models=("a", "b"),
        claims=(UNCHECKED,),
        changes={"items": ITEMS, "analysis": {"estimand": "alignment_half"}},
    )
    with pytest.raises(InputErrors, match=r"analysis\.estimand must be absent where items are choices"):
        parse_experiment(spec_text(document), "trial")


@pytest.mark.parametrize("better", [{"better": "lower"}, {"better": "near", "near": 0.5}])
def test_nobody_is_ahead_where_higher_is_not_better(better: dict[str, object]) -> None:
    claims: list[dict[str, object]] = [
        {
            **UNCHECKED,
            "id": "order",
            "assertion": {"kind": "ranks_above", "above": "a", "below": "b", "over": "every"},
        },
        {
            **UNCHECKED,
            "id": "value",
            "assertion": {"kind": "at_most", "model": "a", "value": 0.9, "over": "every"},
        },
    ]
    results = _analysed(_experiment(claims, **better), {"a": A, "b": B})
    assert _value(results.cells[0].headline) == pytest.approx(1 / 2)
    assert results.rankings[0].ranks == {}
    assert results.ranks is None
    assert results.comparisons[0].n == 0
    assert "SR304" in {one.code for one in results.findings}
    order, value = results.claim_tests
    assert order.contrasts[0].n == 0
    assert order.p_holds is None
    assert value.contrasts[0].n == 1
