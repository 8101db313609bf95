from __future__ import annotations

import itertools

import pytest
from fakes import Finished, load_job, spec_document, write_spec

from safetyrepro.claims.formality import (
    MINIMUM_AGREEMENT,
    TIER_MEANINGS,
    TIERS,
    lowest_tier,
    origin_tier,
    tier_links,
)
from safetyrepro.data.report_record import Tier, TierLink
from safetyrepro.spec.items import Origin


def origin(by: str, *, low: float | None = None, controls: bool = False) -> Origin:
    agreement = None
    if low is not None:
        agreement = {
            "statistic": "cohen_kappa",
            "estimate": 0.9,
            "low": low,
            "coders": 2,
            "source": "the study",
        }
    return Origin.model_validate(
        {"by": by, "note": "as said", "agreement": agreement, "controls_passed": controls}
    )


@pytest.mark.parametrize(
    ("given", "tier", "reason"),
    [
        (origin("program"), "F1", "decided by a fixed program: as said"),
        (origin("key"), "F1", "decided by a documented key: as said"),
        (origin("model"), "F0", "decided by a model: as said"),
        (origin("people"), "F0", "decided by people, no measured agreement: as said"),
        (origin("people", controls=True), "F0", "decided by people, no measured agreement: as said"),
        (
            origin("people", low=0.666, controls=True),
            "F0",
            "decided by people, cohen_kappa lower bound 0.666, 2 coders, below 0.667: as said",
        ),
        (
            origin("people", low=0.8),
            "F0",
            "decided by people, cohen_kappa lower bound 0.800, 2 coders, without gold and deletion "
            "controls: as said",
        ),
        (
            origin("people", low=0.667, controls=True),
            "F2",
            "decided by people, cohen_kappa lower bound 0.667, 2 coders: as said",
        ),
    ],
)
def test_the_tier_of_a_decision_depends_on_who_decided_and_on_measured_agreement(
    given: Origin, tier: str, reason: str
) -> None:
    assert origin_tier(given) == (tier, reason)


def test_a_high_estimate_does_not_make_up_for_a_low_bound() -> None:
    given = origin("people", low=0.2, controls=True)
    assert given.agreement is not None
    assert given.agreement.estimate == 0.9 > MINIMUM_AGREEMENT
    assert origin_tier(given)[0] == "F0"


def test_along_a_chain_the_lowest_link_counts_in_whatever_order_it_stands() -> None:
    for tiers in itertools.product(TIERS, repeat=3):
        links = tuple(
            TierLink(link=link, tier=tier, reason="r")
            for link, tier in zip(("label", "scorer", "target"), tiers, strict=True)
        )
        assert lowest_tier(links) == min(tiers)


@pytest.mark.parametrize(
    ("labels", "texts", "tier"),
    [
        ("program", "program", "F1"),
        ("program", "model", "F0"),
        ("model", "program", "F0"),
        ("key", "people", "F0"),
    ],
)
def test_an_experiments_chain_is_its_labels_its_scorer_and_its_targets(
    tmp_path_factory: pytest.TempPathFactory, labels: str, texts: str, tier: Tier
) -> None:
    document = spec_document()
    items = document["items"]
    assert isinstance(items, dict)
    document["items"] = {
        **items,
        "labels": {"by": labels, "note": "n"},
        "texts": {"by": texts, "note": "n"},
    }
    folder = tmp_path_factory.mktemp("spec")
    links = tier_links(load_job(write_spec(folder, document=document), out_dir=folder).experiment)
    assert [link.link for link in links] == ["label", "scorer", "target"]
    assert lowest_tier(links) == tier


def test_people_who_agree_do_not_lift_a_chain_above_its_program(finished: Finished) -> None:
    experiment = finished.job.experiment
    items = experiment.items.model_copy(
        update={"labels": origin("people", low=0.9, controls=True), "texts": origin("program")}
    )
    links = tier_links(experiment.model_copy(update={"items": items}))
    assert [link.tier for link in links] == ["F2", "F1", "F1"]
    assert lowest_tier(links) == "F1"


def test_every_tier_has_a_meaning() -> None:
    assert tuple(TIER_MEANINGS) == TIERS
