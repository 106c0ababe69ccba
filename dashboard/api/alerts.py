"""Routes of alerts, rules and silences, and what people do to them."""

from __future__ import annotations

from typing import Any

from flask import Blueprint, Response, request

from alerts.defaults import Tables
from dashboard.api import alert_answers as answers
from dashboard.api import evidence_answers as evidence
from dashboard.api import rule_answers as rules
from dashboard.api import rule_limits
from dashboard.api.routes import answer, arguments
from dashboard.security import asker, refusal
from dashboard.sources import Sources

BODY_CAP_BYTES = 64 * 1024
CSV = "text/csv; charset=utf-8; header=present"


def register(routes: Blueprint, sources: Sources, file: Tables) -> None:
    """Add `/alerts`, `/rules` and `/silences`. file: fields of rules that the settings file has."""

    @routes.get("/alerts")
    def get_alerts() -> Response:
        return answer(answers.listed(sources, file, arguments(answers.KNOWN)))

    @routes.get("/alerts/<int:number>")
    def get_alert(number: int) -> Response:
        arguments(())
        return answer(answers.one(sources, file, number))

    @routes.get("/alerts/<int:number>/evidence")
    def get_evidence(number: int) -> Response:
        arguments(())
        answers.known(sources, number)
        return answer({"parts": sources.store.alert_parts(number)})

    @routes.get("/alerts/<int:number>/charts")
    def get_alert_charts(number: int) -> Response:
        arguments(())
        return answer(evidence.charts(sources, file, number))

    @routes.get("/alerts/<int:number>/evidence.json")
    def get_evidence_file(number: int) -> Response:
        arguments(())
        return _file(answer(evidence.as_file(sources, file, number)), number, "json")

    @routes.get("/alerts/<int:number>/evidence.csv")
    def get_evidence_rows(number: int) -> Response:
        arguments(())
        found = evidence.evidence(sources, file, number)
        return _file(Response(evidence.rows(found.part), content_type=CSV), number, "csv")

    @routes.post("/alerts/commands")
    def command_alerts() -> Response:
        if refused := _refused():
            return refused
        found, status = answers.order(sources, file, _signed(request.get_json()))
        return answer(found, status)

    @routes.get("/alerts/commands/<int:number>")
    def get_alert_command(number: int) -> Response:
        arguments(())
        return answer(answers.outcome(sources, number))

    @routes.get("/rules")
    def get_rules() -> Response:
        arguments(())
        return answer(rules.rules(sources, file))

    @routes.get("/rules/limits")
    def get_limits() -> Response:
        return answer(rule_limits.of_metrics(sources, file, arguments(rule_limits.KNOWN)))

    @routes.get("/rules/prometheus")
    def get_prometheus() -> Response:
        arguments(())
        return answer(rules.prometheus(sources, file))

    @routes.get("/rules/prometheus.yml")
    def get_prometheus_file() -> Response:
        arguments(())
        response = Response(rules.prometheus(sources, file)["text"], content_type="application/yaml; charset=utf-8")
        response.headers["Content-Disposition"] = 'attachment; filename="tachograph-rules.yml"'
        response.headers["Cache-Control"] = "no-store"
        return response

    @routes.get("/rules/log")
    def get_rule_log() -> Response:
        arguments(())
        return answer(rules.log(sources))

    @routes.post("/rules/check")
    def check_rule() -> Response:
        return _refused() or answer(rules.checked(sources, file, request.get_json()))

    @routes.get("/rules/<name>/replay")
    def replay_rule(name: str) -> Response:
        return answer(rules.replayed(sources, file, name, None, arguments(("start", "end"))))

    @routes.post("/rules/replay")
    def replay_table() -> Response:
        return _refused() or answer(rules.replayed_table(sources, file, request.get_json()))

    @routes.get("/silences")
    def get_silences() -> Response:
        arguments(())
        return answer(answers.silences(sources))


def _file(response: Response, number: int, form: str) -> Response:
    """A file to save."""
    response.headers["Content-Disposition"] = f'attachment; filename="alert-{number}.{form}"'
    return response


def _signed(given: Any) -> Any:
    """An order with who gives it: as it says, else whether it came from a page."""
    if not isinstance(given, dict) or given.get("by") is not None:
        return given
    return {**given, "by": asker(request.headers.get("Origin"), request.headers.get("Sec-Fetch-Site"))}


def _refused() -> Response | None:
    """A body that is no JSON is refused; a long one by its length."""
    request.max_content_length = BODY_CAP_BYTES
    return None if request.is_json else refusal(415, "Send JSON (Content-Type: application/json).")
