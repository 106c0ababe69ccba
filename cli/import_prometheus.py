"""`import-prometheus`: a stretch of what a Prometheus-compatible server holds, as whole hours of the store."""

from __future__ import annotations

import sys
from collections import Counter
from collections.abc import Iterable, Mapping
from datetime import UTC, datetime
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

from cli.console import FAILED, REFUSED, now_ms, said
from cli.files import text_of
from cli.words import clean, say
from dashboard.api.parameters import ParameterError, instant_ms
from exchange.prometheus import work
from exchange.prometheus.client import Source
from exchange.prometheus.scrapes import Found, host_of, name_of
from exchange.prometheus.transport import SourceError
from exchange.prometheus.work import AHEAD, EMPTY, HELD, IMPORTED, OLDER, Outcome, Range
from pipeline.ingest import Ingest
from settings import Settings
from settings.forms import RefusedError, entry_name
from storage.errors import StoreError, StoreTaken
from storage.imports import Imports
from storage.store import Store, open_store, refuse_claimed

DEFAULT_START = "-24h"
"""What is imported where no start is given."""
BUSY_MS = 30_000
"""So long an hour waits for the store: it is in no hurry, unlike a collector."""
HOUR = "%Y-%m-%d %H:%MZ"
GOES_ON = "What is imported stays; the same command goes on there."
SAID = {
    IMPORTED: "imported",
    HELD: "refused: the store has something in these hours already",
    OLDER: "refused: the same target has begun to be recorded meanwhile; run it again, under another name",
    EMPTY: "empty at the source",
}


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when everything that could be imported is; 2 for what cannot be asked so; 1 when the source or the store says
    no: what is written until then stays, and the same command goes on there."""
    try:
        names = {**_configured(settings), **_mapped(options.get("map", []))}
        now = now_ms()
        wanted = _range(options, now)
        source = Source(options["url"], _token(options.get("token_file")))
    except (ParameterError, ValueError, OSError, SourceError) as error:
        return said(error, REFUSED)
    try:
        found = work.discover(source, wanted, lambda instance, kind: name_of(instance, kind, names), refusal)
        _tell(found, wanted)
        if options.get("dry_run"):
            return _count(source, found, wanted)
        store = _open(settings.store, now)
        try:
            return _import(source, store, found, wanted)
        finally:
            store.close()
    except (SourceError, StoreError) as error:
        return said(error, FAILED)
    finally:
        source.close()


def _open(url: str, now_ms: int) -> Store:
    """The store, made if there is none; beside a collector, which makes and migrates it, as one of its users."""
    try:
        refuse_claimed(url)
    except StoreTaken:
        return open_store(url, writer=False, now_ms=now_ms, busy_ms=BUSY_MS)
    return open_store(url, writer=True, now_ms=now_ms, busy_ms=BUSY_MS)


def _import(source: Source, store: Store, found: Found, wanted: Range) -> int:
    progress = Progress(len(wanted.hours()) * len({scrape.target for scrape in found.scrapes}))
    try:
        for outcome in work.run(source, Imports(store), found.scrapes, wanted, Ingest):
            progress.tell(outcome)
    except (SourceError, StoreError) as error:
        return said(f"{error}\n{GOES_ON}", FAILED)
    finally:
        progress.done()
    return 0


def _count(source: Source, found: Found, wanted: Range) -> int:
    for scrape in found.scrapes:
        hours = work.counted(source, scrape, wanted)
        say(f"  {scrape.target}: {len(hours)} of {len(wanted.hours())} hours, {sum(hours.values()):,} samples")
    say("nothing was written (--dry-run)")
    return 0


def _tell(found: Found, wanted: Range) -> None:
    say(f"{len(wanted.hours())} whole hours, from {_hour(wanted.start)} to {_hour(wanted.end)}")
    for scrape in found.scrapes:
        say(f"  {scrape.target}: {scrape.kind}, {len(scrape.families)} metrics, from {scrape.place}")
    for problem in found.problems:
        say(f"  left out: {problem}")
    if not found.scrapes:
        say("  there is nothing in it that we know")


def _range(options: Mapping[str, Any], now_ms: int) -> Range:
    start = instant_ms("start", options.get("start", DEFAULT_START), now_ms)
    end = instant_ms("end", options.get("end", "now"), now_ms)
    wanted = work.whole_hours(start, end, now_ms)
    if not len(wanted.hours()):
        raise ValueError("there is no whole hour in this range that has been over for five minutes")
    return wanted


def _configured(settings: Settings) -> dict[str, str]:
    """Names that the settings give to addresses: hosts of nodes, and addresses of engines."""
    nodes = {host_of(address): name for name, address in settings.nodes.items() if name != urlsplit(address).netloc}
    return {**nodes, **{urlsplit(address).netloc: name for name, address in settings.engines.items()}}


def _mapped(entries: Iterable[str]) -> dict[str, str]:
    found = {}
    for entry in entries:
        instance, equals, name = str(entry).rpartition("=")
        if not equals or not instance:
            raise ValueError(f"--map: {entry!r} is wrong, expected INSTANCE=NAME")
        if why := refusal(name):
            raise ValueError(f"--map: {name!r} is wrong, expected {why}")
        found[instance] = name
    return found


def refusal(name: str) -> str:
    """Why something cannot be called so, by the rule of the settings; "" where it can."""
    try:
        entry_name(name)
    except RefusedError as refused:
        return str(refused.wrong[0][1])
    return ""


def _token(path: object) -> str | None:
    return None if path is None else text_of(Path(str(path))).strip()


def _hour(t_ms: int) -> str:
    return datetime.fromtimestamp(t_ms / 1000, UTC).strftime(HOUR)


class Progress:
    """How far an import is: on a terminal a line that changes, and at the end what became of all hours."""

    def __init__(self, total: int) -> None:
        self._total = total
        self._hours: Counter[str] = Counter()
        self._targets: dict[str, Counter[str]] = {}
        self._samples = 0

    def tell(self, outcome: Outcome) -> None:
        """One more hour."""
        if outcome.what != AHEAD:
            self._hours[outcome.what] += 1
            self._targets.setdefault(outcome.target, Counter())[outcome.what] += 1
            self._samples += outcome.samples
        if sys.stderr.isatty():
            done = sum(self._hours.values())
            text = (
                f"{done:,} of {self._total:,} hours, {self._samples:,} samples; {outcome.target} {_hour(outcome.hour)}"
            )
            print(f"\r{clean(text):<100}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        """What became of everything."""
        if sys.stderr.isatty():
            print(file=sys.stderr)
        for target, hours in self._targets.items():
            for what, text in SAID.items():
                if hours[what]:
                    say(f"  {target}: {hours[what]} hours {text}")
        say(f"{self._hours[IMPORTED]:,} hours imported, {self._samples:,} samples")
