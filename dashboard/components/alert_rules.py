"""Rules on the page of alerts: what each says, who is told, where its values come from, and what people changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping, Sequence
from typing import Any

from dash import html
from dash.development.base_component import Component

from dashboard.components import alert_forms as forms
from dashboard.components.alert_words import Answer, first, instant, mark
from dashboard.components.table import Row, pairs, table

ORIGINS = {"default": "as delivered", "file": "from tachograph.toml", "page": "changed here"}
OWN = "own"
"""Of a rule that nobody delivered: people wrote it into their settings."""
MOST_CHANGES = 200
NOTHING_SAID = "–"


def rules(found: Sequence[Answer], channels: Sequence[str] = ()) -> Component:
    """Every rule behind its title. channels: names of those there are."""
    return html.Div([rule(one, channels) for one in found], className="rule-list")


def rule(one: Answer, channels: Sequence[str] = ()) -> Component:
    """A rule: what it says, where each of its values comes from, and how to change it."""
    origins = one["origins"]
    made = made_by(origins)
    changed = [name for name, origin in origins.items() if origin not in ("default", "file" if made == OWN else "")]
    mine = made == "made here"
    tags = [
        *([] if one["enabled"] else ["off"]),
        *([made] if made else []),
        *(["changed"] if changed and not mine else []),
    ]
    chips = [html.Span(word, className="chip") for word in (one["severity"], *tags)]
    summary = html.Summary([mark(one["severity"] if one["enabled"] else ""), html.Span(one["title"]), *chips])
    where = [] if mine else [(name, ORIGINS.get(origins[name], origins[name])) for name in changed]
    where += [("Written in", "tachograph.toml")] if made == OWN else []
    back = [forms.reset(one, mine=mine)] if "page" in origins.values() else []
    return html.Details(
        [
            summary,
            *first(one, whole=True),
            *([html.P(f"Nothing is known of it: {one['unknown']}.", className="note doubt")] if one["unknown"] else []),
            *([html.P(f"It {one['fault']}", className="reason critical")] if one["fault"] else []),
            pairs([("Told", told(one["channels"], channels, one["untold"])), *where]),
            forms.edit(one),
            html.Div([forms.enable(one), *back], className="orders"),
        ],
        className="rule",
        **{"data-rule": one["name"], "data-key": one["name"]},
    )


def made_by(origins: Mapping[str, str]) -> str:
    """Who made a rule: "own" in the settings, "made here", "" where it was delivered. origins: of its fields."""
    found = set(origins.values())
    if not found or "default" in found:
        return ""
    return OWN if "file" in found else "made here"


def told(named: Sequence[str], channels: Sequence[str], untold: str = "") -> str:
    """Who is told of a rule's alerts. Where none of the channels that it names is there, all are. untold: why none."""
    known = [name for name in named if name in channels]
    gone = [name for name in named if name not in channels]
    missing = f" ({', '.join(gone)}: no such channel)" if gone else ""
    if not channels:
        return "nobody: there is no channel" + missing
    if untold:
        return f"nobody: {untold}" + missing
    return (", ".join(known) if known else "every channel") + missing


def log(changes: Sequence[Answer], titles: Mapping[str, str]) -> Component:
    """What people changed of rules, the newest first. titles: of rules by name."""
    if not changes:
        return html.P("Nobody has changed a rule here yet.", className="note")
    rows = [
        Row(titles.get(one["rule"], one["rule"]), [said(one), instant(one["at"]), one["by"] or NOTHING_SAID])
        for one in changes[:MOST_CHANGES]
    ]
    return table(("Rule", "What was changed", "When", "By"), rows, "Changes of rules", "rule-log")


def said(change: Answer) -> str:
    """What a change made of a rule: each field after it, and before it where people had changed that, too."""
    if change["table"] is None:
        return "everything taken back"
    before, after = _flat(change["before"] or {}), _flat(change["table"])
    names = [name for name in dict.fromkeys((*before, *after)) if before.get(name) != after.get(name)]
    return "; ".join(_step(name, before.get(name), after.get(name)) for name in names) or "nothing"


def _step(name: str, before: str | None, after: str | None) -> str:
    if name == "enabled" and after is not None:
        return "switched on" if after == "true" else "switched off"
    if after is None:
        return f"{name} taken back"
    return f"{name}: {after}" if before is None else f"{name}: {before} → {after}"


def _flat(fields: Mapping[str, Any]) -> dict[str, str]:
    """Fields and settings by name, as texts."""
    return dict(_pairs(fields))


def _pairs(fields: Mapping[str, Any]) -> Iterable[tuple[str, str]]:
    for name, value in fields.items():
        if name == "settings" and isinstance(value, Mapping):
            yield from ((f"${key}", str(text)) for key, text in value.items())
        elif isinstance(value, bool):
            yield name, "true" if value else "false"
        elif isinstance(value, (list, tuple)):
            yield name, ", ".join(map(str, value)) or "none"
        else:
            yield name, str(value)
