from __future__ import annotations

import datetime as dt

import pytest
from hypothesis import given
from hypothesis import strategies as st

from safetyrepro.claims.validity import expiry, format_time, parse_time
from safetyrepro.errors import InputError


@pytest.mark.parametrize(
    ("collected", "period", "expires"),
    [
        ("2026-08-31T12:00:00Z", "P6M", "2027-02-28T12:00:00Z"),
        ("2026-01-31T00:00:00Z", "P1M", "2026-02-28T00:00:00Z"),
        ("2028-01-31T00:00:00Z", "P1M", "2028-02-29T00:00:00Z"),
        ("2028-02-29T23:59:59Z", "P1Y", "2029-02-28T23:59:59Z"),
        ("2028-02-29T00:00:00Z", "P4Y", "2032-02-29T00:00:00Z"),
        ("2026-12-31T00:00:00Z", "P2M", "2027-02-28T00:00:00Z"),
        ("2026-10-31T00:00:00Z", "P1M", "2026-11-30T00:00:00Z"),
        ("2026-11-30T21:04:12Z", "P90D", "2027-02-28T21:04:12Z"),
        ("2026-11-30T00:00:00Z", "P2W", "2026-12-14T00:00:00Z"),
        ("2026-11-30T00:00:00Z", "P1Y6M", "2028-05-30T00:00:00Z"),
        ("2026-11-30T00:00:00Z", "PT36H", "2026-12-01T12:00:00Z"),
        ("2026-01-30T00:00:00Z", "P1M1D", "2026-03-01T00:00:00Z"),
    ],
)
def test_a_period_is_counted_by_the_calendar(collected: str, period: str, expires: str) -> None:
    assert format_time(expiry(parse_time(collected, "c"), period)) == expires


@given(
    st.datetimes(dt.datetime(2000, 1, 1), dt.datetime(2100, 1, 1), timezones=st.just(dt.UTC)),
    st.integers(1, 48),
)
def test_months_never_spill_over_into_the_next(collected: dt.datetime, months: int) -> None:
    expires = expiry(collected, f"P{months}M")
    assert (expires.year * 12 + expires.month) - (collected.year * 12 + collected.month) == months
    assert expires.day <= collected.day
    assert (expires.time(), expires.tzinfo) == (collected.time(), dt.UTC)


def test_a_period_past_the_calendars_end_is_refused() -> None:
    with pytest.raises(InputError, match=r"period: must end before the year 10000; got 'P9000Y'"):
        expiry(dt.datetime(2026, 1, 1, tzinfo=dt.UTC), "P9000Y")


def test_a_time_is_written_in_utc_to_the_second_and_read_back() -> None:
    moment = dt.datetime(2026, 8, 31, 14, 0, 0, 999, tzinfo=dt.timezone(dt.timedelta(hours=2)))
    assert format_time(moment) == "2026-08-31T12:00:00Z"
    assert parse_time("2026-08-31T12:00:00Z", "t") == dt.datetime(2026, 8, 31, 12, tzinfo=dt.UTC)


@pytest.mark.parametrize(
    "text", ["2026-08-31", "2026-08-31T12:00:00", "2026-08-31T12:00:00+00:00", "2026-02-30T00:00:00Z", ""]
)
def test_a_time_of_another_form_is_refused(text: str) -> None:
    with pytest.raises(InputError, match=r"^when: must be a time such as 2026-08-31T12:00:00Z; got "):
        parse_time(text, "when")
