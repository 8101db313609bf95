"""The printed tree to HTML, through a sandboxed template that sees nothing but the tree.

The same template makes the page that a browser shows and the page that becomes the PDF. The browser's
has its fonts and files inside, allows no script, and asks the network for nothing; the PDF's names its
fonts by our own scheme, which only `pdf` can resolve.
"""

from __future__ import annotations

import base64
import hashlib
from collections.abc import Mapping
from pathlib import Path
from typing import Final, Literal

from jinja2 import FileSystemLoader, StrictUndefined
from jinja2.sandbox import ImmutableSandboxedEnvironment
from markupsafe import Markup, escape

from safetyrepro.report.tree import ReportView
from safetyrepro.resources import resource_dir

Medium = Literal["html", "pdf"]
SCHEME: Final = "safetyrepro-file"
TEMPLATE: Final = "report.html.j2"
STYLE: Final = "report.css"
DOWNLOAD_TYPE: Final = "application/octet-stream"
FONTS: Final = (
    ("IBM Plex Sans", "normal", "400", "IBMPlexSans-Regular.woff2"),
    ("IBM Plex Sans", "italic", "400", "IBMPlexSans-Italic.woff2"),
    ("IBM Plex Sans", "normal", "600", "IBMPlexSans-SemiBold.woff2"),
    ("IBM Plex Mono", "normal", "400", "IBMPlexMono-Regular.woff2"),
)


def render_html(view: ReportView, *, medium: Medium, files: Mapping[str, bytes] | None = None) -> str:
    """The report as one HTML document; the same tree and files give the same text.

    Args:
        view: the printed tree.
        medium: for a browser, with everything inside, or for the PDF.
        files: files that a reader can save out of the browser's page, by name.
    """
    return render_page(
        TEMPLATE, medium=medium, tree={"view": view, "chapters": _chapters(view)}, files=files
    )


def render_page(
    template: str,
    *,
    medium: Medium,
    tree: Mapping[str, object],
    files: Mapping[str, bytes] | None = None,
) -> str:
    """A page as one HTML document, in the report's style; the same tree and files give the same text.

    Args:
        template: the template's file name.
        medium: for a browser, with everything inside, or for the PDF.
        tree: what the template sees beside the page's own style, policy and downloads.
        files: files that a reader can save out of the browser's page, by name.
    """
    root = resource_dir("reports")
    style = _font_faces(root / "fonts", medium) + (root / STYLE).read_text("utf-8")
    embedded = files if medium == "html" and files else {}
    return (
        template_environment(root)
        .get_template(template)
        .render(
            **tree,
            medium=medium,
            style=Markup(style),
            policy=content_policy(style),
            downloads={name: _data_url(DOWNLOAD_TYPE, data) for name, data in embedded.items()},
        )
    )


def content_policy(style: str) -> str:
    """The page's content security policy: no script, no request, one style by its hash, fonts inside."""
    digest = base64.b64encode(hashlib.sha256(style.encode()).digest()).decode()
    return (
        f"default-src 'none'; style-src 'sha256-{digest}'; font-src data:; "
        "base-uri 'none'; form-action 'none'"
    )


def font_file(name: str) -> bytes:
    """The bytes of one of the report's fonts."""
    return (resource_dir("reports") / "fonts" / name).read_bytes()


def template_environment(root: Path) -> ImmutableSandboxedEnvironment:
    """Templates below `root`: escaped, strict about names, kept from all but what they are given.

    They cannot reach a private attribute, change what they see, or include a file outside `root`.
    """
    environment = ImmutableSandboxedEnvironment(
        loader=FileSystemLoader(root),
        autoescape=True,
        undefined=StrictUndefined,
        keep_trailing_newline=True,
    )
    environment.filters["sentence"] = _sentence
    environment.filters["marked"] = _marked
    return environment


def _sentence(text: str) -> str:
    """The text with its first letter as a capital, the others as they are."""
    return text[:1].upper() + text[1:]


def _marked(text: str) -> Markup:
    """The text, escaped, with what stands between backticks set as code."""
    parts = text.split("`")
    if len(parts) % 2 == 0:
        return escape(text)
    return Markup("").join(
        Markup("<code>{}</code>").format(part) if place % 2 else escape(part)
        for place, part in enumerate(parts)
    )


def _font_faces(folder: Path, medium: Medium) -> str:
    return "".join(
        f'@font-face {{ font-family: "{family}"; font-style: {slope}; font-weight: {weight}; '
        f'src: url("{_font_url(folder / file, medium)}") format("woff2"); }}\n'
        for family, slope, weight, file in FONTS
    )


def _font_url(path: Path, medium: Medium) -> str:
    return _data_url("font/woff2", path.read_bytes()) if medium == "html" else f"{SCHEME}:fonts/{path.name}"


def _data_url(media_type: str, data: bytes) -> str:
    return f"data:{media_type};base64,{base64.b64encode(data).decode()}"


def _chapters(view: ReportView) -> list[tuple[str, str]]:
    """Anchors and titles of the chapters that this report has."""
    present = {
        "by-stratum": view.results.strata is not None,
        "comparisons": view.results.pairs is not None,
        "rank": view.ranks is None,
        "ranks": view.ranks is not None,
    }
    every = [
        ("in-full", "Claims in full"),
        ("rank", "Rank under each configuration"),
        ("ranks", "Does the ranking survive the harness?"),
        ("alignment", "Estimates with intervals"),
        ("by-stratum", "Strata"),
        ("checks", "Baselines and denominators"),
        ("comparisons", "Comparisons"),
        ("grid", "Grid card"),
        ("methods", "Methods"),
        ("provenance", "Systems, data and digests"),
        ("evaluator", "Evaluator"),
        ("findings", "Findings"),
        ("non-claims", "What this report does not say"),
        ("signature", "Signature and verification"),
    ]
    return [(anchor, title) for anchor, title in every if present.get(anchor, True)]
