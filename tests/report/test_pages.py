"""Templates are kept in a sandbox: they see the printed tree, escaped, and nothing else."""

from __future__ import annotations

from pathlib import Path

import pytest
from jinja2 import TemplateNotFound, UndefinedError
from jinja2.sandbox import SecurityError
from report_examples import example

from safetyrepro.report.pages import template_environment
from safetyrepro.report.tree import ReportView
from safetyrepro.report.view import report_view


@pytest.fixture(scope="module")
def view() -> ReportView:
    one = example(models=2, templates=("plain",), twins=20)
    return report_view(one.report, results=one.results, manifest=one.manifest, experiment=one.experiment)


def rendered(folder: Path, template: str, view: ReportView) -> str:
    (folder / "page.j2").write_text(template, encoding="utf-8")
    return template_environment(folder).get_template("page.j2").render(view=view)


@pytest.mark.parametrize(
    "template",
    [
        "{{ view.__class__ }}",
        "{{ ''.__class__.__mro__[1].__subclasses__() }}",
        "{{ view.__init__.__globals__ }}",
        "{{ cycler.__init__.__globals__.os }}",
        "{{ view.cover.title.__class__.__base__ }}",
    ],
)
def test_a_template_cannot_reach_what_is_private(tmp_path: Path, view: ReportView, template: str) -> None:
    with pytest.raises(SecurityError, match="access to attribute '__"):
        rendered(tmp_path, template, view)


def test_a_template_cannot_change_what_it_sees(tmp_path: Path, view: ReportView) -> None:
    with pytest.raises(SecurityError, match="'append'"):
        rendered(tmp_path, "{% set names = [1] %}{{ names.append(2) }}", view)


@pytest.mark.parametrize("name", ["../secret.txt", "/etc/passwd", "sub/../../secret.txt"])
def test_a_template_cannot_include_a_file_outside_its_folder(
    tmp_path: Path, view: ReportView, name: str
) -> None:
    folder = tmp_path / "templates"
    folder.mkdir()
    (tmp_path / "secret.txt").write_text("secret")
    with pytest.raises(TemplateNotFound, match=r"secret\.txt|etc/passwd"):
        rendered(folder, f'{{% include "{name}" %}}', view)


def test_a_misspelt_name_in_a_template_stops_the_rendering(tmp_path: Path, view: ReportView) -> None:
    with pytest.raises(UndefinedError, match="has no attribute 'titel'"):
        rendered(tmp_path, "{{ view.cover.titel }}", view)


def test_what_a_template_prints_is_escaped(tmp_path: Path, view: ReportView) -> None:
    assert rendered(tmp_path, "{{ '<b>' }}", view) == "&lt;b&gt;"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("Add an `assertion`.", "Add an <code>assertion</code>."),
        ("`<b>` & c", "<code>&lt;b&gt;</code> &amp; c"),
        ("an odd ` mark", "an odd ` mark"),
        ("", ""),
    ],
)
def test_backticks_become_code_and_everything_is_escaped(
    tmp_path: Path, view: ReportView, text: str, expected: str
) -> None:
    (tmp_path / "page.j2").write_text("{{ text | marked }}", encoding="utf-8")
    assert template_environment(tmp_path).get_template("page.j2").render(text=text) == expected


def test_a_sentence_keeps_its_capitals(tmp_path: Path, view: ReportView) -> None:
    assert rendered(tmp_path, "{{ 'formality tier F0' | sentence }}", view) == "Formality tier F0"
