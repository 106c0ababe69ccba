"""Routes of reports: one run as HTML, Markdown, or a bundle; and a bundle of another installation coming in."""

from __future__ import annotations

from functools import partial

from flask import Blueprint, Response, request

from dashboard.api import parameters
from dashboard.api.parameters import ParameterError
from dashboard.api.routes import answer, arguments
from dashboard.api.run_answers import known
from dashboard.process import WebProcess
from dashboard.report import made, page
from exchange.bundle import MOST_PACKED, SUFFIX


def register(routes: Blueprint, process: WebProcess) -> None:
    """Add `/runs/ID/report.html`, `/runs/ID/report.md`, `/runs/ID/bundle` and `POST /runs/bundle`."""
    sources, numbers = process.sources, process.run_numbers

    def wanted() -> bool:
        given = arguments(("anonymous",))
        return "anonymous" in given and parameters.flag("anonymous", given["anonymous"])

    def report(number: int, form: str) -> Response:
        nameless, run = wanted(), known(sources.store, number)
        found = made.told(sources, numbers, run, process.version, nameless=nameless)
        return _file(made.report(form, found), made.FORMS[form], made.file_name(run, form))

    for form in made.FORMS:
        address = f"/runs/<int:number>/report.{form}"
        routes.add_url_rule(address, f"report_{form}", partial(report, form=form), methods=["GET"])

    @routes.get("/runs/<int:number>/bundle")
    def get_bundle(number: int) -> Response:
        nameless, run = wanted(), known(sources.store, number)
        found = made.told(sources, numbers, run, process.version, nameless=nameless)
        try:
            data = made.bundle(sources, run, found, nameless=nameless)
        except ValueError as error:
            raise _sentence(error, 409) from error
        return _file(data, "application/gzip", made.file_name(run, SUFFIX.removeprefix(".")))

    @routes.post("/runs/bundle")
    def post_bundle() -> Response:
        request.max_content_length = MOST_PACKED
        arguments(())
        try:
            found, status = made.bring(sources, request.get_data())
        except ValueError as error:
            raise _sentence(error, 400) from error
        return answer(found, status)


def _sentence(error: ValueError, status: int) -> ParameterError:
    text = str(error)
    return ParameterError(f"{text[0].upper()}{text[1:]}.", status)


def _file(data: bytes, kind: str, name: str) -> Response:
    """A file to keep. Opened in place, it may do no more than it may by itself."""
    response = Response(data, content_type=kind)
    response.headers["Content-Disposition"] = f'attachment; filename="{name}"'
    response.headers["Content-Security-Policy"] = f"sandbox allow-scripts; {page.own_policy()}"
    response.headers["Cache-Control"] = "no-store"
    return response
