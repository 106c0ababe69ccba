"""A number of a run by every door that tells it: page, API, CSV, report, list, and the summary itself."""

from __future__ import annotations

import csv
import io
import json
from collections.abc import Callable, Mapping
from dataclasses import dataclass, field
from html.parser import HTMLParser

from pipeline.digest import subject_of
from runs.entries import Section
from runs.model import Run
from runs.reader import StoreReader
from runs.summary import summarise
from storage.store import Store
from telemetry import formatting
from telemetry.model import Unit

Get = Callable[[str], bytes]
"""Body of an address below the root."""
Place = tuple[str, str, str]
"""Section, key, of."""
LATENCY = "latency"
"""The section that the report shows as a matrix."""


def query(start: int, end: int) -> str:
    return f"start={start}&end={end}"


def text(value: float | None, unit: str, relation: str = "=") -> str:
    """As people read it, by the one formatter."""
    sign = "" if relation == "=" else f"{relation} "
    return sign + formatting.text(value, Unit(unit)).replace("\u00a0", " ")


def by_summary(store: Store, run: Run, start: int, end: int) -> dict[Place, tuple[float | None, str]]:
    """(value, text) of every number, from the store alone."""
    found = summarise(subject_of(store, run, start, end), StoreReader(store))
    return {
        (section.key, one.key, one.of): (one.value, text(one.value, one.unit.value, one.relation))
        for section in found
        for one in section.entries
    }


def by_api(get: Get, number: int, start: int, end: int) -> dict[Place, float | None]:
    told = json.loads(get(f"api/v1/runs/{number}?{query(start, end)}"))["summary"]
    sections = [Section.from_json(one) for one in told]
    return {(section.key, one.key, one.of): one.value for section in sections for one in section.entries}


def by_csv(get: Get, number: int, start: int, end: int) -> dict[Place, float | None]:
    body = get(f"api/v1/runs/{number}/summary.csv?{query(start, end)}").decode()
    return {
        (one["section"], one["key"], one["of"]): float(one["value"]) if one["value"] else None
        for one in csv.DictReader(io.StringIO(body))
    }


@dataclass
class Cells(HTMLParser):
    """Rows of tables: texts and attributes of their cells; and the heading in front of each."""

    rows: list[tuple[str, list[str], list[Mapping[str, str | None]]]] = field(default_factory=list)
    heading: str = ""

    def __post_init__(self) -> None:
        super().__init__()
        self._inside: list[str] = []

    def handle_starttag(self, tag: str, attrs: list[tuple[str, str | None]]) -> None:
        """A heading, a row or a cell begins."""
        if tag in ("h2", "h3"):
            self.heading = ""
        elif tag == "tr":
            self.rows.append((self.heading, [], []))
        elif tag in ("td", "th") and self.rows:
            self.rows[-1][1].append("")
            self.rows[-1][2].append(dict(attrs))
        if tag in ("h2", "h3", "td", "th", "p"):
            self._inside.append(tag)

    def handle_endtag(self, tag: str) -> None:
        """And ends."""
        if self._inside and self._inside[-1] == tag:
            self._inside.pop()

    def handle_data(self, data: str) -> None:
        """A definition's paragraph belongs to no cell."""
        if not self._inside or self._inside[-1] == "p":
            return
        if self._inside[-1] in ("h2", "h3"):
            self.heading += data
        elif self.rows and self.rows[-1][1]:
            self.rows[-1][1][-1] += data.replace("\u00a0", " ")


def read(body: bytes) -> Cells:
    found = Cells()
    found.feed(body.decode())
    return found


def by_page(get: Get, number: int, start: int, end: int) -> dict[tuple[str, str], str]:
    """Text of every number but those of single nodes, by the labels of section and entry."""
    asked = f"run={number}&{query(start, end)}"
    rows = read(get(f"fragment/run-more?{asked}")).rows
    for section in json.loads(get(f"api/v1/runs/{number}?{query(start, end)}"))["summary"]:
        each = read(get(f"fragment/run-each?section={section['key']}&{asked}")).rows  # behind a click, without heading
        rows += [(section["label"], texts, attributes) for _, texts, attributes in each]
    return {(heading, texts[0].strip()): " ".join(texts[1].split()) for heading, texts, _ in rows if len(texts) > 1}


def by_report(get: Get, number: int) -> dict[tuple[str, str], tuple[float, str]]:
    """(value, text) of what the report of the whole run shows, by "section.key" and of."""
    cells = read(get(f"api/v1/runs/{number}/report.html"))
    found = {}
    for _, texts, attributes in cells.rows:
        for shown, own in zip(texts, attributes, strict=True):
            key, value = own.get("data-key"), own.get("data-value")
            if key and value:
                found[key, own.get("data-of") or ""] = (float(value), " ".join(shown.split()))
    return found
