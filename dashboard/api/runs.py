"""Routes of runs: the list, one with its numbers, and what people do to them."""

from __future__ import annotations

from flask import Blueprint, Response, request

from dashboard.annotations import Annotations
from dashboard.api import parameters, run_csv
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.api.run_answers import KNOWN, listed, moment_of, node_of, one, order, outcome, timeline_of
from dashboard.run_list import table
from dashboard.run_numbers import RunNumbers
from dashboard.security import refusal
from dashboard.sources import Sources
from pipeline.digest import CHARTS
from runs.model import Run

BODY_CAP_BYTES = 16 * 1024


def register(routes: Blueprint, sources: Sources, numbers: RunNumbers) -> None:
    """Add `/runs`, `/runs/ID` with its charts, timeline, nodes and moments, and `/runs/commands`."""
    notes = Annotations(sources.store).between

    def known(number: int) -> Run:
        run = sources.store.run(number)
        if run is None:
            raise ParameterError(f"There is no run {number}.", 404)
        return run

    @routes.get("/runs")
    def get_runs() -> Response:
        return answer(listed(sources, numbers, arguments(KNOWN)))

    @routes.get("/runs/table")
    def get_table() -> Response:
        given = arguments(("start",))
        since = parameters.instant_ms("start", given["start"], sources.now_ms()) if "start" in given else None
        found = answer(table(sources, numbers, since))
        if since is None:
            found.headers["Cache-Control"] = "no-cache"  # may be kept, if it is asked each time whether it still holds
            found.add_etag()
        return found.make_conditional(request)

    @routes.get("/runs/<int:number>")
    def get_run(number: int) -> Response:
        given = arguments(("start", "end"))
        return answer(one(sources, numbers, known(number), given))

    @routes.get("/runs/<int:number>/summary.csv")
    def get_summary(number: int) -> Response:
        given = arguments(("start", "end"))
        found = one(sources, numbers, known(number), given)
        name = f"run-{number}-summary.csv"
        response = Response(b"".join(run_csv.rows(found)), content_type="text/csv; charset=utf-8")
        response.headers.update({"Content-Disposition": f'attachment; filename="{name}"', "Cache-Control": "no-store"})
        return response

    @routes.get("/runs/<int:number>/charts")
    def get_charts(number: int) -> Response:
        arguments(())
        run = known(number)
        part = sources.store.run_part(number, CHARTS)
        if part is None or part[0] != run.revision:
            raise ParameterError(f"Run {number} has no charts yet; ask /api/v1/series.", 404)
        return answer(part[1])

    @routes.get("/runs/<int:number>/timeline")
    def get_timeline(number: int) -> Response:
        given = arguments(("start", "end", "points", "map"))
        return answer(timeline_of(sources, numbers, notes, known(number), given))

    @routes.get("/runs/<int:number>/node")
    def get_run_node(number: int) -> Response:
        given = arguments(("name", "start", "end", "points"))
        return answer(node_of(sources, known(number), given))

    @routes.get("/runs/<int:number>/moment")
    def get_moment(number: int) -> Response:
        given = arguments(("at",))
        return answer(moment_of(sources, known(number), given))

    @routes.post("/runs/commands")
    def command() -> Response:
        request.max_content_length = BODY_CAP_BYTES
        if not request.is_json:
            return refusal(415, "Send JSON (Content-Type: application/json).")
        found, status = order(sources, request.get_json())
        return answer(found, status)

    @routes.get("/runs/commands/<int:number>")
    def get_command(number: int) -> Response:
        arguments(())
        return answer(outcome(sources, number))
