"""`verify`: every number of the store is read, and what is damaged is named; beside a collector that goes on."""

from __future__ import annotations

from collections.abc import Mapping
from datetime import UTC, datetime
from functools import partial
from typing import Any

import orjson

from cli.progress import Line
from cli.words import say
from settings import Settings
from storage import schema
from storage.errors import StoreError
from storage.verify import Report, verify_at
from storage.verify_hour import Fault

BROKEN = 1
REFUSED = 2


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when everything is as it should be, 1 when something is broken, 2 when the store cannot be opened."""
    line = Line()
    try:
        report = verify_at(settings.store, partial(line.tell, "verified"))
    except StoreError as error:
        line.end()
        say(*str(error).splitlines(), error=True)
        return REFUSED
    finally:
        line.end()
    if options.get("json"):
        print(orjson.dumps(as_json(report)).decode())
    else:
        say(*(f"{fault.kind}: {fault.text}" for fault in report.faults), summary(report))
    return BROKEN if report.faults else 0


def summary(report: Report) -> str:
    """What was looked at, and whether it is whole."""
    looked = f"{report.hours:,} sealed hours, {report.chunks:,} chunks, {report.rows:,} rows"
    if report.version != schema.VERSION:
        looked += f"; of version {report.version} of the tables, which the collector brings to {schema.VERSION}"
    if not report.faults:
        return f"sound: {looked}"
    return f"{len(report.faults)} faults; all else is readable: {looked}"


def as_json(report: Report) -> dict[str, Any]:
    """The report for scripts: {ok, version, hours, chunks, rows, faults}, a fault {kind, text, target, metric, labels,
    hour}."""
    return {
        "ok": not report.faults,
        "version": report.version,
        "hours": report.hours,
        "chunks": report.chunks,
        "rows": report.rows,
        "faults": [_fault(fault) for fault in report.faults],
    }


def _fault(fault: Fault) -> dict[str, Any]:
    series = fault.series
    hour = None if fault.hour is None else f"{datetime.fromtimestamp(fault.hour / 1000, UTC):%FT%TZ}"
    return {
        "kind": fault.kind,
        "text": fault.text,
        "target": fault.target,
        "metric": None if series is None else series.metric,
        "labels": None if series is None else dict(series.labels),
        "hour": hour,
    }
