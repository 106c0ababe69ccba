"""Recorded pages and what an independent script read from them (tests/data/engines)."""

from __future__ import annotations

import functools
import json
import tarfile
from pathlib import Path
from typing import Any

from collectors.scrape.page import Page

DATA = Path(__file__).parents[1] / "data" / "engines"


@functools.cache
def pages() -> dict[str, bytes]:
    """folder/file → bytes of every recorded page and truth file."""
    with tarfile.open(DATA / "pages.tar.xz") as archive:
        members = [member for member in archive.getmembers() if member.isfile()]
        return {member.name: archive.extractfile(member).read() for member in members}  # type: ignore[union-attr]


def truths() -> dict[str, dict[str, Any]]:
    """folder/page → its truth, for the folders with one truth.json."""
    found = {}
    for folder in ("engines", "vllm-0.32"):
        for name, truth in json.loads(pages()[f"{folder}/truth.json"]).items():
            found[f"{folder}/{name}"] = truth
    return found


def history() -> dict[str, list[dict[str, float]]]:
    """folder/page → truth of each of its engines, for the pages rendered by vLLM's own code of several versions."""
    found = {}
    for name in (name for name in pages() if name.endswith(".prom") and name.startswith("vllm-history/")):
        group, _, moment = name.removesuffix(".prom").rpartition("__")
        if "rust" in group:
            truth = json.loads(pages()["vllm-history/vllm_rust_main-2026-08-17__truth.json"]).get(moment)
            found[name] = [truth] if truth else []
        else:
            found[name] = json.loads(pages()[f"{group}__truth.json"])[moment]["engines"]
    return found


def case(name: str) -> bytes:
    """One file of a known wrong answer of another tool."""
    return (DATA / "cases" / name).read_bytes()


def per_engine(page: Page, metric: str, **labels: str) -> dict[str, float]:
    """engine → sum over the page's series of a metric that carry these labels; empty when it is not offered."""
    sums: dict[str, float] = {}
    for series, value in zip(page.layout.series, page.values().tolist(), strict=True):
        if series.metric == metric and labels.items() <= dict(series.labels).items():
            engine = series.label("engine") or ""
            sums[engine] = sums.get(engine, 0.0) + value
    return sums


def total(page: Page, metric: str, **labels: str) -> float | None:
    """Sum over engines, None when not offered."""
    sums = per_engine(page, metric, **labels)
    return sum(sums.values()) if sums else None


def buckets(page: Page, metric: str) -> list[tuple[float, float]]:
    """(upper edge, cumulative count over all engines) of a histogram, edges rising."""
    counts: dict[float, float] = {}
    for series, value in zip(page.layout.series, page.values().tolist(), strict=True):
        if series.metric == f"{metric}_bucket":
            edge = float(series.label("le") or "nan")
            counts[edge] = counts.get(edge, 0.0) + value
    return sorted(counts.items())
