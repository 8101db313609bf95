"""The options of `safetyrepro ranks` that are more than one word, parsed."""

from __future__ import annotations

import math
from collections.abc import Mapping, Sequence

from safetyrepro.data.rank_study import Direction
from safetyrepro.errors import InputError, must_be


def parse_direction(text: str) -> Direction:
    """`higher`, `lower`, or `near:0.5`.

    Raises:
        InputError: anything else.
    """
    if text in ("higher", "lower"):
        return Direction.model_validate({"kind": text})
    name, _, target = text.partition(":")
    if name == "near" and target:
        return Direction(kind="near", target=_number(target, "--better"))
    raise InputError(must_be("--better", "must be higher, lower or near:TARGET, as near:0.5", text))


def parse_range(text: str) -> tuple[float, float]:
    """`0:10` as its two ends.

    Raises:
        InputError: anything that is not two ascending numbers.
    """
    first, colon, second = text.partition(":")
    if colon:
        low, high = _number(first, "--range"), _number(second, "--range")
        if low < high:
            return low, high
    raise InputError(must_be("--range", "must be two ascending numbers, as 0:10", text))


def parse_levels(text: str, option: str) -> dict[str, str]:
    """`template=a,dtype=bf16` as a level for every factor.

    Raises:
        InputError: anything that is not name=level, or a name twice.
    """
    found: dict[str, str] = {}
    for part in text.split(","):
        name, equals, level = part.partition("=")
        if not equals or not name or not level or name in found:
            raise InputError(must_be(option, "must be name=level pairs with different names", text))
        found[name] = level
    return found


def parse_weights(texts: Sequence[str]) -> Mapping[str, Mapping[str, float]] | None:
    """`template:a=2,b=1`, once a factor; None where none is given.

    Raises:
        InputError: anything else.
    """
    found: dict[str, Mapping[str, float]] = {}
    for text in texts:
        factor, colon, rest = text.partition(":")
        if not colon or factor in found:
            raise InputError(must_be("--weights", "must be factor:level=weight,..., once a factor", text))
        levels = parse_levels(rest, "--weights")
        found[factor] = {level: _number(weight, "--weights") for level, weight in levels.items()}
    return found or None


def checked_confidence(value: float) -> float:
    """The joint confidence level.

    Raises:
        InputError: not between 0 and 1.
    """
    if not 0.0 < value < 1.0:
        raise InputError(must_be("--confidence", "must lie strictly between 0 and 1", value))
    return value


def checked_seed(value: int) -> int:
    """The seed.

    Raises:
        InputError: negative, or beyond what canonical JSON can hold.
    """
    if not 0 <= value < 2**53:
        raise InputError(must_be("--seed", "must lie in 0..2^53 - 1", value))
    return value


def _number(text: str, option: str) -> float:
    try:
        value = float(text)
    except ValueError:
        value = math.nan
    if not math.isfinite(value):
        raise InputError(must_be(option, "must hold finite numbers", text))
    return value
