"""In which order systems and pairs are printed and how they look: decided once for a chapter on ranks."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass

from safetyrepro.claims.rank_verdicts import PairVerdict
from safetyrepro.data.rank_study import RankedModel, RankStudy
from safetyrepro.report.figures.marks import Series, series

_URGENCY = {
    "REVERSED BY THE HARNESS": 0,
    "UNDETERMINED": 2,
    "REFUSED": 3,
}


@dataclass(frozen=True, slots=True)
class RankOrder:
    """Systems by mean rank, with their printed names and looks."""

    models: tuple[str, ...]
    names: Mapping[str, str]
    looks: Mapping[str, Series]

    def pairs(self, verdicts: Sequence[PairVerdict]) -> list[PairVerdict]:
        """Reversed pairs first, then decided ones, then open ones; within each by the systems' order."""
        place = {name: index for index, name in enumerate(self.models)}
        return sorted(
            verdicts,
            key=lambda one: (_URGENCY.get(one.verdict, 1), place[one.leader], place[one.other]),
        )


def rank_order(study: RankStudy, *, drawn: Sequence[str] | None = None) -> RankOrder:
    """The order of a study's systems.

    Args:
        drawn: the order in which a report gives systems their looks, so that a system looks the same in
            all its chapters; absent: by mean rank.
    """
    ordered = tuple(model.id for model in sorted(study.models, key=_mean_rank))
    looks = {name: series(index) for index, name in enumerate(drawn or ordered)}
    return RankOrder(models=ordered, names={model.id: model.name for model in study.models}, looks=looks)


def mean_rank(model: RankedModel) -> float | None:
    """The mean rank by estimate over the configurations that have one."""
    known = [rank for rank in model.ranks if rank is not None]
    return sum(known) / len(known) if known else None


def _mean_rank(model: RankedModel) -> tuple[bool, float]:
    mean = mean_rank(model)
    return (mean is None, mean or 0.0)
