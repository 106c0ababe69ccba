"""`import`: result files of benchmarks, each laid over the run that it measured, or kept apart."""

from __future__ import annotations

import json
from collections.abc import Collection, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.columns import aligned
from cli.console import FAILED, REFUSED, UNHEARD, instant, now_ms, said
from cli.files import whole
from cli.numbers import number
from cli.words import clean, say
from dashboard.api.benchmark_answers import NOTHING, Wish, answers, tried
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.benchmarks import reading
from exchange.benchmarks.beside import apart
from exchange.benchmarks.record import Benchmark
from pipeline.tail import Tail
from settings import Settings
from storage.errors import StoreError
from storage.store import open_store
from telemetry import formatting
from telemetry.model import Unit

LEFT_OUT = ("_std", "_median")
"""Ends the keys of numbers that are in the file and in JSON, and would only make the table long."""
USAGE = "name the result files: import FILE…"


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when all are imported; 1 when a file, the store or the collector says no, 2 where it is not clear to which run
    one belongs, 3 when no collector has carried it out: the largest of them where several are not."""
    files = list(options.get("files") or ())
    try:
        wish = _wish(options)
        if not files:
            raise ValueError(USAGE)
        store = open_store(settings.store, writer=False, now_ms=now_ms())
    except ValueError as error:
        return said(error, REFUSED)
    except StoreError as error:
        return said(error, FAILED)
    try:
        sources = Sources(store, Tail(store), now_ms)
        told = [one for name in files for one in _file(sources, Path(name), wish)]
    except StoreError as error:
        return said(error, FAILED)
    finally:
        store.close()
    shown = [one for one in told if one["error"] is None]
    if options.get("json"):
        print(json.dumps({"results": told}))
    elif shown:
        say(*"\n\n".join(map(lines, shown)).split("\n"))
    complaints(told)
    return max((status(one) for one in told), default=0)


def _file(sources: Sources, path: Path, wish: Wish) -> list[dict[str, Any]]:
    """The results of a file; of one that cannot be read, why. The others are imported all the same."""
    try:
        return imported(sources, path, wish)
    except ValueError as error:
        return [{"file": path.name, **NOTHING, "applied": 0, "error": str(error), "name": "", "result": None}]


def complaints(told: Sequence[Mapping[str, Any]]) -> None:
    """Say why results were not taken."""
    for one in told:
        if one["error"] is not None:
            # A sentence of the collector's does not know of which file it is.
            whose = f"{one['file']}: " if one.get("command") is not None and one["file"] else ""
            said(f"{whose}{one['error']}", FAILED)


def _wish(options: Mapping[str, Any]) -> Wish:
    given = options.get("run")
    run = None if given is None else number(str(given), f"--run: “{given}” is no number of a run")
    return Wish(run, bool(options.get("apart")))


def results(path: Path) -> list[Benchmark]:
    """The results of a file; ValueError with a sentence where there are none."""
    try:
        data = whole(path, reading.MOST_BYTES)
    except OSError as error:
        raise ValueError(f"{path} cannot be read: {error.strerror}") from error
    return reading.read(data, path.name)


def imported(sources: Sources, path: Path, wish: Wish, but: Collection[str] = ()) -> list[dict[str, Any]]:
    """The results of a file, each with what became of it and the engine's numbers beside. but: keys to leave out."""
    numbers = RunNumbers(sources)
    return [_one(sources, numbers, one, wish) for one in results(path) if one.key not in but]


def _one(sources: Sources, numbers: RunNumbers, benchmark: Benchmark, wish: Wish) -> dict[str, Any]:
    head = {"tool": benchmark.tool, "model": benchmark.model, "file": benchmark.file}
    told, _ = tried(sources, numbers, benchmark, wish)
    run = None if told["run"] is None else sources.store.run(told["run"])
    beside = [] if run is None else [one for one in answers(sources, numbers, run) if one["key"] == benchmark.key]
    return {**head, **told, "name": "" if run is None else run.name, "result": beside[0] if beside else None}


def status(told: Mapping[str, Any]) -> int:
    """How a result's import ended."""
    if told["error"] is not None:
        return REFUSED if told["applied"] is None else FAILED
    return UNHEARD if told["applied"] is None else 0


def lines(told: Mapping[str, Any]) -> str:
    """A result as people read it: where it went, and both sides' numbers."""
    if told["applied"] is None:
        return f"{told['file']}: {told['why']}"
    head = f"{clean(told['file'])}: run {told['run']} ({clean(told['name'])}), {told['how']}"
    result = told["result"]
    if result is None:
        return head
    return "\n".join(filter(None, (head, "", table(result), rest(result))))


def table(result: Mapping[str, Any]) -> str:
    """The numbers of both sides, and how far they are apart."""
    rows = [("", "Client", "Engine", "Apart")]
    for one in result["beside"]:
        rows.append((one["label"], shown(one["client"]), shown(one["server"]), apart(one["difference"])))
    if len(rows) == 1:
        return ""
    told = result["engine"]
    known = told is not None and any(one["server"] is not None for one in result["beside"])
    of = [f"Engine: of {told['of']}, {instant(told['start'])} to {instant(told['end'])}"] if known else []
    return "\n".join([aligned(rows), *of])


def rest(result: Mapping[str, Any]) -> str:
    """What only the client tells."""
    told = [one for one in result["rest"] if not one["key"].endswith(LEFT_OUT)]
    return aligned([(_label(one), shown(one), one.get("note", "")) for one in told])


def _label(entry: Mapping[str, Any]) -> str:
    return f"{entry['of']}: {entry['label']}" if entry.get("of") else str(entry["label"])


def shown(entry: Mapping[str, Any] | None) -> str:
    """A number with its unit; a dash where there is none."""
    if entry is None:
        return formatting.UNKNOWN_TEXT
    sign = "" if entry.get("relation", "=") == "=" else f"{entry['relation']} "
    return sign + formatting.text(entry["value"], Unit(entry["unit"]))


def shown_all(entries: Sequence[Mapping[str, Any]]) -> str:
    """Numbers of the engine, one per line."""
    return aligned([(str(one["label"]), shown(one), str(one.get("note", ""))) for one in entries])
