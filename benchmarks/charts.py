"""Plots as SVG: bars, and lines on logarithmic axes. They are readable on light and dark pages."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from html import escape
from math import ceil, floor, log10

WIDTH, BAR, LEFT, TOP = 720, 24, 170, 34
COLOURS = ("#2f6fde", "#d9822b", "#2a9d5c", "#b5479b", "#8a8f98", "#c23b3b", "#128c9c", "#9a7b1f")
STYLE = """<style>text{font:13px system-ui,sans-serif;fill:#333}
.title{font-weight:bold}.axis{stroke:#999;stroke-opacity:.4}
@media(prefers-color-scheme:dark){text{fill:#ddd}}</style>"""

Points = Sequence[tuple[float, float]]


def bars(title: str, values: Mapping[str, float], unit: str) -> str:
    """One bar for each name. The first is the one that the page is about."""
    longest = max(values.values())
    body = "".join(
        _bar(number, name, value, (WIDTH - LEFT - 110) * value / longest, unit)
        for number, (name, value) in enumerate(values.items())
    )
    return _svg(TOP + BAR * len(values) + 8, title, body)


def _bar(number: int, name: str, value: float, width: float, unit: str) -> str:
    y, colour = TOP + BAR * number, COLOURS[0] if number == 0 else COLOURS[4]
    return (
        f'<text x="{LEFT - 8}" y="{y + 15}" text-anchor="end">{escape(name)}</text>'
        f'<rect x="{LEFT}" y="{y + 3}" width="{max(width, 1):.1f}" height="16" fill="{colour}"/>'
        f'<text x="{LEFT + width + 6:.1f}" y="{y + 15}">{value:,.3g} {unit}</text>\n'
    )


HEIGHT, BOTTOM, RIGHT = 380, 330, 560


def lines(title: str, series: Mapping[str, Points], x_label: str, y_label: str) -> str:
    """A line for each name, both axes logarithmic."""
    points = [point for line in series.values() for point in line]
    xs, ys = ([value for value in column if value > 0] for column in zip(*points, strict=True))
    across, up = _Axis(xs, 80, RIGHT), _Axis(ys, BOTTOM, TOP + 10)
    parts = [*_grid(across, up), *_labels(x_label, y_label)]
    for number, (name, line) in enumerate(series.items()):
        parts.append(_line(number, name, [(across.at(x), up.at(y)) for x, y in line if y > 0]))
    return _svg(HEIGHT, title, "".join(parts))


class _Axis:
    """Powers of ten between two places."""

    def __init__(self, values: Sequence[float], first: float, last: float) -> None:
        self.low, self.high = floor(log10(min(values))), ceil(log10(max(values)))
        self.high = max(self.high, self.low + 1)
        self.first, self.last = first, last

    def at(self, value: float) -> float:
        share = (log10(value) - self.low) / (self.high - self.low)
        return self.first + share * (self.last - self.first)

    @property
    def powers(self) -> range:
        return range(self.low, self.high + 1)


def _grid(across: _Axis, up: _Axis) -> Iterator[str]:
    for power in up.powers:
        y = up.at(10**power)
        yield f'<line class="axis" x1="80" x2="{RIGHT}" y1="{y:.1f}" y2="{y:.1f}"/>'
        yield f'<text x="72" y="{y + 4:.1f}" text-anchor="end">{10.0**power:,g}</text>'
    for power in across.powers:
        x = across.at(10**power)
        yield f'<line class="axis" x1="{x:.1f}" x2="{x:.1f}" y1="{TOP + 10}" y2="{BOTTOM}"/>'
        yield f'<text x="{x:.1f}" y="{BOTTOM + 18}" text-anchor="middle">{10**power:,}</text>\n'


def _labels(x_label: str, y_label: str) -> Iterator[str]:
    yield f'<text x="{(80 + RIGHT) / 2}" y="{BOTTOM + 40}" text-anchor="middle">{x_label}</text>'
    yield f'<text transform="translate(16 {BOTTOM}) rotate(-90)">{y_label}</text>\n'


def _line(number: int, name: str, points: Points) -> str:
    colour = COLOURS[number % len(COLOURS)]
    dashes = ' stroke-dasharray="6 4"' if number >= len(COLOURS) else ""
    path = " ".join(f"{x:.1f},{y:.1f}" for x, y in points)
    y = TOP + 20 + 22 * number
    legend = (
        f'<line x1="{RIGHT + 14}" x2="{RIGHT + 36}" y1="{y}" y2="{y}" stroke="{colour}"{dashes}/>'
    )
    return (
        f'<polyline points="{path}" fill="none" stroke="{colour}" stroke-width="2"{dashes}/>'
        f"{legend}"
        f'<text x="{RIGHT + 42}" y="{y + 4}">{escape(name)}</text>\n'
    )


def _svg(height: int, title: str, body: str) -> str:
    return (
        f'<svg xmlns="http://www.w3.org/2000/svg" viewBox="0 0 {WIDTH} {height}" role="img"'
        f' aria-label="{escape(title)}">{STYLE}\n'
        f'<text class="title" x="8" y="20">{escape(title)}</text>\n{body}</svg>\n'
    )
