"""Routes of alerts, rules and silences, and what people do to them."""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass
from functools import partial
from typing import Any

from flask import Blueprint, Response, request

from alerts.defaults import Tables
from alerts.notices import Channel
from dashboard.api import alert_answers as answers
from dashboard.api import evidence_answers as evidence
from dashboard.api import rule_answers as rules
from dashboard.api import rule_limits
from dashboard.api.routes import answer, arguments
from dashboard.security import asker, refusal
from dashboard.sources import Sources

BODY_CAP_BYTES = 64 * 1024
ALERT = "/alerts/<int:number>"
CSV = "text/csv; charset=utf-8; header=present"


@dataclass(frozen=True)
class Known:
    """What answers are made of. file: fields of rules that the settings file has. channels: those there are."""

    sources: Sources
    file: Tables
    channels: Sequence[Channel] = ()


def get_alerts(known: Known) -> Response:
    """The list."""
    return answer(answers.listed(known.sources, known.file, arguments(answers.KNOWN)))


def get_alert(known: Known, number: int) -> Response:
    """One."""
    arguments(())
    return answer(answers.one(known.sources, known.file, number))


def get_evidence(known: Known, number: int) -> Response:
    """What is kept with it."""
    arguments(())
    answers.known(known.sources, number)
    return answer({"parts": known.sources.store.alert_parts(number)})


def get_charts(known: Known, number: int) -> Response:
    """What its page draws."""
    arguments(())
    return answer(evidence.charts(known.sources, known.file, number))


def get_evidence_file(known: Known, number: int) -> Response:
    """What is kept with it, as a file."""
    arguments(())
    return _file(answer(evidence.as_file(known.sources, known.file, number)), number, "json")


def get_evidence_rows(known: Known, number: int) -> Response:
    """The same as a table."""
    arguments(())
    found = evidence.evidence(known.sources, known.file, number)
    return _file(Response(evidence.rows(found.part), content_type=CSV), number, "csv")


def post_command(known: Known) -> Response:
    """What people do."""
    if refused := _refused():
        return refused
    found, status = answers.order(known.sources, known.file, _signed(request.get_json()))
    return answer(found, status)


def get_command(known: Known, number: int) -> Response:
    """What came of it."""
    arguments(())
    return answer(answers.outcome(known.sources, number))


def get_rules(known: Known) -> Response:
    """All rules."""
    arguments(())
    return answer(rules.rules(known.sources, known.file, known.channels))


def get_limits(known: Known) -> Response:
    """Where rules begin to hold."""
    return answer(rule_limits.of_metrics(known.sources, known.file, arguments(rule_limits.KNOWN)))


def get_prometheus(known: Known) -> Response:
    """Rules in the language of Prometheus."""
    arguments(())
    return answer(rules.prometheus(known.sources, known.file))


def get_prometheus_file(known: Known) -> Response:
    """The same as a file."""
    arguments(())
    text = rules.prometheus(known.sources, known.file)["text"]
    response = Response(text, content_type="application/yaml; charset=utf-8")
    response.headers["Content-Disposition"] = 'attachment; filename="tachograph-rules.yml"'
    response.headers["Cache-Control"] = "no-store"
    return response


def get_log(known: Known) -> Response:
    """Who changed what of rules."""
    arguments(())
    return answer(rules.log(known.sources))


def post_check(known: Known) -> Response:
    """Whether a table is a rule."""
    return _refused() or answer(rules.checked(known.sources, known.file, request.get_json(), known.channels))


def get_replay(known: Known, name: str) -> Response:
    """When a rule would have fired."""
    return answer(rules.replayed(known.sources, known.file, name, None, arguments(("start", "end"))))


def post_replay(known: Known) -> Response:
    """When one would have that is not saved."""
    return _refused() or answer(rules.replayed_table(known.sources, known.file, request.get_json()))


def get_silences(known: Known) -> Response:
    """Silences and planned maintenance."""
    arguments(())
    return answer(answers.silences(known.sources))


READ: Mapping[str, Callable[..., Response]] = {
    "/alerts": get_alerts,
    ALERT: get_alert,
    f"{ALERT}/evidence": get_evidence,
    f"{ALERT}/charts": get_charts,
    f"{ALERT}/evidence.json": get_evidence_file,
    f"{ALERT}/evidence.csv": get_evidence_rows,
    "/alerts/commands/<int:number>": get_command,
    "/rules": get_rules,
    "/rules/limits": get_limits,
    "/rules/prometheus": get_prometheus,
    "/rules/prometheus.yml": get_prometheus_file,
    "/rules/log": get_log,
    "/rules/<name>/replay": get_replay,
    "/silences": get_silences,
}
SENT: Mapping[str, Callable[..., Response]] = {
    "/alerts/commands": post_command,
    "/rules/check": post_check,
    "/rules/replay": post_replay,
}
"""Address → what answers, asked with GET and with POST."""


def register(routes: Blueprint, sources: Sources, file: Tables, channels: Sequence[Channel] = ()) -> None:
    """Add `/alerts`, `/rules` and `/silences`. file: fields of rules that the settings file has."""
    known = Known(sources, file, channels)
    for method, views in (("GET", READ), ("POST", SENT)):
        for address, view in views.items():
            routes.add_url_rule(address, f"alert_{view.__name__}", partial(view, known), methods=[method])


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
