"""Memory of a node as one bar: who holds it, and what is left."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from dash import html
from dash.development.base_component import Component

from dashboard.components.latest import Latest, number_cell
from telemetry import formatting
from telemetry.catalog import gpu, memory
from telemetry.model import Metric, Unit


@dataclass(frozen=True, slots=True)
class Segment:
    """Part of a bar: bytes, and the colour of the theme it is drawn in."""

    label: str
    size: float
    colour: str


HOLDERS: tuple[tuple[str, Metric, str], ...] = (
    ("Driver pool and other", memory.MEMORY_DRIVER_RETAINED, "memory-2"),
    ("Processes", memory.MEMORY_ANONYMOUS, "memory-3"),
    ("Shared", memory.MEMORY_SHMEM, "memory-4"),
    ("Kernel", memory.MEMORY_KERNEL, "memory-5"),
    ("Huge pages", memory.HUGEPAGES_TOTAL, "memory-5"),
    ("Page cache", memory.MEMORY_CACHED, "memory-6"),
    ("Free", memory.MEMORY_FREE, "memory-free"),
)
"""What the bar is made of after CUDA's part, from what cannot be given back to what is free."""


def segments(latest: Latest, has_gpu: bool = True) -> list[Segment]:
    """Parts of the node's memory, only those that are known and not empty; in all at most MemTotal.

    CUDA's part is the unattributed memory less what the driver only retains; where that is not known, all of it.
    On a machine without a GPU nobody can say whose it is.
    """
    unattributed = latest.value(memory.MEMORY_UNATTRIBUTED)
    retained = latest.value(memory.MEMORY_DRIVER_RETAINED) or 0.0
    holder = "CUDA" if has_gpu else "Other"
    parts = [] if unattributed is None else [Segment(holder, max(unattributed - retained, 0.0), "memory-1")]
    for label, metric, colour in HOLDERS:
        size = latest.value(metric)
        if size is not None:
            parts.append(Segment(label, size, colour))
    return [part for part in parts if part.size > 0]


def gpu_segments(latest: Latest) -> list[Segment]:
    """Memory of GPUs that have their own; empty on a unified node."""
    used, total = latest.value(gpu.GPU_MEMORY_USED), latest.value(gpu.GPU_MEMORY_TOTAL)
    if used is None or total is None:
        return []
    return [Segment("Used", used, "memory-1"), Segment("Free", max(total - used, 0.0), "memory-free")]


def bar(parts: Sequence[Segment], total: float | None, label: str) -> Component:
    """The stacked bar with its legend. Parts of an unknown total are shown as shares of their sum."""
    whole = max(total or 0.0, sum(part.size for part in parts))
    if whole <= 0:
        return html.P("not known", className="note")
    pieces = [
        html.Span(
            "",
            style={"width": f"{100 * part.size / whole:.2f}%", "background": f"var(--{part.colour})"},
            title=f"{part.label} {formatting.text(part.size, Unit.BYTES)}",
        )
        for part in parts
    ]
    legend = [
        html.Li([html.Span("", className="dot", style={"background": f"var(--{part.colour})"}), part.label, " ",
                 number_cell(part.size, Unit.BYTES)])
        for part in parts
    ]  # fmt: skip
    text = ", ".join(f"{part.label} {formatting.text(part.size, Unit.BYTES)}" for part in parts)
    strip = html.Div(pieces, className="bar-stack", role="img", **{"aria-label": f"{label}: {text}"})
    return html.Div([strip, html.Ul(legend, className="bar-legend")], className="memory")


def memory_bars(latest: Latest, has_gpu: bool = True) -> Component:
    """Bars of the machine's memory and, where there is one, of the GPUs' own."""
    why = latest.why_not(memory.MEMORY_TOTAL)
    if why and not segments(latest, has_gpu):
        return html.P(f"Not known: {why}.", className="note")
    own = gpu_segments(latest)
    bars = [bar(segments(latest, has_gpu), latest.value(memory.MEMORY_TOTAL), "Memory")]
    if own:
        bars += [html.H3("GPU memory"), bar(own, latest.value(gpu.GPU_MEMORY_TOTAL), "GPU memory")]
    return html.Div(bars)
