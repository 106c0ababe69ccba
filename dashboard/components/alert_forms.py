"""Forms of alerts, silences and rules. `assets/runs/orders.js` sends them as commands and writes the answer beside."""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from html import escape
from typing import Any

from dashboard.components.run_forms import entry, fixed
from dashboard.layout.static import Raw

Answer = Mapping[str, Any]
LENGTHS = (("1 h", 60), ("8 h", 480), ("1 d", 1440), ("7 d", 10080))
REPLAY = (
    '<button type="button" class="plain" data-replay>When would this have fired?</button>'
    '<div class="wide replayed" role="status" data-replayed></div>'
)
"""Asks `assets/runs/replay.js` about the form as it stands, saved or not."""
RULE_FIELDS = (("when", "Wrong when"), ("for", "For"), ("clear", "Over when"), ("clear_for", "For"))


def form(
    kind: str, *parts: str, button: str, ask: str = "", flag: str = "", class_name: str = "", after: str = ""
) -> Raw:
    """A form that sends one kind of command. flag: `changed`, only the fields that somebody changed are sent;
    `once`, it is empty again when it was sent. after: what stands below its button."""
    extra = (f' data-ask="{escape(ask)}"' if ask else "") + (f" data-{flag}" if flag else "")
    return Raw(
        f'<form class="order {class_name}" data-alert-order="{escape(kind)}"{extra}>{"".join(parts)}'
        f'<button type="submit" class="plain">{escape(button)}</button>'
        f'<span class="note" role="status" data-said></span>{after}</form>'
    )


def choice(name: str, label: str, options: Sequence[tuple[str, str]], chosen: str = "", base: int | None = None) -> str:
    """A list to choose one of: (value, words)."""
    how = "text" if base is None else "minutes"
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
    """A silence or a maintenance: what it is about, and from when to when."""
    names = [("", "any rule"), *((rule["name"], rule["title"]) for rule in rules)]
    lengths = [(str(minutes), words) for words, minutes in LENGTHS]
    severities = [("", "any severity"), ("info", "info"), ("warning", "warning"), ("critical", "critical")]
    return form(
        "silence",
        choice("rule", "Rule", names),
        entry("node", "Node or engine", "", "any"),
        choice("severity", "Severity", severities),
        entry("start_ms", "Begins in, minutes", "", "now", "minutes", now_ms),
        choice("end_ms", "Ends in", lengths, "60", now_ms),
        entry("comment", "Why", "", "new switch"),
        button="Silence",
        flag="once",
        class_name="typed",
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
    severities = [(name, name) for name in ("info", "warning", "critical")]
    return form(
        "rule",
        fixed("name", rule["name"], "text"),
        *fields,
        *settings,
        choice("table.severity", "Severity", severities, rule["severity"]),
        button="Save",
        flag="changed",
        class_name="typed rule-form",
        after=REPLAY,
    )


def _wide(name: str, label: str, value: str) -> str:
    if len(value) < 30 and name.endswith("for"):
        return entry(name, label, value, "0s")
    return (
        f'<label class="wide"><span class="label">{escape(label)}</span>'
        f'<textarea name="{escape(name)}" rows="{1 + len(value) // 70}" data-as="text" spellcheck="false">'
        f"{escape(value)}</textarea></label>"
    )


def reset(rule: Answer) -> Raw:
    """Take back what people changed of it."""
    ask = f"Take back everything that was changed of “{rule['title']}” on this page?"
    return form("reset", fixed("name", rule["name"], "text"), button="Take back changes", ask=ask)
