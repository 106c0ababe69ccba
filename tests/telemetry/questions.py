"""Questions to frames, and their answers as plain numbers."""

from __future__ import annotations

from telemetry.frame import Frame
from telemetry.model import Metric, Ratio, Series
from telemetry.near import answer
from telemetry.query import Line, Query
from tests.telemetry.frames import START_MS, numbers


def one(metric: Metric, target: str = "n1", **labels: str) -> Series:
    return Series(target, metric.name, tuple(sorted(labels.items())))


def ask(metric: Metric | Ratio, frame: Frame, start_s: float = 0, end_s: float = 1e6, **more: object) -> list[Line]:
    start, end = START_MS + round(start_s * 1000), START_MS + round(end_s * 1000)
    return answer(Query(metric, start, end, **more), frame)  # type: ignore[arg-type]


def plain(lines: list[Line]) -> list[tuple[dict[str, str], list[float | None]]]:
    assert all(line.values is not None for line in lines)
    return [(dict(line.labels), numbers(line.values)) for line in lines]  # type: ignore[arg-type]
