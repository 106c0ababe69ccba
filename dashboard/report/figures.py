"""Charts and maps of a report as HTML and SVG: they stretch with the page, print as lines, and need no script.

A small script shows the number under the pointer; its data stands in the page once.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from dashboard.report import picture
from dashboard.report.lines import Line, Map, Values, lines, maps, nice
from dashboard.report.tags import Html, inner, tag
from dashboard.report.times import labels, since
from telemetry import formatting
from telemetry.model import Unit

HEIGHT = 100.0
HEADROOM = 1.04
"""So that a line at its highest is not cut in half."""
MOST_MARKS = 40
ROW_PX = 16
MOST_OF_IT = 0.9
"""A stretch longer than this share of the run is not worth a colour."""


@dataclass
class Figures:
    """All of a run's. start_ms, span_ms: the time axis that they share; plots: what the script knows of them."""

    charts: Mapping[str, Any]
    marks: Sequence[Mapping[str, Any]] = ()
    stretch: tuple[int, int] | None = None
    bands: Sequence[tuple[int, int]] = ()
    plots: list[dict[str, Any]] = field(default_factory=list)

    @property
    def start_ms(self) -> int:
        """Where the axis begins."""
        return int(self.charts["start"])

    @property
    def count(self) -> int:
        """Bins."""
        return max((len(one["v"]) for one in self.charts["series"]), default=0)

    @property
    def span_ms(self) -> int:
        """How long it is."""
        return self.count * int(self.charts["step_ms"])

    def data(self) -> dict[str, Any]:
        """What the script reads."""
        return {"span_ms": self.span_ms, "plots": self.plots}

    def html(self) -> list[Html]:
        """Charts over one axis, then maps; nothing where nothing was recorded."""
        drawn, mapped = lines(self.charts), maps(self.charts)
        found = [self._line(one) for one in drawn]
        found += [self._times()] if drawn else []
        found += [self._map(one) for one in mapped]
        return [*found, *([tag("div", self._times(), class_="map")] if mapped else [])]

    def _times(self) -> Html:
        marks = [
            tag("span", text, class_="end" if share > 0.97 else None, style=f"left:{share * 100:.3f}%")
            for share, text in labels(self.span_ms)
        ]
        return tag("div", *marks, class_="times", aria_hidden="true")

    def _at(self, ms: float) -> float:
        return (ms - self.start_ms) / max(self.span_ms, 1) * self.count

    def _line(self, line: Line) -> Html:
        axis = formatting.AXES[line.unit]
        known = [value for value in line.values if value is not None]
        top, ticks = nice(max(known) * axis.scale * HEADROOM)
        heights = [None if value is None else value * axis.scale / top * HEIGHT for value in line.values]
        colour = f"var(--{line.colour})"
        shapes = _bars(heights, colour) if line.bars else _curve(heights, colour)
        grid = [_level(tick / top * HEIGHT, self.count) for tick in ticks[1:]]
        drawing = tag(
            "svg",
            *self._ground(),
            *grid,
            *shapes,
            *self._above(),
            viewBox=f"0 0 {self.count} {HEIGHT:g}",
            preserveAspectRatio="none",
            role="img",
            aria_label=f"{line.title}: {_range(known, line.unit)}",
        )
        names = [
            tag("span", _tick(tick, axis.unit if tick == ticks[-1] else ""), style=f"bottom:{tick / top * 100:.3f}%")
            for tick in ticks
        ]
        head = tag(
            "figcaption",
            tag("span", class_="swatch", style=f"background:{colour}"),
            tag("h3", line.title),
            tag("span", _range(known, line.unit), class_="note"),
            tag("output"),
        )
        plot = self._plot(drawing, line.unit, [line.values], int(self.charts["step_ms"]), None)
        body = tag("div", tag("div", *names, class_="axis", aria_hidden="true"), plot, class_="frame")
        return tag("figure", head, body, class_="chart")

    def _ground(self) -> list[Html]:
        """Benchmarks' stretches, behind everything."""
        parts = [(max(self._at(start), 0.0), min(self._at(end), self.count)) for start, end in self.bands]
        return [_rectangle(low, high, "bench") for low, high in parts if high - low < MOST_OF_IT * self.count]

    def _above(self) -> list[Html]:
        """Marks, and what was cut off, in front."""
        found = [
            tag(
                "line",
                tag("title", f"{since(one['t'] - self.start_ms)} {one['text']}"),
                x1=f"{self._at(one['t']):.2f}",
                x2=f"{self._at(one['t']):.2f}",
                y1=0,
                y2=f"{HEIGHT:g}",
                class_="mark",
            )
            for one in self.marks[:MOST_MARKS]
        ]
        if self.stretch is not None:
            low, high = (self._at(one) for one in self.stretch)
            found += [_rectangle(0.0, low, "cut")] if low >= 1 else []
            found += [_rectangle(high, float(self.count), "cut")] if high <= self.count - 1 else []
        return found

    def _plot(
        self,
        drawing: Html,
        unit: Unit,
        rows: Sequence[Values],
        step_ms: int,
        names: Sequence[str] | None,
        style: str = "",
    ) -> Html:
        axis = formatting.AXES[unit]
        self.plots.append(
            {
                "unit": axis.unit,
                "scale": axis.scale,
                "whole": unit in (Unit.WATTS, Unit.HERTZ),
                "step_ms": step_ms,
                "rows": [[None if value is None else float(f"{value:.4g}") for value in row] for row in rows],
                "names": names,
            }
        )
        number = len(self.plots) - 1
        return tag("div", drawing, class_="plot", data_plot=number, tabindex=0, style=style or None)

    def _map(self, one: Map) -> Html:
        assert one.span is not None, "of maps that have a value"
        low, high = one.span
        image = picture.address(picture.png([row for _, row in one.rows], low, high))
        scale = tag(
            "span",
            formatting.text(low, one.unit),
            tag("span", class_="ramp"),
            formatting.text(high, one.unit),
            *_gaps(one),
            class_="scale",
        )
        said = f"{one.title} of {len(one.rows)} nodes over time, {_range([low, high], one.unit)}"
        head = tag("figcaption", tag("h3", one.title), scale, tag("output"))
        names = [name for name, _ in one.rows]
        ground = f"height:{len(names) * ROW_PX}px"
        picture_tag = Html(f'<img alt="{inner(said)}" src="{image}">')
        plot = self._plot(picture_tag, one.unit, [row for _, row in one.rows], one.step_ms, names, ground)
        listed = tag("div", *(tag("div", name, title=name) for name in names), class_="names")
        return tag("figure", head, tag("div", listed, plot, class_="frame"), class_="chart map")


def _tick(value: float, unit: str) -> str:
    number = f"{value / 1000:g}k" if value >= 10_000 or (value >= 1000 and value % 100 == 0) else f"{value:g}"
    return f"{number}\u00a0{unit}" if unit else number


def _gaps(one: Map) -> list[Html]:
    """What grey is, where there is any."""
    some = any(value is None for _, row in one.rows for value in row)
    return [tag("span", class_="grey"), inner("not known")] if some else []


def _range(known: Sequence[float], unit: Unit) -> str:
    low, high = (formatting.text(one, unit) for one in (min(known), max(known)))
    return low if low == high else f"{low} to {high}"


def _rectangle(low: float, high: float, name: str) -> Html:
    return tag("rect", x=f"{low:.2f}", y=0, width=f"{max(high - low, 0):.2f}", height=f"{HEIGHT:g}", class_=name)


def _level(height: float, width: int) -> Html:
    return tag("line", x1=0, x2=width, y1=f"{HEIGHT - height:.2f}", y2=f"{HEIGHT - height:.2f}")


def _curve(heights: Sequence[float | None], colour: str) -> list[Html]:
    """A line through the middles of the bins, broken where nothing is known; what stands alone is a short dash."""
    curve, area = [], []
    for first, part in _runs(heights):
        points = [(first + place + 0.5, HEIGHT - one) for place, one in enumerate(part)]
        points = [(first, points[0][1]), (first + 1, points[0][1])] if len(points) == 1 else points
        path = "L".join(f"{x:g} {y:.2f}" for x, y in points)
        curve.append(f"M{path}")
        area.append(f"M{points[0][0]:g} {HEIGHT:g}L{path}L{points[-1][0]:g} {HEIGHT:g}Z")
    return [
        tag("path", class_="area", d="".join(area), fill=colour),
        tag("path", class_="curve", d="".join(curve), stroke=colour),
    ]


def _runs(values: Sequence[float | None]) -> list[tuple[int, list[float]]]:
    """Stretches that are known: (first place, values)."""
    found: list[tuple[int, list[float]]] = []
    open_now = False
    for place, value in enumerate(values):
        if value is None:
            open_now = False
        elif open_now:
            found[-1][1].append(value)
        else:
            found.append((place, [value]))
            open_now = True
    return found


def _bars(heights: Sequence[float | None], colour: str) -> list[Html]:
    bars = "".join(
        f"M{place:g} {HEIGHT:g}V{HEIGHT - one:.2f}H{place + 1:g}V{HEIGHT:g}Z"
        for place, one in enumerate(heights)
        if one is not None
    )
    return [tag("path", d=bars, fill=colour, stroke=colour, class_="bars", vector_effect="non-scaling-stroke")]
