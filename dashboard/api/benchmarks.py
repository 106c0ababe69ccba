"""Routes of benchmarks: a file of results comes in, and what a run has of them."""

from __future__ import annotations

from flask import Blueprint, Response, request

from dashboard.api import parameters
from dashboard.api.benchmark_answers import Wish, answers, bring, tried
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.api.run_answers import known
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.benchmarks import reading

BODY_CAP_BYTES = 32 << 20


def register(routes: Blueprint, sources: Sources, numbers: RunNumbers) -> None:
    """Add `POST /benchmarks` and `/runs/ID/benchmarks`."""

    @routes.post("/benchmarks")
    def post_benchmarks() -> Response:
        request.max_content_length = BODY_CAP_BYTES
        given = arguments(("name", "run", "apart"))
        run = parameters.integer("run", given["run"], 1) if "run" in given else None
        wish = Wish(run, "apart" in given and parameters.flag("apart", given["apart"]))
        try:
            found = reading.read(request.get_data(), given.get("name", "the file"))
        except ValueError as error:
            raise ParameterError(f"{error}.") from error
        each = bring if len(found) == 1 else tried
        told = [each(sources, numbers, one, wish) for one in found]
        return answer({"results": [one for one, _ in told]}, max(status for _, status in told))

    @routes.get("/runs/<int:number>/benchmarks")
    def get_benchmarks(number: int) -> Response:
        arguments(())
        return answer({"benchmarks": answers(sources, numbers, known(sources.store, number))})
