"""Cost of reading a page: our reader and prometheus_client's parser on the same pages in the same run.

    python -m bench.parse            recorded vLLM pages and an agent's page of this size
    python -m bench.parse PAGE...    these files, as successive readings of one page

Prints milliseconds of CPU per page (median over passes) and the ratio, and compares every value of both.
"""

from __future__ import annotations

import argparse
import math
import statistics
import sys
import tarfile
import time
from collections.abc import Callable, Sequence
from pathlib import Path

from prometheus_client.parser import text_string_to_metric_families

from collectors.scrape.lines import understand
from collectors.scrape.text import PageReader
from telemetry import catalog
from telemetry.model import Metric, Scope

RECORDED = Path(__file__).parents[1] / "tests" / "data" / "engines" / "pages.tar.xz"
WANTED_MS = {"vllm": (0.25, 1.0), "agent": (0.12, 0.3)}
"""engine → CPU per page that is the aim, and that must hold."""


def recorded(prefix: str) -> list[bytes]:
    with tarfile.open(RECORDED) as archive:
        names = sorted(name for name in archive.getnames() if name.startswith(prefix))
        return [archive.extractfile(name).read() for name in names]  # type: ignore[union-attr]


def agent_pages() -> list[bytes]:
    """Two readings of a page with two values for every metric of a node: about what an agent says."""
    metrics = [m for m in catalog.METRICS if isinstance(m, Metric) and m.scope is Scope.NODE]
    pages = []
    for step in range(2):
        lines = []
        for position, metric in enumerate(metrics):
            name = catalog.WIRE_PREFIX + metric.name
            kind = "counter" if metric.name.endswith("_total") else "gauge"
            lines += [f"# HELP {name} {metric.help}", f"# TYPE {name} {kind}"]
            for device in range(2 if metric.by else 1):
                labels = ",".join(f'{label}="device{device}"' for label in metric.by)
                lines.append(
                    f"{name}{{{labels}}} {1000.5 * position + step}" if labels else f"{name} {position + step}"
                )
        pages.append(("\n".join(lines) + "\n").encode())
    return pages


def cpu_ms(read: Callable[[bytes], object], pages: Sequence[bytes], passes: int) -> float:
    """Median over passes of the mean CPU milliseconds per page."""
    costs = []
    for _ in range(passes):
        start = time.process_time()
        for page in pages:
            read(page)
        costs.append((time.process_time() - start) * 1e3 / len(pages))
    return statistics.median(costs)


def mismatches(pages: Sequence[bytes]) -> int:
    """Values of all pages in which reader and parser differ, and samples that only one of them has."""
    reader, wrong = PageReader("bench"), 0
    for page in pages:
        read = reader.read(page)
        ours = {(line.partition(" ")[2], s): v for line, s, v in _raw(read)}
        theirs: dict[str, float] = {}
        for family in text_string_to_metric_families(page.decode()):
            for sample in family.samples:
                line = understand(sample.name, sample.labels)
                if line is not None:
                    theirs[line.identity] = float(sample.value)
        for (identity, flagged), value in ours.items():
            expected = theirs.get(identity, math.nan)
            same = value == expected or (math.isnan(value) and not math.isfinite(expected))
            wrong += not (same or flagged)
    return wrong


def _raw(page: object) -> list[tuple[str, bool, float]]:
    layout, values = page.layout, page.raw.tolist()  # type: ignore[attr-defined]
    flags = ("engine_sleep_state", "kv_cache_capacity_tokens")
    return [(line, line.startswith(flags), value) for line, value in zip(layout.lines, values, strict=True)]


def measure(title: str, pages: Sequence[bytes], passes: int) -> tuple[float, int]:
    reader = PageReader("bench")
    engine = reader.read(pages[0]).layout.engine
    ours = cpu_ms(reader.read, pages, passes * 10)
    theirs = cpu_ms(lambda page: list(text_string_to_metric_families(page.decode())), pages, passes)
    wrong = mismatches([*pages, *pages])
    aim, must = WANTED_MS.get(engine, (math.inf, math.inf))
    size = sum(map(len, pages)) / len(pages) / 1000
    print(
        f"{title:28} {size:6.1f} kB  {ours:7.3f} ms  parser {theirs:7.3f} ms  ratio {theirs / ours:5.1f}"
        f"  aim {aim} must {must}  mismatches {wrong}"
    )
    return ours / must, wrong


def main() -> int:
    options = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    options.add_argument("pages", nargs="*", type=Path, help="files that are successive readings of one page")
    options.add_argument("--passes", type=int, default=20)
    given = options.parse_args()
    sets = (
        {"files": [path.read_bytes() for path in given.pages]}
        if given.pages
        else {
            "vLLM 0.32": recorded("vllm-0.32/plain-")[1:],
            "vLLM 0.32, two engines": recorded("vllm-0.32/dp2-")[1:],
            "vLLM Rust front end": recorded("vllm-history/vllm_rust_main-2026-08-17_single"),
            "agent": agent_pages(),
        }
    )
    results = [measure(title, pages, given.passes) for title, pages in sets.items()]
    return 1 if any(wrong for _, wrong in results) or any(share > 1 for share, _ in results) else 0


if __name__ == "__main__":
    sys.exit(main())
