"""Forms of alerts, silences and rules. `assets/runs/orders.js` sends them as commands and writes the answer beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from alerts.places import PLACES
from dashboard import alert_steps
from dashboard.components.run_forms import entry, fixed
from dashboard.layout.static import Raw

Answer = Mapping[str, Any]
LENGTHS = (("1 h", 60), ("8 h", 480), ("1 d", 1440), ("7 d", 10080))
LONG = (("7 d", 10080), ("30 d", 43200), ("90 d", 129600), ("1 year", 525600))
"""For how long a window comes back every week; a silence is a year long at most."""
REPLAY = (
    '<button type="button" class="plain" data-replay>When would this have fired?</button>'
    '<div class="wide replayed" role="status" data-replayed></div>'
)
"""Asks `assets/runs/replay.js` about the form as it stands, saved or not."""
SEVERITIES = ("info", "warning", "critical")
RULE_FIELDS = (("when", "Wrong when"), ("for", "Wrong for"), ("clear", "Over when"), ("clear_for", "Well for"))


WHICH = "rule node deployment severity"
EVERYTHING = "No rule, node, deployment or severity is named. Silence every alert there is?"


def form(
    kind: str,
    *parts: str,
    button: str,
    ask: str = "",
    unless: str = "",
    flag: str = "",
    class_name: str = "",
    after: str = "",
    done: str = "",
) -> Raw:
    """A form that sends one kind of command. ask: what is asked before; unless: fields of which one that says something
    makes that needless. flag: `changed`, only the fields that somebody changed are sent;
    `once`, it is empty again when it was sent. after: what stands below its button. done: what is said when it was
    carried out, with a link where that was a rule."""
    extra = (f' data-ask="{escape(ask)}"' if ask else "") + (f" data-{flag}" if flag else "")
    extra += f' data-unless="{escape(unless)}"' if unless else ""
    extra += f' data-done="{escape(done)}"' if done else ""
    return Raw(
        f'<form class="order {class_name}" data-alert-order="{escape(kind)}"{extra}>{"".join(parts)}'
        f'<button type="submit" class="plain">{escape(button)}</button>'
        f'<span class="note" role="status" data-said></span>{after}</form>'
    )


def choice(
    name: str,
    label: str,
    options: Sequence[tuple[str, str]],
    chosen: str = "",
    base: int | None = None,
    how: str = "",
) -> str:
    """A list to choose one of: (value, words). base: the instant that minutes count from."""
    how = how or ("text" if base is None else "minutes")
    since = "" if base is None else f' data-base="{base}"'
    inner = "".join(
        f'<option value="{escape(value)}"{" selected" if value == chosen else ""}>{escape(words)}</option>'
        for value, words in options
    )
    return (
        f'<label><span class="label">{escape(label)}</span>'
        f'<select name="{escape(name)}" data-as="{how}"{since}>{inner}</select></label>'
    )


def acknowledge(alert: Answer) -> Raw:
    """Somebody has seen it."""
    return form("acknowledge", fixed("alert", str(alert["id"])), button="Acknowledge")


def quieten(alert: Answer, now_ms: int) -> Raw:
    """Nobody is told of this alert's rule on its node for a while."""
    node = alert["key"][0] if alert["key"] else ""
    about = fixed("rule", alert["rule"], "text") + (fixed("node", node, "text") if node else "")
    lengths = [(str(minutes), words) for words, minutes in LENGTHS]
    return form("silence", about, choice("end_ms", "For", lengths, "60", now_ms), button="Silence")


def silence(rules: Sequence[Answer], now_ms: int) -> Raw:
    """A silence or a maintenance: what it is about, and from when to when, in the viewer's zone."""
    return form(
        "silence",
        *_which(rules),
        moment("start_ms", "From (empty: now)"),
        *_until(LENGTHS, "60", now_ms),
        button="Silence",
        ask=EVERYTHING,
        unless=WHICH,
        flag="once",
        class_name="typed",
    )


def weekly(rules: Sequence[Answer], now_ms: int) -> Raw:
    """A silence in a window of every week, by the clock of a place; the viewer's where none is written."""
    return form(
        "silence",
        *_which(rules),
        entry("weekly.days", "Days", "", "fri, sat", "days"),
        _clock("weekly.from", "From", "22:00"),
        _clock("weekly.to", "To", "06:00"),
        entry("weekly.zone", "By the clock of", "", "Europe/Berlin", "zone"),
        *_until(LONG, "525600", now_ms),
        button="Silence every week",
        ask=EVERYTHING,
        unless=WHICH,
        flag="once",
        class_name="typed",
    )


def _which(rules: Sequence[Answer]) -> list[str]:
    """Which alerts a silence is about."""
    names = [("", "any rule"), *((rule["name"], rule["title"]) for rule in rules)]
    severities = [("", "any severity"), *((name, name) for name in SEVERITIES)]
    return [
        choice("rule", "Rule", names),
        entry("node", "Node or engine", "", "any"),
        entry("deployment", "Deployment", "", "any"),
        choice("severity", "Severity", severities),
    ]


def _until(lengths: Sequence[tuple[str, int]], chosen: str, now_ms: int) -> list[str]:
    """For how long a silence is, and why."""
    return [
        choice("end_ms", "For", [(str(minutes), words) for words, minutes in lengths], chosen, now_ms, "lasting"),
        moment("end_ms", "Or until"),
        entry("comment", "Why", "", "new switch"),
    ]


def _clock(name: str, label: str, value: str) -> str:
    return (
        f'<label><span class="label">{escape(label)}</span>'
        f'<input type="time" name="{escape(name)}" value="{escape(value)}" data-as="text" required></label>'
    )


def moment(name: str, label: str, how: str = "moment") -> str:
    """An instant, which the browser shows and reads in the viewer's zone."""
    return (
        f'<label><span class="label">{escape(label)}</span>'
        f'<input type="datetime-local" name="{escape(name)}" data-as="{how}"></label>'
    )


def end(silenced: Answer) -> Raw:
    """Hear of it again."""
    return form("unsilence", fixed("silence", str(silenced["id"])), button="End")


def enable(rule: Answer) -> Raw:
    """Switch a rule on or off."""
    on = fixed("on", "false" if rule["enabled"] else "true")
    return form(
        "enable", fixed("name", rule["name"], "text"), on, button="Switch off" if rule["enabled"] else "Switch on"
    )


def edit(rule: Answer) -> Raw:
    """The fields of a rule."""
    fields = [_wide(f"table.{key}", label, rule[key]) for key, label in RULE_FIELDS]
    settings = [
        entry(f"table.settings.{name}", f"${name}", value, value) for name, value in sorted(rule["settings"].items())
    ]
    return form(
        "rule",
        fixed("name", rule["name"], "text"),
        *fields,
        *settings,
        choice("table.severity", "Severity", [(name, name) for name in SEVERITIES], rule["severity"]),
        entry("table.channels", "Told", ", ".join(rule["channels"]), "every channel", "list"),
        _wide("table.message", "Sentence", rule["message"], "made of what was read"),
        _wide("table.text", "What it means, and what to do first", rule["text"], _paragraph(rule)),
        button="Save",
        done="Saved",
        flag="changed",
        class_name="typed rule-form",
        after=REPLAY,
    )


def _paragraph(rule: Answer) -> str:
    """What is told of a rule where nobody has written a text for it: its paragraph of the runbook."""
    step = alert_steps.of_rule(rule["name"], rule["origins"])
    return "" if step is None else f"{step.means} {step.first}"


EXAMPLE = "gpu_temperature_celsius > 80 °C and gpu_power_watts < 20 W"


def create() -> Raw:
    """A rule that is not there yet."""
    return form(
        "rule",
        entry("name", "Name", "", "fan_gone"),
        entry("table.title", "Title", "", "Fan gone"),
        choice("table.place", "Of each", [(name, name) for name in PLACES], "gpu"),
        choice("table.severity", "Severity", [(name, name) for name in SEVERITIES], "warning"),
        _wide("table.when", "Wrong when", "", EXAMPLE),
        entry("table.for", "Wrong for", "", "0s"),
        _wide("table.clear", "Over when", "", "where nothing stands here: that it does not hold"),
        entry("table.clear_for", "Well for", "", "0s"),
        entry("table.channels", "Told", "", "every channel", "names"),
        _wide("table.message", "Sentence", "", "made of what was read"),
        _wide("table.text", "What it means, and what to do first", ""),
        button="Make the rule",
        done="Made",
        flag="once",
        class_name="typed rule-form",
        after=REPLAY,
    )


def _wide(name: str, label: str, value: str, example: str = "") -> str:
    if len(value) < 30 and name.endswith("for"):
        return entry(name, label, value, "0s")
    hint = f' placeholder="{escape(example)}"' if example else ""
    return (
        f'<label class="wide"><span class="label">{escape(label)}</span>'
        f'<textarea name="{escape(name)}" rows="{1 + len(value) // 70}" data-as="text" spellcheck="false"{hint}>'
        f"{escape(value)}</textarea></label>"
    )


def reset(rule: Answer, *, mine: bool = False) -> Raw:
    """Take back what people changed of it; mine: somebody made it here, so that nothing of it is left then."""
    ask = f"Take back everything that was changed of “{rule['title']}” on this page?"
    if mine:
        ask = f"Delete the rule “{rule['title']}”?"
    button = "Delete" if mine else "Take back changes"
    return form("reset", fixed("name", rule["name"], "text"), button=button, ask=ask)


def try_channel(channel: Answer) -> Raw:
    """Have a test sent; what came of it stands beside the button."""
    return Raw(
        f'<form class="order" data-channel-test="{escape(channel["name"])}">'
        '<button type="submit" class="plain">Send a test</button>'
        '<span class="note" role="status" data-said></span></form>'
    )


def filters(given: Answer, rules: Sequence[Answer]) -> Raw:
    """What of the past is listed; `assets/alert/filters.js` keeps it in the address."""
    names = [("", "any rule"), *((rule["name"], rule["title"]) for rule in rules)]
    severities = [("", "any severity"), *((name, name) for name in SEVERITIES)]
    return Raw(
        '<form class="order typed filters" data-alert-filters>'
        + choice("severity", "Severity", severities, given.get("severity", ""))
        + choice("rule", "Rule", names, given.get("rule", ""))
        + entry("node", "Node or engine", given.get("node", ""), "any")
        + moment("start", "From", "instant")
        + moment("end", "Until", "instant")
        + entry("text", "Words", given.get("text", ""), "xid")
        + '<button type="reset" class="plain">All</button></form>'
    )
