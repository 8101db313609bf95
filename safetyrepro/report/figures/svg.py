"""The few SVG elements that the drawings are made of, with every text escaped."""

from __future__ import annotations

from collections.abc import Iterable, Mapping

from markupsafe import Markup, escape

FONT = "IBM Plex Sans"
INK = "#17212b"
SOFT = "#4f5b67"
FAINT = "#8a95a0"
RULE = "#c8d0d8"
GRID = "#e1e6ea"
TINT = "#eef2f5"
PAPER = "#ffffff"
AHEAD = "#0b4f7d"
BEHIND = "#b3431c"


def px(value: float) -> str:
    """A coordinate with at most two decimals."""
    text = f"{value:.2f}".rstrip("0").rstrip(".")
    return "0" if text in ("-0", "") else text


def element(name: str, attributes: Mapping[str, str | float], content: Markup | str = "") -> Markup:
    """One element; attribute names are given with underscores for hyphens."""
    parts = [
        f'{key.replace("_", "-")}="{escape(value if isinstance(value, str) else px(value))}"'
        for key, value in attributes.items()
    ]
    head = " ".join([name, *parts])
    inner = escape(content)
    return Markup(f"<{head}>{inner}</{name}>") if inner else Markup(f"<{head}/>")


def group(children: Iterable[Markup], attributes: Mapping[str, str | float] | None = None) -> Markup:
    """Elements that belong together."""
    return element("g", attributes or {}, Markup("").join(children))


def drawing(
    children: Iterable[Markup], *, width: float, height: float, title: str, top: float = 0
) -> Markup:
    """A whole drawing from `top` downwards, scaled to the width it is given; `title` stands for it."""
    return element(
        "svg",
        {
            "xmlns": "http://www.w3.org/2000/svg",
            "viewBox": f"0 {px(top)} {px(width)} {px(height)}",
            "width": width,
            "height": height,
            "role": "img",
            "font_family": FONT,
            "font_size": 9,
            "fill": INK,
        },
        element("title", {}, title) + Markup("").join(children),
    )


def label(
    x: float,
    y: float,
    text: str,
    *,
    anchor: str = "start",
    size: float = 9,
    bold: bool = False,
    fill: str = INK,
    turn: float | None = None,
) -> Markup:
    """A text on its baseline."""
    attributes: dict[str, str | float] = {
        "x": x,
        "y": y,
        "font_family": FONT,
        "font_size": size,
        "fill": fill,
    }
    if anchor != "start":
        attributes["text_anchor"] = anchor
    if bold:
        attributes["font_weight"] = "600"
    if turn is not None:
        attributes["transform"] = f"rotate({px(turn)} {px(x)} {px(y)})"
    return element("text", attributes, text)


def line(
    x1: float, y1: float, x2: float, y2: float, *, stroke: str = INK, width: float = 1, dash: str = ""
) -> Markup:
    """A straight line."""
    attributes: dict[str, str | float] = {
        "x1": x1,
        "y1": y1,
        "x2": x2,
        "y2": y2,
        "stroke": stroke,
        "stroke_width": width,
    }
    if dash:
        attributes["stroke_dasharray"] = dash
    return element("line", attributes)


def box(
    x: float,
    y: float,
    width: float,
    height: float,
    *,
    fill: str = "none",
    stroke: str = "none",
    stroke_width: float = 1,
    radius: float = 0,
) -> Markup:
    """A rectangle."""
    attributes: dict[str, str | float] = {"x": x, "y": y, "width": width, "height": height, "fill": fill}
    if stroke != "none":
        attributes |= {"stroke": stroke, "stroke_width": stroke_width}
    if radius:
        attributes["rx"] = radius
    return element("rect", attributes)


def disc(
    x: float, y: float, radius: float, *, fill: str = INK, stroke: str = "none", width: float = 1
) -> Markup:
    """A circle."""
    attributes: dict[str, str | float] = {"cx": x, "cy": y, "r": radius, "fill": fill}
    if stroke != "none":
        attributes |= {"stroke": stroke, "stroke_width": width}
    return element("circle", attributes)


def path(
    points: str, *, fill: str = "none", stroke: str = "none", width: float = 1, dash: str = ""
) -> Markup:
    """A path from its data."""
    attributes: dict[str, str | float] = {"d": points, "fill": fill}
    if stroke != "none":
        attributes |= {"stroke": stroke, "stroke_width": width, "stroke_linejoin": "round"}
    if dash:
        attributes["stroke_dasharray"] = dash
    return element("path", attributes)


def polyline(points: Iterable[tuple[float, float]]) -> str:
    """Path data through the points."""
    return " ".join(f"{'M' if index == 0 else 'L'}{px(x)} {px(y)}" for index, (x, y) in enumerate(points))


def text_width(text: str, *, size: float) -> float:
    """About how wide a text is in the report's face: .55 of its size a character."""
    return 0.55 * size * len(text)


def clip(text: str, *, width: float, size: float) -> str:
    """The text, cut to about `width` with an ellipsis."""
    room = max(1, int(width / (0.55 * size)))
    return text if len(text) <= room else text[: room - 1].rstrip() + "…"
