from __future__ import annotations

import pytest

from safetyrepro.resources import resource_dir


@pytest.mark.parametrize("name", ["specs", "reports", "schemas"])
def test_what_ships_with_the_program_is_found(name: str) -> None:
    assert any(resource_dir(name).iterdir())


def test_what_is_not_there_is_named() -> None:
    with pytest.raises(FileNotFoundError, match="installed without its folder 'nothing'"):
        resource_dir("nothing")


def test_files_inside_the_package_come_before_the_checkout(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path_factory.mktemp("installed")
    package = root / "safetyrepro"
    (root / "specs").mkdir()
    (package / "_files" / "specs").mkdir(parents=True)
    monkeypatch.setattr("safetyrepro.resources._PACKAGE", package)
    assert resource_dir("specs") == package / "_files" / "specs"
    (package / "_files" / "specs").rmdir()
    assert resource_dir("specs") == root / "specs"
