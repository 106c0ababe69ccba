"""Routes of runs: the list, one with its numbers, and what people do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping
from dataclasses import dataclass
from functools import partial

from flask import Blueprint, Response, request

from dashboard.annotations import Annotations
from dashboard.api import parameters, run_csv
from dashboard.api import run_answers as answers
from dashboard.api.benchmark_answers import moved
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.run_list import table
from dashboard.run_numbers import RunNumbers
from dashboard.run_timeline import Notes
from dashboard.security import refusal
from dashboard.sources import Sources
from pipeline.brought import MOVE
from pipeline.digest import CHARTS

BODY_CAP_BYTES = 16 * 1024
RUN = "/runs/<int:number>"


@dataclass(frozen=True)
class Known:
    """What answers are made of."""

    sources: Sources
    numbers: RunNumbers
    notes: Notes


def get_runs(known: Known) -> Response:
    """The list."""
    return answer(answers.listed(known.sources, known.numbers, arguments(answers.KNOWN)))


def get_table(known: Known) -> Response:
    """The list as the page has it."""
    given, sources = arguments(("start",)), known.sources
    since = parameters.instant_ms("start", given["start"], sources.now_ms()) if "start" in given else None
    found = answer(table(sources, known.numbers, since))
    if since is None:
        found.headers["Cache-Control"] = "no-cache"  # may be kept, if it is asked each time whether it still holds
        found.add_etag()
    return found.make_conditional(request)


def get_run(known: Known, number: int) -> Response:
    """One, or a stretch of it."""
    given = arguments(("start", "end"))
    return answer(answers.one(known.sources, known.numbers, answers.known(known.sources.store, number), given))


def get_summary(known: Known, number: int) -> Response:
    """Its numbers as CSV."""
    given = arguments(("start", "end"))
    found = answers.one(known.sources, known.numbers, answers.known(known.sources.store, number), given)
    response = Response(b"".join(run_csv.rows(found)), content_type="text/csv; charset=utf-8")
    name = f'attachment; filename="run-{number}-summary.csv"'
    response.headers.update({"Content-Disposition": name, "Cache-Control": "no-store"})
    return response


def get_charts(known: Known, number: int) -> Response:
    """Charts that were kept with it."""
    arguments(())
    run = answers.known(known.sources.store, number)
    part = known.sources.store.run_part(number, CHARTS)
    if part is None or part[0] != run.revision:
        raise ParameterError(f"Run {number} has no charts yet; ask /api/v1/series.", 404)
    return answer(part[1])


def get_timeline(known: Known, number: int) -> Response:
    """What its page draws."""
    given = arguments(("start", "end", "points", "map"))
    run = answers.known(known.sources.store, number)
    return answer(answers.timeline_of(known.sources, known.numbers, known.notes, run, given))


def get_node(known: Known, number: int) -> Response:
    """Every reading of one of its nodes."""
    given = arguments(("name", "start", "end", "points"))
    return answer(answers.node_of(known.sources, answers.known(known.sources.store, number), given))


def get_moment(known: Known, number: int) -> Response:
    """All its nodes at an instant."""
    given = arguments(("at",))
    return answer(answers.moment_of(known.sources, answers.known(known.sources.store, number), given))


def post_command(known: Known) -> Response:
    """What people do."""
    request.max_content_length = BODY_CAP_BYTES
    if not request.is_json:
        return refusal(415, "Send JSON (Content-Type: application/json).")
    given = request.get_json()
    if isinstance(given, dict) and given.get("kind") == MOVE:
        given = moved(known.sources, known.numbers, given)
    found, status = answers.order(known.sources, given)
    return answer(found, status)


def get_command(known: Known, number: int) -> Response:
    """What became of it."""
    arguments(())
    return answer(answers.outcome(known.sources, number))


READ: Mapping[str, Callable[..., Response]] = {
    "/runs": get_runs,
    "/runs/table": get_table,
    RUN: get_run,
    f"{RUN}/summary.csv": get_summary,
    f"{RUN}/charts": get_charts,
    f"{RUN}/timeline": get_timeline,
    f"{RUN}/node": get_node,
    f"{RUN}/moment": get_moment,
    "/runs/commands/<int:number>": get_command,
}
"""Address → what answers."""


def register(routes: Blueprint, sources: Sources, numbers: RunNumbers) -> None:
    """Add them."""
    known = Known(sources, numbers, Annotations(sources.store).between)
    for address, view in READ.items():
        routes.add_url_rule(address, f"run_{view.__name__}", partial(view, known), methods=["GET"])
    routes.add_url_rule("/runs/commands", "run_post_command", partial(post_command, known), methods=["POST"])
