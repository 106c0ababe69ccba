"""The page: what was measured, against what must be reached and what one dreams of."""

from __future__ import annotations

import os
import platform
import re
import sqlite3
import subprocess
from collections.abc import Mapping, Sequence
from datetime import UTC, datetime
from importlib.metadata import version
from pathlib import Path
from typing import Any

from bench.speed.asked import ROWS, Goal

PAGE = Path("docs/performance.md")
HEAD = "# What it costs: figures\n"
DPKG = ("dpkg-query", "-W", "-f", "${Version}")
PEERS = ("Prometheus", "VictoriaMetrics")
Results = Mapping[str, Any]


def write(name: str, text: str, page: Path = PAGE) -> None:
    """Put a generated part between its marks, in place of the one before; the rest of the page stays."""
    begin, end = f"<!-- {name}: begin, written by bench/history.py -->", f"<!-- {name}: end -->"
    whole = page.read_text() if page.exists() else HEAD
    part = f"{begin}\n{text.strip()}\n{end}"
    marked = re.compile(re.escape(begin) + ".*?" + re.escape(end), re.DOTALL)
    page.write_text(marked.sub(lambda _: part, whole) if marked.search(whole) else f"{whole.rstrip()}\n\n{part}\n")


def machine() -> str:
    """On what, when and with what it was measured."""
    model = re.search(r"model name\s*: (.*)", Path("/proc/cpuinfo").read_text())
    name = model.group(1).strip() if model else platform.machine()
    libraries = ", ".join(f"{one} {version(one)}" for one in ("numpy", "pcodec", "sqlalchemy"))
    return (
        f"{datetime.now(UTC):%Y-%m-%d %H:%M} UTC, {name}, {os.cpu_count()} cores, load {os.getloadavg()[1]:.1f}; "
        f"Python {platform.python_version()}, SQLite {sqlite3.sqlite_version}, {libraries}"
    )


def version_of(program: str) -> str:
    """What a program says of itself, shortened."""
    said = subprocess.run([program, "--version"], capture_output=True, text=True, check=False)
    packaged = subprocess.run((*DPKG, program), capture_output=True, text=True, check=False)
    found = re.search(r"\d+\.\d+(\.\d+)?", said.stdout + said.stderr) or re.search(r"[\d.]+", packaged.stdout)
    return found.group(0) if found else "(version unknown)"


def rows(results: Results) -> list[list[str]]:
    """The table of questions."""
    return [_row(results, row.name, row.text, row.goal) for row in ROWS if _has(results, row.name)]


def _has(results: Results, name: str) -> bool:
    return any(name in results.get(side, {}).get("asked", {}) for side in ("ours", *PEERS))


def _row(results: Results, name: str, text: str, goal: Goal) -> list[str]:
    mine = results["ours"]["asked"].get(name)
    cells = [text, _ms(mine)]
    for peer in PEERS:
        theirs = results.get(peer, {}).get("asked", {}).get(name)
        cells.append(_against(mine, theirs))
    return [*cells, *_reached(results, mine, goal)]


def _ms(found: Mapping[str, float] | None) -> str:
    return "–" if found is None else f"{digits(found['clock_ms'])} ms ({digits(found['cpu_ms'])})"


def _against(mine: Mapping[str, float] | None, theirs: Mapping[str, float] | None) -> str:
    if theirs is None or mine is None:
        return _ms(theirs)
    clock, cpu = (digits(theirs[name] / mine[name]) for name in ("clock_ms", "cpu_ms"))
    return f"{_ms(theirs)}: {clock} × ({cpu})"


def _reached(results: Results, mine: Mapping[str, float] | None, goal: Goal) -> list[str]:
    """Cells of must and dream: what they are, and whether it is so."""
    if mine is None:
        return ["", ""]
    took = mine["clock_ms"]
    must = "" if goal.must_ms is None else f"≤ {goal.must_ms:g} ms: {_yes(took <= goal.must_ms)}"
    if goal.times is not None:
        theirs = results.get(goal.rival, {}).get("asked", {}).get(goal.against)
        said = "not measured" if theirs is None else _faster(mine, theirs, goal.times)
        rules = " with rules" if goal.against.endswith("_rules") else ""
        must = f"≥ {goal.times:g} × {goal.rival}{rules}: {said}"
    dream = "" if goal.dream_ms is None else f"≤ {goal.dream_ms:g} ms: {_yes(took <= goal.dream_ms)}"
    return [must, dream]


def _faster(mine: Mapping[str, float], theirs: Mapping[str, float], times: float) -> str:
    """Whether ours is so many times faster: by the clock, and by what the processors needed."""
    clock, cpu = (theirs[name] >= times * mine[name] for name in ("clock_ms", "cpu_ms"))
    if clock == cpu:
        return _yes(clock)
    return "by the clock, **not** by the processor" if clock else "by the processor, **not** by the clock"


def _yes(reached: bool) -> str:
    return "yes" if reached else "**no**"


def digits(value: float) -> str:
    """Three digits that tell something."""
    if value >= 100:
        return f"{value:,.0f}"
    return f"{value:.1f}" if value >= 10 else f"{value:.2f}"


def table(heads: Sequence[str], body: Sequence[Sequence[str]]) -> str:
    """Markdown."""
    lines = ["| " + " | ".join(heads) + " |", "|" + "---|" * len(heads)]
    return "\n".join(lines + ["| " + " | ".join(row) + " |" for row in body])


def costs(results: Results) -> list[list[str]]:
    """Rows of the table that are no questions: room, processor, and what is written."""
    mine = results["ours"]["costs"]
    found = []
    for key, text, unit, scale in (
        ("bytes_per_sample", "bytes per sample, kept", " B", 1.0),
        ("cpu", "processor at 1 Hz, of a core", " %", 100.0),
        ("written_per_day", "written per day", " GB", 1e-9),
    ):
        cells = [text, f"{digits(mine[key] * scale)}{unit}"]
        for peer in PEERS:
            theirs = results.get(peer, {}).get("costs", {}).get(key)
            ratio = "" if theirs is None else f", {digits(theirs / mine[key])} ×"
            cells.append("–" if theirs is None else f"{digits(theirs * scale)}{unit}{ratio}")
        found.append([*cells, *_cost_goals(results, key, mine[key])])
    return found


def _cost_goals(results: Results, key: str, mine: float) -> list[str]:
    if key == "cpu":
        return [f"≤ 0.5 %: {_yes(mine <= 0.005)}", f"≤ 0.1 %: {_yes(mine <= 0.001)}"]
    if key == "bytes_per_sample":
        theirs = results.get("Prometheus", {}).get("costs", {}).get(key)
        smaller = "not measured" if theirs is None else _yes(mine <= 0.6 * theirs)
        return [f"≤ 1.0 B: {_yes(mine <= 1)}; ≤ 0.6 × Prometheus: {smaller}", f"≤ 0.80 B: {_yes(mine <= 0.8)}"]
    return ["", ""]


def comparison(results: Results) -> str:
    """The part of the page that compares."""
    size = results["size"]
    versions = [f"{peer} {results[peer]['version']}" for peer in PEERS if "version" in results.get(peer, {})]
    missing = [f"{peer}: {results[peer]['missing']}." for peer in PEERS if results.get(peer, {}).get("missing")]
    heads = ["ms (of the processor)", "Tachograph", *PEERS, "must", "dream"]
    return "\n\n".join(
        (
            f"{results['machine']}. {', '.join(versions) or 'Nobody to compare with'}.",
            f"Workload: {size['nodes']} nodes × 60 series and {size['engines']} engines × 216 at 1 Hz for "
            f"{size['hours']} h and the 40 minutes of the hour that is still open ({size['samples'] / 1e6:.1f} M "
            f"samples), and {size['days']} days of one metric of each node before.",
            *missing,
            table(heads, costs(results) + rows(results)),
            _ours(results["ours"]["costs"]),
            *([results["same"]] if results.get("same") else []),
            *([_profiles(results["profiles"])] if results.get("profiles") else []),
        )
    )


def _ours(costs: Mapping[str, float]) -> str:
    return (
        f"Ours: {costs['commit_ms']:.2f} ms of the processor per commit of a tick, {costs['seal_ms']:.0f} ms to seal "
        f"an hour of one target; {costs['hot_bytes'] / 1e6:.0f} MB of rows beside the sealed hours."
    )


def _profiles(found: Mapping[str, str]) -> str:
    texts = {row.name: row.text for row in ROWS}
    body = [[texts[name], where] for name, where in found.items()]
    head = "Where our processor's time goes, by a profiler, which exaggerates what consists of many small calls"
    return f"{head}.\n\n{table(['', 'shares'], body)}"
