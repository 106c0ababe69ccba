"""The metrics page: Prometheus text format 0.0.4, written by hand because a library would double the agent's memory."""

from __future__ import annotations

from collections.abc import Iterable

from collectors.node.figures import believable
from collectors.node.reading import Sample
from telemetry.catalog import METRICS, WIRE_PREFIX
from telemetry.model import Kind, Metric, Scope

CONTENT_TYPE = "text/plain; version=0.0.4; charset=utf-8"
MOST_PREFIXES = 5000
EXACT = 2.0**53


def escape_help(text: str) -> str:
    """HELP text with backslash and line feed escaped."""
    return text.replace("\\", "\\\\").replace("\n", "\\n")


def escape_label(text: str) -> str:
    """Label value with backslash, line feed and quote escaped."""
    return escape_help(text).replace('"', '\\"')


def header(metric: Metric) -> str:
    """HELP and TYPE lines; a state is a gauge to Prometheus, with its codes in the help."""
    help_text, name = metric.help, WIRE_PREFIX + metric.name
    if metric.states:
        help_text += " " + ", ".join(f"{code} {state}" for code, state in enumerate(metric.states)) + "."
    kind = "counter" if metric.kind is Kind.COUNTER else "gauge"
    return f"# HELP {name} {escape_help(help_text)}\n# TYPE {name} {kind}\n"


FAMILIES = {
    metric.name: header(metric) for metric in METRICS if isinstance(metric, Metric) and metric.scope is Scope.NODE
}
"""In the order of the page."""


def prefix(metric: Metric, labels: tuple[str, ...]) -> str:
    """What stands before the number."""
    pairs = ",".join(f'{name}="{escape_label(value)}"' for name, value in zip(metric.by, labels, strict=True))
    return f"{WIRE_PREFIX}{metric.name}{{{pairs}}} " if pairs else f"{WIRE_PREFIX}{metric.name} "


def number(value: float) -> str:
    """Shortest text that reads back as the same number; whole numbers without a point."""
    if isinstance(value, float) and (not value.is_integer() or abs(value) >= EXACT):
        return repr(value)
    return str(int(value))


class PageWriter:
    """Writes pages; remembers the text before each number, since series are the same from round to round."""

    def __init__(self) -> None:
        self._prefixes: dict[tuple[str, tuple[str, ...]], str] = {}

    def write(self, samples: Iterable[Sample]) -> bytes:
        """The page of these samples, without numbers that cannot be. A family without a sample has no header either.

        Names of files may hold bytes that are no text: they become question marks.
        """
        lines: dict[str, list[str]] = {}
        if len(self._prefixes) > MOST_PREFIXES:
            self._prefixes.clear()
        for metric, labels, value in samples:
            if not believable(value):
                continue
            key = (metric.name, labels)
            before = self._prefixes.get(key)
            if before is None:
                before = self._prefixes[key] = prefix(metric, labels)
            lines.setdefault(metric.name, []).append(before + number(value))
        parts = [head + "\n".join(lines[name]) + "\n" for name, head in FAMILIES.items() if name in lines]
        return "".join(parts).encode("utf-8", "replace")
