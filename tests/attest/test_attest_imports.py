"""Each module of the floor costs only what it needs."""

from __future__ import annotations

import subprocess
import sys

import pytest

_PROBE = """
import importlib, sys
importlib.import_module(sys.argv[1])
print(*(name for name in ("pyhanko", "asn1crypto", "weasyprint", "torch") if name in sys.modules))
"""


@pytest.mark.parametrize(
    "module",
    [
        "envelope",
        "statement",
        "signature",
        "keys",
        "trust",
        "certificate",
        "pdf_slot",
        "pdf_container",
        "pdf_verdict",
    ],
)
def test_only_what_reads_a_pdf_imports_pyhanko(module: str) -> None:
    done = subprocess.run(
        [sys.executable, "-c", _PROBE, f"safetyrepro.attest.{module}"],
        capture_output=True,
        text=True,
        check=True,
    )
    assert done.stdout.split() == []
