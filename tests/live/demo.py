"""The demo as a user starts it, and what its doors that know only now say at a moment, each with the tick it is of."""

from __future__ import annotations

import json
import signal
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from html.parser import HTMLParser
from pathlib import Path
from typing import Any

from storage.store import Store, open_store
from tests.cli.test_end_to_end import get, started

NODES, INTERVAL_S = 2, 2
PATIENCE_S, WHOLE_S = 120.0, 900.0
TRIES = 40
Drawn = Callable[[], Mapping[str, str]]
"""Text of each cell of the cluster page, as the browser shows it."""
Entry = dict[str, Any]


@dataclass(frozen=True)
class Moment:
    """What was said at about one moment.

    tick: the newest that any of it is of. latest: entries of /latest with their ticks, by node asked for, "" for all.
    cells: text of the first screen by key, of `cells_tick`; drawn: as the browser shows them, None without one.
    readings: text on the node's page by node, metric's label and labels, with the entry of /latest of the same tick.
    """

    tick: int
    latest: Mapping[str, list[Entry]]
    cells: Mapping[str, str]
    cells_tick: int
    drawn: Mapping[str, str] | None
    readings: Mapping[tuple[str, str, str], tuple[str, Entry]]


@dataclass
class Demo:
    """A running demo."""

    url: str
    store: Store

    def get(self, path: str) -> Any:
        """JSON of an API route."""
        status, body = get(f"{self.url}api/v1/{path}")
        assert status == 200, body[:300]
        return json.loads(body)

    def nodes(self) -> list[str]:
        """Names of the nodes."""
        return [target.name for target in self.store.targets() if target.kind == "node"]

    def wait(self, condition: Callable[[], object], what: str) -> None:
        """Wait until it holds."""
        deadline = time.monotonic() + PATIENCE_S
        while not condition():
            assert time.monotonic() < deadline, what
            time.sleep(0.1)

    def ticks(self) -> list[int]:
        """Ticks of all rows of the first node."""
        return [row.tick for row in self.store.rows(targets=self.nodes()[:1])]

    def moment(self, drawn: Drawn | None) -> Moment:
        """Ask every door that knows only now; returns once the ticks concerned are past."""
        latest = {name: self.get(f"latest?node={name}" if name else "latest")["values"] for name in ("", *self.nodes())}
        readings = {key: found for node in self.nodes() for key, found in self._readings(node).items()}
        cells_tick, cells, shown = self._first_screen(drawn)
        told = [one["t"] for entries in latest.values() for one in entries if one["t"] is not None]
        told += [entry["t"] for _, entry in readings.values() if entry["t"] is not None]
        tick = max(cells_tick, *told)
        self.wait(lambda: max(self.ticks()) > tick + 5000, "the demo goes on")
        return Moment(tick, latest, cells, cells_tick, shown, readings)

    def _readings(self, node: str) -> dict[tuple[str, str, str], tuple[str, Entry]]:
        """A node's page and the values of the same tick: asked before and after it."""
        for _ in range(TRIES):
            before = self.get(f"latest?node={node}")["values"]
            html = get(f"{self.url}fragment/node-readings?node={node}")[1].decode()
            if before != self.get(f"latest?node={node}")["values"]:
                continue
            rows = _rows(html)
            assert len(rows) == len(before), "one row of the page for each value"
            return {
                (node, label, labels): (text, entry)
                for (label, labels, text, _), entry in zip(rows, before, strict=True)
            }
        raise AssertionError("no page was read between two ticks: the machine is too busy")

    def _first_screen(self, drawn: Drawn | None) -> tuple[int, Mapping[str, str], Mapping[str, str] | None]:
        """Tick and cells of the first screen as sent, and as drawn while they were the newest."""
        for _ in range(TRIES):
            sent = self.get("live?minutes=0")
            cells = {key: _spaced(*cell[:2]) for key, cell in sent["cells"].items()}
            shown = None if drawn is None else drawn()
            if shown is None or all(cells.get(key, text) == text for key, text in shown.items()):
                return int(sent["tick"]), cells, shown
        raise AssertionError(f"the browser does not show what it is sent: {cells} {shown}")


def _spaced(number: str, unit: str) -> str:
    return " ".join(part for part in (number, unit.removesuffix("mean").strip()) if part)


@dataclass
class _Table(HTMLParser):
    """Texts of a table's cells, row by row."""

    rows: list[list[str]] = field(default_factory=list)

    def __post_init__(self) -> None:
        super().__init__()
        self._inside = False

    def handle_starttag(self, tag: str, _attrs: list[tuple[str, str | None]]) -> None:
        """A row or a cell begins."""
        if tag == "tr":
            self.rows.append([])
        elif tag in ("td", "th"):
            self.rows[-1].append("")
            self._inside = True

    def handle_endtag(self, tag: str) -> None:
        """A cell ends."""
        self._inside = self._inside and tag not in ("td", "th")

    def handle_data(self, data: str) -> None:
        """Text, which counts inside of cells."""
        if self._inside:
            self.rows[-1][-1] += data.replace("\u00a0", " ")


def _rows(html: str) -> list[list[str]]:
    table = _Table()
    table.feed(html)
    return table.rows[1:]


@contextmanager
def running(folder: Path) -> Iterator[Demo]:
    """The demo in a folder of its own, until the block ends."""
    path = folder / "demo.db"
    flags = ["--nodes", str(NODES), "--port", "0", "--seed", "11", "--interval", str(INTERVAL_S), "--store", str(path)]
    environment = {"TMPDIR": str(folder), "XDG_STATE_HOME": str(folder / "state"), "TACHOGRAPH_CONFIG": ""}
    with started(["demo", *flags], environment, WHOLE_S) as process:
        url = process.until(r"Open (http://\S+) in a browser").group(1)
        store = open_store(str(path), writer=False, now_ms=0)
        try:
            demo = Demo(url, store)
            demo.wait(lambda: len(demo.nodes()) == NODES, "both nodes are known")
            yield demo
        finally:
            store.close()
        assert process.stop(signal.SIGTERM) == 0
