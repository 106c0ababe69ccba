"""Orders about alerts: what people can do to alerts, silences and rules, as commands, and what each field may hold.

The web and the command line check an order with the same table before it is queued; the alarms carry it out.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from alerts.rule import NAME, Severity
from alerts.weekly import weekly_of
from pipeline.orders import Reader, instant, line, maybe, number, within

PREFIX = "alert."
"""In front of the kinds of commands that are about alerts."""
LONGEST_SILENCE_MS = 366 * 86_400_000
"""Of a silence, and how far ahead it may begin."""
OVER_MS = 86_400_000
"""A silence that was over for so long is let go of. A clock that leapt ahead by less and is set right ends none."""


def _name(name: str, value: Any) -> str:
    text = line(name, value)
    if not NAME.fullmatch(text):
        raise ValueError(f"“{name}” is {text!r}, expected a rule's name: small letters, digits and _")
    return text


def _own(name: str, value: Any) -> str:
    if not isinstance(value, str) or not value.strip():
        raise ValueError("A rule needs a name, such as fan_gone: small letters, digits and _")
    return _name(name, value)


def _severity(name: str, value: Any) -> str:
    text = line(name, value)
    if text not in [one.value for one in Severity]:
        raise ValueError(f"“{name}” is {text!r}, expected info, warning or critical")
    return text


def _table(name: str, value: Any) -> dict[str, Any]:
    if not isinstance(value, dict) or not value or not all(isinstance(key, str) for key in value):
        raise ValueError(f"“{name}” is expected to be an object of a rule's fields")
    try:
        json.dumps(value, ensure_ascii=False).encode()
    except UnicodeEncodeError:
        raise ValueError(f"“{name}” holds what is no text") from None
    return value


def _on(name: str, value: Any) -> bool:
    if not isinstance(value, bool):
        raise ValueError(f"“{name}” is {'missing' if value is None else repr(value)}, expected true or false")
    return value


def _weekly(_name: str, value: Any) -> dict[str, Any]:
    return weekly_of(value).to_json()


_BY = {"by": maybe(line)}
KINDS: Mapping[str, Mapping[str, Reader]] = {
    "acknowledge": {"alert": number, **_BY},
    "silence": {
        "rule": maybe(_name),
        "node": maybe(line),
        "deployment": maybe(line),
        "severity": maybe(_severity),
        "start_ms": maybe(instant),
        "end_ms": instant,
        "comment": maybe(line),
        "weekly": maybe(_weekly),
        **_BY,
    },
    "unsilence": {"silence": number, **_BY},
    "rule": {"name": _own, "table": _table, **_BY},
    "enable": {"name": _own, "on": _on, **_BY},
    "reset": {"name": _own, **_BY},
}
"""Kind → its fields. What may be None may be left out."""


def check(kind: str, given: Mapping[str, Any]) -> dict[str, Any]:
    """The payload of an order, every field of its kind in it; ValueError with a sentence for what cannot be done so."""
    return within(KINDS, kind, given)
