"""The time and the files that the attestation tests share."""

from __future__ import annotations

from datetime import UTC, datetime

SIGNED_AT = datetime(2026, 11, 30, 12, 0, 0, tzinfo=UTC)
ATTACHED = {"report.json": b'{"level":"model"}' * 40, "rows/pass-00000.csv": b"item,sum_nats\n1,-2.5\n"}
