"""Routes of comparisons and of published results. docs/api.md describes them."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response

from dashboard.api.compare_csv import rows
from dashboard.api.routes import answer, arguments
from dashboard.comparison import KNOWN, Comparisons, chosen
from exchange.csv import line
from runs.model import Run
from storage.store import Store


def register(routes: Blueprint, store: Store, comparisons: Comparisons) -> None:
    """Add `/compare`, `/compare.csv` and `/references`."""

    @routes.get("/compare")
    def get_comparison() -> Response:
        return answer(comparisons.of(*chosen(store, arguments(KNOWN))))

    @routes.get("/compare.csv")
    def get_csv() -> Response:
        runs, align = chosen(store, arguments(KNOWN))
        text = b"".join(map(line, rows(comparisons.of(runs, align))))
        return _file(text, runs)

    @routes.get("/references")
    def get_references() -> Response:
        arguments(())
        return answer({"references": [one.to_json() for one in comparisons.references]})


def _file(text: bytes, runs: Sequence[Run]) -> Response:
    name = f"compare-{'-'.join(str(run.id) for run in runs)}.csv"
    response = Response(text, content_type="text/csv; charset=utf-8")
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Cache-Control"] = "no-store"
    return response
