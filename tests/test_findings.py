from __future__ import annotations

import re
from pathlib import Path

import pytest

import safetyrepro
from safetyrepro.findings import KINDS, FindingKind, _register, finding

CODE = re.compile(r"\bSR\d{3}\b")


def test_a_finding_says_what_its_code_means_and_what_to_do() -> None:
    found = finding("SR301", "items", "3 clusters, fewer than 20")
    assert found.kind.title == "few clusters"
    assert found.kind.remedy == "Add items in new clusters."


def test_an_unregistered_code_is_our_bug() -> None:
    with pytest.raises(KeyError, match="finding code SR999 is not registered"):
        finding("SR999", "items", "nothing")


def test_a_code_cannot_be_registered_twice() -> None:
    kind = FindingKind("SR301", "note", "a", "b", "c")
    with pytest.raises(KeyError, match="finding code SR301 is registered twice"):
        _register(kind, kind)


@pytest.mark.parametrize("code", KINDS)
def test_every_kind_has_its_form(code: str) -> None:
    kind = KINDS[code]
    assert re.fullmatch(r"SR[1-4]\d\d", kind.code)
    assert kind.code == code
    assert kind.title
    assert kind.title[0].islower()
    assert kind.explanation.endswith(".")
    assert kind.remedy.endswith(".")


def test_the_program_speaks_of_every_registered_code_and_of_no_other() -> None:
    root = Path(safetyrepro.__file__).parent
    spoken = {
        code
        for path in root.rglob("*.py")
        if path.name != "findings.py"
        for code in CODE.findall(path.read_text(encoding="utf-8"))
    }
    assert spoken - set(KINDS) == set()
    assert set(KINDS) - spoken == set()
