"""Channels of notifications and the heartbeat: tables of fields inside the table of settings, secrets apart.

What an address leads to is judged by whoever uses it; here only that there is one, and it is never quoted.
"""

from __future__ import annotations

import json
import re
from collections.abc import Mapping
from typing import Any

from settings.forms import PATH, SWITCH, Form, RefusedError, choice, number

ADDRESSES = ("url", "url_file", "url_env")
"""Where an address comes from: itself, a file, or a variable of the environment."""
HIDDEN = "…"
_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9_-]{0,62}")
_VARIABLE = re.compile(r"[A-Za-z_][A-Za-z0-9_]*")
_DURATION = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*(s|min|h|d)?")
_SECONDS: Mapping[str | None, float] = {None: 1, "s": 1, "min": 60, "h": 3600, "d": 86400}


class Secret(str):
    """A text that no representation shows."""

    __slots__ = ()

    def __repr__(self) -> str:
        return repr(HIDDEN)


def _address(raw: object) -> Secret:
    if not isinstance(raw, str) or not raw.strip() or re.search(r"\s", raw.strip()):
        raise RefusedError((HIDDEN, "an address without spaces"))
    return Secret(raw.strip())


def _variable(raw: object) -> str:
    if not isinstance(raw, str) or not _VARIABLE.fullmatch(raw):
        raise RefusedError((raw, "the name of an environment variable"))
    return raw


def duration(low_s: float, high_s: float, bounds: str) -> Form:
    """Seconds: a number, or one with a unit. bounds: both of them in words."""
    expected = f"a duration such as 30s, 10min or 4h, {bounds}"

    def parse(raw: object) -> float:
        found = _DURATION.fullmatch("" if isinstance(raw, bool) else str(raw).strip())
        seconds = float(found[1]) * _SECONDS[found[2]] if found is not None else -1.0
        if not low_s <= seconds <= high_s:
            raise RefusedError((raw, expected))
        return seconds

    return Form(parse, shown=expected)


_ADDRESS_FORMS: Mapping[str, Form] = {
    "url": Form(_address),
    "url_file": PATH,
    "url_env": Form(_variable),
    "private": SWITCH,
}
CHANNEL: Mapping[str, Form] = {
    **_ADDRESS_FORMS,
    "severity": choice("info", "warning", "critical"),
    "repeat": duration(0, 30 * 86400, "at most 30 days"),
    "resolved": SWITCH,
    "per_hour": number(1, 1000, whole=True),
    "gather": duration(0, 600, "at most 10min"),
    "enabled": SWITCH,
}
"""Fields of a channel; docs/notifications.md says what each means."""
HEART: Mapping[str, Form] = {**_ADDRESS_FORMS, "every": duration(10, 86400, "from 10s to a day")}
"""Fields of the heartbeat."""


def _fields(where: str, table: object, forms: Mapping[str, Form]) -> dict[str, Any]:
    """The fields of a table, checked; RefusedError with all that is wrong, and no address in it."""
    if not isinstance(table, Mapping):
        raise RefusedError((where, f"a table with {', '.join(ADDRESSES)} and the other fields"))
    found: dict[str, Any] = {}
    wrong: list[tuple[object, str]] = []
    for key, raw in table.items():
        if key not in forms:
            wrong.append((f"{where}.{key}", f"one of {', '.join(forms)}"))
            continue
        try:
            found[key] = forms[key].parse(raw)
        except RefusedError as refused:
            wrong += [(f"{where}.{key}={bad}", expected) for bad, expected in refused.wrong]
    if sum(key in table for key in ADDRESSES) != 1:
        wrong.append((where, f"one of {', '.join(ADDRESSES)}"))
    if wrong:
        raise RefusedError(*wrong)
    return found


def _table(raw: object, expected: str) -> Mapping[str, Any]:
    """A TOML table, or JSON in the environment; what is neither is not quoted, for there may be secrets in it."""
    try:
        found = json.loads(raw) if isinstance(raw, str) else raw
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, Mapping):
        raise RefusedError((HIDDEN, expected))
    return found


CHANNELS_EXPECTED = "a table for each channel: [channels.NAME] in the file, a JSON object in the environment"
HEARTBEAT_EXPECTED = "a table [heartbeat] in the file, a JSON object in the environment"


def _channels(raw: object) -> dict[str, dict[str, Any]]:
    found: dict[str, dict[str, Any]] = {}
    wrong: list[tuple[object, str]] = []
    for name, table in _table(raw, CHANNELS_EXPECTED).items():
        if not _NAME.fullmatch(name):
            wrong.append((name, "a name of at most 63 letters, digits, “_” or “-”"))
            continue
        try:
            found[name] = _fields(name, table, CHANNEL)
        except RefusedError as refused:
            wrong += refused.wrong
    if wrong:
        raise RefusedError(*wrong)
    return found


def _heartbeat(raw: object) -> dict[str, Any]:
    table = _table(raw, HEARTBEAT_EXPECTED)
    return _fields("heartbeat", table, HEART) if table else {}


CHANNELS = Form(_channels, json.dumps, shown=CHANNELS_EXPECTED, metavar="JSON")
HEARTBEAT = Form(_heartbeat, json.dumps, shown=HEARTBEAT_EXPECTED, metavar="JSON")
