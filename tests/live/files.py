"""A question's answer as a file: the CSV door."""

from __future__ import annotations

import csv
import io
from collections.abc import Mapping
from datetime import datetime
from urllib.parse import urlencode

from tests.cli.test_end_to_end import get

COLUMNS = {"v": "value", "min": "min", "max": "max", "mean": "mean", "last": "last"}
"""List of an answer of the API → column of a file with a row per value."""

Labels = tuple[tuple[str, str], ...]
Known = dict[Labels, dict[str, dict[int, float]]]
"""Values that are known, by labels, list and instant."""


def of_file(url: str, query: Mapping[str, object]) -> Known:
    """What an export of the same question holds."""
    status, body = get(f"{url}api/v1/export.csv?{urlencode({**query, 'layout': 'long'})}")
    assert status == 200, body[:300]
    rows = csv.DictReader(io.StringIO(body.decode()))
    head = list(rows.fieldnames or ())
    names = head[head.index("unit") + 1 : head.index("value" if "value" in head else "min")]
    found: Known = {}
    for row in rows:
        at = round(datetime.fromisoformat(row["time"]).timestamp() * 1000)
        mine = found.setdefault(tuple((name, row[name]) for name in names if row[name]), {})
        for key, column in COLUMNS.items():
            if row.get(column):
                mine.setdefault(key, {})[at] = float(row[column])
    return {labels: mine for labels, mine in found.items() if mine}


def of_answer(lines: Mapping[Labels, Mapping[str, list[float | None]]]) -> Known:
    """What an answer of the API holds."""
    found: Known = {}
    for labels, line in lines.items():
        for key in COLUMNS.keys() & line.keys():
            known = {
                int(at): value
                for at, value in zip(line["t"], line[key], strict=True)
                if value is not None and at is not None
            }
            if known:
                found.setdefault(tuple((name, text) for name, text in labels if text), {})[key] = known
    return found
