"""What comes from outside: results of benchmarks laid over a run or kept as one, and runs of other installations. Pure.

A run that came from outside has no samples here: its numbers are what came with it, and its deployment has a name that
none of ours can have, so that it is never part of what our own are compared with.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from exchange.benchmarks.match import LATE_MS
from exchange.benchmarks.record import PART, Benchmark
from exchange.bundle import Bundle, origin_part
from pipeline.digest import SPARK, course
from runs.client import sections
from runs.model import Mark, Run
from storage.records import RunPart

RESULT, MOVE, BUNDLE = "benchmark", "move", "bring"
"""Kinds of orders."""
NEEDS_SAMPLES = frozenset({"trim", "nodes", "pin", "baseline", "merge", "split", "annotate"})
WITHOUT = "this run has no samples here: {}"
WHY = {"benchmark": "it is a benchmark's result", "foreign": "it came from another installation"}


@dataclass(frozen=True)
class Brought:
    """A run as it is kept, with its parts and marks."""

    run: Run
    parts: tuple[RunPart, ...]
    marks: tuple[Mark, ...] = ()


def refusal(run: Run, kind: str) -> str:
    """Why an order about a run cannot be carried out, "" where it can: what came from outside stays as it came."""
    if kind == MOVE and run.by == "foreign":
        return "what came with a run of another installation stays with it"
    return WITHOUT.format(WHY[run.by]) if run.by in WHY and kind in NEEDS_SAMPLES else ""


def result_part(run: int, record: Mapping[str, Any]) -> RunPart:
    """A result as a part of a run. The same result again takes the place of itself."""
    benchmark = Benchmark.from_json(record)
    return RunPart(run, PART + benchmark.key, 0, benchmark.to_json())


def result_run(number: int, order: Mapping[str, Any], tick: int) -> Brought:
    """A run of which a client's result is all that there is; ValueError for one that is not over yet."""
    benchmark = Benchmark.from_json(order["record"])
    start, end = order["start_ms"], order["end_ms"]
    if start is None or end is None or end < start:
        raise ValueError("name the start and the end of the result")
    if end > tick + LATE_MS:
        raise ValueError("it says that it ended in the future: the client's clock is ahead of this machine's")
    run = Run(
        number,
        f"{PART}{benchmark.model or benchmark.tool}",
        f"{benchmark.tool} #{number}",
        start,
        end,
        began=f"imported from {benchmark.file}" if benchmark.file else "imported",
        ended="as its file tells",
        by="benchmark",
        model=benchmark.model,
    )
    told = sections(benchmark.entries)
    parts = {
        "summary": {
            "start": start,
            "end": end,
            "cut": "",
            "sections": [one.to_json() for one in told],
            "why": "a benchmark's result without telemetry: these are the client's numbers, and nothing else is known",
        },
        "headline": {f"{part.key}.{one.key}": one.value for part in told for one in part.entries},
        "fingerprint": [],
        "events": [],
        PART + benchmark.key: benchmark.to_json(),
    }
    return Brought(run, tuple(RunPart(number, kind, 0, value) for kind, value in parts.items()))


def bundle_run(number: int, order: Mapping[str, Any], tick: int) -> Brought:
    """A run of another installation as it is kept here. Its order was checked when it was read, so no tick waits."""
    bundle = Bundle.checked(order["bundle"])
    parts = {**bundle.kept, origin_part(order["bundle"]["key"]): {**bundle.origin, "imported": tick}}
    run = bundle.run(number)
    if "charts" in parts:
        parts[SPARK] = course(parts["charts"], run.stretch)
    kept = tuple(RunPart(number, kind, 0, value) for kind, value in parts.items())
    return Brought(run, kept, bundle.marks)
