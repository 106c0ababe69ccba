"""Reports and bundles as files: what the page, the API and the command line hand out."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import replace
from typing import Any

from dashboard.api.run_answers import order
from dashboard.report import anonymous, content, markdown, page
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange import bundle as bundles
from runs.model import Run

HTML, MARKDOWN = "html", "md"
FORMS: Mapping[str, str] = {HTML: "text/html; charset=utf-8", MARKDOWN: "text/markdown; charset=utf-8"}
ODD = re.compile(r"[^A-Za-z0-9._-]+")


def told(sources: Sources, numbers: RunNumbers, run: Run, version: str, *, nameless: bool) -> dict[str, Any]:
    """The content of a run's report, with names of machines or numbers in their place."""
    found = content.gather(sources, numbers, run, version)
    return anonymous.replaced(found, anonymous.names(found, sources.store.targets())) if nameless else found


def report(form: str, found: Mapping[str, Any]) -> bytes:
    """The file of a form; ValueError for a form that is none."""
    if form == HTML:
        return page.page(found)
    if form == MARKDOWN:
        return markdown.markdown(found).encode()
    raise ValueError(f"“{form}” is no form of a report, expected one of {', '.join(FORMS)}")


def bundle(sources: Sources, run: Run, found: Mapping[str, Any], *, nameless: bool) -> bytes:
    """The bundle of a run; ValueError where it is not over."""
    made = content.bundle(found, sources, run)
    if nameless:
        known = anonymous.names(found, sources.store.targets())
        made = replace(made, parts=anonymous.replaced(made.parts, known))
    return bundles.write(made)


def bring(sources: Sources, data: bytes) -> tuple[dict[str, Any], int]:
    """Import a bundle: ({run, new, …}, status). The same one again is found, not kept twice."""
    found = bundles.read(data, sources.now_ms())
    kind = bundles.origin_part(found.key)
    known = sources.store.runs_with(kind)
    if known:
        return {"run": known[0], "new": False, "applied": 0, "error": None}, 200
    done, status = order(sources, {"kind": "bring", "bundle": found.to_json()})
    owners = sources.store.runs_with(kind)
    return {**done, "run": owners[0] if owners else None, "new": True}, status


def file_name(run: Run, ending: str) -> str:
    """A name that any system takes: "run-3-Kimi-K3.html"."""
    said = ODD.sub("-", run.name).strip("-.")[:60]
    return f"run-{run.id}-{said}.{ending}" if said else f"run-{run.id}.{ending}"
