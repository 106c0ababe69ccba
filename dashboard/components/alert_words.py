"""What is said of an alert: how it stands, how sure it is, what to do first, and why nobody is told of it."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from typing import Any

from dash import dcc, html
from dash.development.base_component import Component

from alerts.units import seconds_of
from dashboard import alert_steps
from dashboard.components.table import Content
from dashboard.layout.shell import MARKS
from telemetry import formatting
from telemetry.model import Unit

Answer = Mapping[str, Any]
LEVELS = {"critical": "critical", "warning": "warning", "info": "info"}
STATES = {
    "firing": "fires",
    "acknowledged": "fires, acknowledged",
    "silenced": "fires, silenced",
    "inhibited": "fires because of another",
    "resolved": "over",
}
NOT_KNOWN = "Not known any more; it counts as going on."
BEYOND = "No longer beyond its limit"
BETWEEN = f"{BEYOND}, but not well yet"
CONDITIONS = {
    "holds": "holds now",
    "ending": "well again, for now",
    "between": "hardly holds any more",
    "unknown": "not known any more",
}
MOST_MISSING = 3


def instant(at_ms: int | None, none: str = "–") -> Content:
    """The browser writes it in the viewer's zone."""
    return none if at_ms is None else html.Time("", **{"data-instant": str(at_ms)})


def lasted(alert: Answer, now_ms: int) -> str:
    """How long it has been wrong, or was."""
    return formatting.text(((alert["ended"] or now_ms) - alert["began"]) / 1000, Unit.SECONDS)


def mark(severity: str) -> Component:
    """Shape and colour of a severity."""
    return html.Span(MARKS[LEVELS.get(severity, "unknown")], className="mark", **{"aria-hidden": "true"})


def link(alert: Answer) -> Component:
    """To an alert's own page."""
    return dcc.Link(alert["title"], href=f"/alerts/{alert['id']}")


def message(alert: Answer) -> Component:
    """The sentence of when it fired, marked as that: what it says of numbers and for how long is of then."""
    return html.P(
        [html.Span("When it fired ", className="label"), html.Span(alert["message"])], className="alert-message"
    )


def sure(alert: Answer, rule: Answer | None = None, still: str = "") -> tuple[str, str]:
    """(in a word, in a sentence): whether its condition holds now, and what the rule went without. still: as `doubt`
    has it."""
    return _now(alert), " ".join(part for part in (_why(alert, rule, still), read(alert["values"])) if part)


def _now(alert: Answer) -> str:
    if alert["ended"] is not None:
        return "over"
    return CONDITIONS.get(alert["condition"], "fired")


def _why(alert: Answer, rule: Answer | None, still: str) -> str:
    if alert["ended"] is not None:
        return f"Ended because {alert['why_ended']}." if alert["why_ended"] else ""
    return doubt(alert, rule, still)


def doubt(alert: Answer, rule: Answer | None = None, still: str = "") -> str:
    """Why an alert goes on though its condition is not known to hold; "" where it is, or where it is over. rule: its
    own, None where it is gone. still: what follows from it and holds, as `alert_still.words` has it."""
    if alert["condition"] == "unknown":
        return NOT_KNOWN
    but, this = (f", but {still}.", " This alert") if still else ("", "; it")
    if alert["condition"] == "between":
        end = _clear(rule)
        return f"{BEYOND if still else BETWEEN}{but}" + (f"{this} ends when {end}." if end else "" if still else ".")
    if alert["condition"] == "ending" and alert["ends_in_s"] is not None:
        return f"Well again{but}{this} ends when that has lasted {_left(alert, rule)}."
    return f"Well again{but}" if still else ""


def _clear(rule: Answer | None) -> str:
    """What ends an alert, of a rule that has an end of its own."""
    if rule is None or not rule["clear"]:
        return ""
    seconds = seconds_of(rule["clear_for"])
    return f"“{rule['clear']}”" + (f" has held for {formatting.span(seconds)}" if seconds else " holds")


def _left(alert: Answer, rule: Answer | None) -> str:
    """For how long an alert must be well, and how much of that is to come."""
    left = formatting.span(alert["ends_in_s"])
    return f"{left} more" if rule is None else f"{formatting.span(seconds_of(rule['clear_for']))} ({left} to go)"


def read(values: Sequence[Answer]) -> str:
    """How many of its readings were known when it fired."""
    missing = [one["label"] for one in values if one["value"] is None]
    if not values:
        return ""
    if not missing:
        return "Its one reading was known." if len(values) == 1 else f"All {len(values)} readings were known."
    more = [f"{len(missing) - MOST_MISSING} more"] if len(missing) > MOST_MISSING else []
    return f"Went without {', '.join([*missing[:MOST_MISSING], *more])}."


def first(rule: Answer | None, alert: Answer | None = None, *, whole: bool = False) -> list[Component]:
    """What to do first, and where more of it stands; whole: what it means and what it is not, too. alert: whose name
    stands in a command that names it."""
    if rule is None:
        return []
    step = alert_steps.of_rule(rule["name"], rule["origins"])
    if step is None:
        return [_said("", rule["text"], *runbook(rule))] if rule["text"] or runbook(rule) else []
    order = step.first
    if alert is not None and alert["place"] == "channel" and alert["key"]:
        order = order.replace("test-channel NAME", f"test-channel {alert['key'][0]}")
    parts = [_said("First", order, *runbook(rule))]
    return [*parts, _said("Means", step.means), _said("Not this", step.other)] if whole else parts


def _said(label: str, text: str, *more: Component) -> Component:
    named = [html.Span(label, className="label")] if label else []
    kind = "alert-first" if label in ("First", "") else "alert-first quiet"
    return html.P([*named, html.Span(text), *more], className=kind)


def runbook(rule: Answer) -> list[Component]:
    """A link to what to do; only to a safe address."""
    return [html.A("Runbook", href=rule["runbook"])] if rule["runbook"].startswith("https://") else []


WAYS = {"": "", "page": " on the page", "API": " through the API", "command line": " on the command line"}
"""Who did something, where no name is known: by which way."""


def by(who: str) -> str:
    """Who did something, as it stands behind what was done."""
    return WAYS.get(who, f" by {who}")


def hidden(silence: Answer) -> Component:
    """Until when nobody is told, who wanted that, and why."""
    why = f": {silence['comment']}" if silence["comment"] else ""
    when = [f"Silenced {weekly(silence)}"] if weekly(silence) else ["Silenced until ", instant(silence["end"])]
    return html.P([*when, f"{by(silence['by'])}{why}"], className="note")


def held_back(alert: Answer) -> Component:
    """That channels will hear of it, or of its end, when a message may go out again."""
    what = "Not told yet" if alert["ended"] is None else "Not told yet that it is over"
    why = "held back by the limit of messages in an hour, and told as soon as there is room"
    return html.P(f"{what} to {', '.join(alert['held_back'])}: {why}.", className="note")


def about(silence: Answer) -> str:
    """Which alerts a silence means."""
    told = [f"{key} {silence[key]}" for key in ("rule", "node", "deployment", "severity") if silence[key]]
    return ", ".join(told) or "everything"


def weekly(silence: Answer) -> str:
    """In which hours of which days it holds, "" of one that holds all the while."""
    told = silence.get("weekly")
    return "" if told is None else f"{', '.join(told['days'])} {told['from']}–{told['to']} {told['zone']}"
