"""The validity window: from the oldest evidence, for the declared period, in calendar months."""

from __future__ import annotations

import datetime as dt

import isodate

from safetyrepro.errors import InputError, must_be

_FORM = "%Y-%m-%dT%H:%M:%SZ"


def format_time(moment: dt.datetime) -> str:
    """A moment as UTC text to the second, such as 2026-08-31T12:00:00Z."""
    return moment.astimezone(dt.UTC).strftime(_FORM)


def parse_time(text: str, where: str) -> dt.datetime:
    """The moment in UTC text to the second.

    Raises:
        InputError: the text has another form.
    """
    try:
        return dt.datetime.strptime(text, _FORM).replace(tzinfo=dt.UTC)
    except ValueError:
        raise InputError(must_be(where, "must be a time such as 2026-08-31T12:00:00Z", text)) from None


def expiry(collected_at: dt.datetime, period: str) -> dt.datetime:
    """`collected_at` plus an ISO 8601 period, calendar-right: 2026-08-31 + P6M = 2027-02-28.

    Raises:
        InputError: a period that ends after the year 9999.
    """
    try:
        moved = collected_at + isodate.parse_duration(period, as_timedelta_if_possible=False)
    except (OverflowError, ValueError):
        what = "must end before the year 10000"
        raise InputError(must_be("evidence.validity.period", what, period)) from None
    if not isinstance(moved, dt.datetime):
        raise TypeError(f"a period moves a time to a time; got {type(moved)}")
    return moved
