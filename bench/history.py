"""History, measured against others and as it grows: `python -m bench.history`; writes `docs/performance.md`.

Builds a day of a cluster at 1 Hz and a month of one metric, loads the same values into our store, Prometheus and
VictoriaMetrics (from Debian), asks everybody the same questions and prints ours, theirs and the ratio; then how ours
alone grows with nodes and days. A directory that is given is kept, and what was loaded there is not loaded again;
without one everything is gone at the end. Loading takes a quarter of an hour of an idle machine.
"""

from __future__ import annotations

import argparse
import json
import math
import sys
import tempfile
import time
from collections.abc import Callable, Mapping
from contextlib import closing
from dataclasses import asdict
from functools import partial
from pathlib import Path
from typing import Any

from bench.speed import growth, live, ours, report
from bench.speed.asked import ROWS, Questions
from bench.speed.cost import best, cpu_of
from bench.speed.fill import Filled, bring_forward, fill
from bench.speed.peer import Peer, vector
from bench.speed.prometheus import Prometheus
from bench.speed.server import RefusedError
from bench.speed.victoria import VictoriaMetrics
from bench.speed.workload import POWER, Size
from storage.store import open_store
from telemetry.summary import HOUR_MS

PEERS: tuple[type[Peer], ...] = (Prometheus, VictoriaMetrics)
COMPARISON, GROWTH = "comparison", "growth"
SHORT = {"prometheus": Prometheus, "victoria": VictoriaMetrics}
CLOSE = 1e-9
"""Sums of a day differ in their last digits by the order in which they are added up."""
SECONDS_OF_A_DAY = 86_400


def say(text: str) -> None:
    """Progress."""
    print(text, file=sys.stderr, flush=True)


def main() -> int:
    """Load what is not there, ask, print, write the page."""
    options = _options()
    size = Size(options.hours, options.days, options.nodes)
    with tempfile.TemporaryDirectory() as gone:
        kept = Path(options.directory or gone)
        if COMPARISON not in options.without:
            folder = kept / f"{size.nodes}x{size.hours}h+{size.days}d"
            folder.mkdir(parents=True, exist_ok=True)
            without = {SHORT[name] for name in options.without if name in SHORT}
            results = compare(size, folder, without, options.profile)
            (folder / "results.json").write_text(json.dumps(results, indent=1))
            _told(options, size, COMPARISON, report.comparison(results))
        if GROWTH not in options.without:
            _told(options, size, GROWTH, growth.measured(kept / GROWTH, say))
    return 0


def _told(options: argparse.Namespace, size: Size, name: str, text: str) -> None:
    """Print it; into the page goes what was measured on the whole workload, or where one was named."""
    print(text)
    page = options.page or (report.PAGE if size == Size() else None)
    if page:
        report.write(name, text, Path(page))


def _options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("--directory", help="kept, with what was loaded (default: a temporary one, up to 5 GB)")
    parser.add_argument("--hours", type=int, default=24, help="whole hours of everything")
    parser.add_argument("--days", type=int, default=29, help="days of one metric before them")
    parser.add_argument("--nodes", type=int, default=16)
    parts = [*sorted(SHORT), COMPARISON, GROWTH]
    parser.add_argument("--without", action="append", default=[], choices=parts, help="leave this out; may be repeated")
    parser.add_argument("--profile", action="store_true", help="where our time goes, per question")
    parser.add_argument("--page", help=f"the page to write (default: {report.PAGE}, where the workload is whole)")
    return parser.parse_args()


def compare(size: Size, folder: Path, without: set[type[Peer]], profiled: bool) -> dict[str, Any]:
    """Everything that is measured."""
    filled = _ours(size, folder)
    results: dict[str, Any] = {"size": asdict(size) | {"samples": size.samples}, "machine": report.machine()}
    with closing(open_store(str(folder / "ours.db"), writer=False, now_ms=size.now_ms)) as store:
        alone = _asked("ours", ours.from_file(store, size), time.process_time)
    with ours.web(folder / "ours.db", size) as web:
        asked = ours.questions(web)
        results["ours"] = {"costs": _costs(size, filled), "asked": alone | _asked("ours", asked, time.process_time)}
        if profiled:
            results["profiles"] = {name: ours.profile(question) for name, question in asked.items()}
        checks = ours.checks(web)
    same = []
    for kind in PEERS:
        if kind in without:
            continue
        results[kind.name] = found = _peer(kind, size, folder)
        if "checks" in found:
            same.append(_compared(kind.name, checks, found.pop("checks"), size))
    results["same"] = " ".join(same)
    return results


def _ours(size: Size, folder: Path) -> Filled:
    """The store, made if it is not there."""
    done = folder / "ours.json"
    if not done.exists():
        for old in folder.glob("ours.db*"):
            old.unlink()
        done.write_text(json.dumps(asdict(fill(folder / "ours.db", size, say))))
    bring_forward(folder / "ours.db", size)
    return Filled.of(json.loads(done.read_text()))


def _costs(size: Size, filled: Filled) -> dict[str, float]:
    """Bytes of a sample, share of a core and bytes a day of one who commits, seals and prunes."""
    parts = (filled.commit, filled.seal, filled.prune)
    hour_s = HOUR_MS / 1000
    return {
        "bytes_per_sample": filled.sealed_bytes / (size.series * size.hours * hour_s),
        "cpu": sum(part.cpu_s for part in parts) / hour_s,
        "written_per_day": sum(part.written for part in parts) / hour_s * SECONDS_OF_A_DAY,
        "hot_bytes": filled.hot_bytes,
        "commit_ms": filled.commit.cpu_s / filled.commit.times * 1e3,
        "seal_ms": filled.seal.cpu_s / filled.seal.times * 1e3,
    }


def _asked(who: str, questions: Questions, cpu_s: Callable[[], float]) -> dict[str, dict[str, float]]:
    found = {}
    for row in ROWS:
        if row.name in questions:
            took = best(questions[row.name], row.repeats, cpu_s)
            found[row.name] = {"clock_ms": took.clock_ms, "cpu_ms": took.cpu_ms}
            say(f"{who}: {row.text}: {took.clock_ms:.1f} ms")
    return found


def _peer(kind: type[Peer], size: Size, folder: Path) -> dict[str, Any]:
    """One of the others: loaded if it is not, asked, and watched while it scrapes."""
    if missing := kind.missing():
        say(missing)
        return {"missing": missing}
    peer = kind(folder / kind.name)
    done = peer.folder / "loaded.json"
    if not done.exists():
        peer.folder.mkdir(parents=True, exist_ok=True)
        done.write_text(json.dumps({"bytes": peer.load(size, say)}))
    kept = json.loads(done.read_text())
    if "live" not in kept:
        kept["live"] = asdict(live.watch(kind.name, peer.folder, size, say))
        done.write_text(json.dumps(kept))
    try:
        with peer.serve() as server:
            server.settle()
            asked = _asked(kind.name, peer.questions(server, size), partial(cpu_of, server.process))
            checks = {
                fold: vector(server, f"{fold}({POWER}[{SECONDS_OF_A_DAY}s])", size.now_ms)
                for fold in ("count_over_time", "min_over_time", "max_over_time", "sum_over_time")
            }
    except RefusedError as error:
        return {"missing": str(error)}
    costs = {"bytes_per_sample": kept["bytes"] / size.samples, **kept["live"]}
    return {"version": report.version_of(kind.program), "costs": costs, "asked": asked, "checks": checks}


def _compared(name: str, mine: Mapping[str, Mapping[str, float]], theirs: Mapping[str, Any], size: Size) -> str:
    """Whether both say the same of a day."""
    wrong = [
        f"{fold} of {target}: {value!r} here, {theirs[fold].get(target)!r} there"
        for fold, values in mine.items()
        for target, value in values.items()
        if not math.isclose(value, theirs[fold].get(target, math.nan), rel_tol=CLOSE)
    ]
    if wrong:
        return f"{name} says something else: {'; '.join(wrong[:3])}."
    return f"{name} says the same of all {size.nodes} nodes: count, least, largest and sum of a day of {POWER}."


if __name__ == "__main__":
    sys.exit(main())
