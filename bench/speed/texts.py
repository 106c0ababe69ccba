"""The same values as ours, as text that others read: series by series, piece of time by piece of time."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

import numpy as np
import orjson

from bench.speed.workload import POWER, Hour, Size, Target, end_ms, targets
from telemetry.frame import Floats, Ints
from telemetry.model import Series
from telemetry.summary import HOUR_MS

ROLLUP_MS = 600_000
ROLLUPS = {"min": np.minimum, "max": np.maximum, "avg": np.add}
"""What a recording rule would keep of every ten minutes of POWER."""


@dataclass(frozen=True)
class Part:
    """Some samples of one series. metric: its name there. labels: with the target as `target`."""

    metric: str
    labels: Mapping[str, str]
    at_ms: Ints
    values: Floats


def everything(size: Size, per_piece_ms: int) -> Iterator[tuple[int, list[Part]]]:
    """(start, parts) of each piece of the history of everything, with what recording rules would make of it."""
    return _pieces(targets(size), size.first_ms, end_ms(), per_piece_ms)


def days(size: Size, per_piece_ms: int) -> Iterator[tuple[int, list[Part]]]:
    """The same of the days of one metric."""
    return _pieces(
        [one.only(POWER) for one in targets(size)[: size.nodes]], size.before_ms, size.first_ms, per_piece_ms
    )


def _pieces(cluster: list[Target], first: int, end: int, length: int) -> Iterator[tuple[int, list[Part]]]:
    streams = [one.hours(first, end) for one in cluster]
    at: int | None = None
    parts: list[Part] = []
    for hours in zip(*streams, strict=True):
        start = hours[0].start // length * length
        if at is not None and start != at:
            yield at, parts
            parts = []
        at = start
        for one, hour in zip(cluster, hours, strict=True):
            parts += _of_hour(one, hour)
    if at is not None:
        yield at, parts


def _of_hour(one: Target, hour: Hour) -> Iterator[Part]:
    for series, values in zip(one.series, hour.values, strict=True):
        yield Part(series.metric, labels_of(series), hour.ticks, values)
        if series.metric == POWER:
            yield from _rolled_up(series, hour, values)


def _rolled_up(series: Series, hour: Hour, values: Floats) -> Iterator[Part]:
    """Ten minutes each, at the instant at which the rule would have looked back over them; whole ones only."""
    per_step = ROLLUP_MS // 1000
    whole = len(values) // per_step
    edges = np.arange(whole) * per_step
    at_ms = hour.start + (np.arange(whole, dtype=np.int64) + 1) * ROLLUP_MS
    for name, fold in ROLLUPS.items():
        folded = fold.reduceat(values[: whole * per_step], edges)
        inside = at_ms < hour.start + HOUR_MS  # the last instant belongs to the next piece; a rule is as late itself
        at = np.where(inside, at_ms, at_ms - 1)
        yield Part(f"{series.metric}:{name}10m", labels_of(series), at, folded / per_step if name == "avg" else folded)


def labels_of(series: Series) -> dict[str, str]:
    """Labels, with the target among them."""
    return {"target": series.target, **dict(series.labels)}


def openmetrics(part: Part, stamps: list[bytes]) -> bytes:
    """Lines of a part. stamps: its instants as texts of seconds."""
    labels = ",".join(f'{name}="{value}"' for name, value in part.labels.items())
    head = f"{part.metric}{{{labels}}} ".encode()
    numbers = orjson.dumps(part.values, option=orjson.OPT_SERIALIZE_NUMPY)[1:-1].split(b",")
    return b"".join([b"%b%b %b\n" % (head, number, stamp) for number, stamp in zip(numbers, stamps, strict=True)])


def stamps(at_ms: Ints) -> list[bytes]:
    """Instants as seconds."""
    return [b"%d.%03d" % divmod(one, 1000) for one in at_ms.tolist()]


def jsonline(part: Part) -> bytes:
    """A part as a line of VictoriaMetrics' own import."""
    line = {
        "metric": {"__name__": part.metric, **part.labels},
        "values": part.values,
        "timestamps": part.at_ms,
    }
    return orjson.dumps(line, option=orjson.OPT_SERIALIZE_NUMPY | orjson.OPT_APPEND_NEWLINE)
