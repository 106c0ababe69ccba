"""Alerts, rules, silences and channels as the pages get them, and what can be read of their parts."""

from __future__ import annotations

import re
from typing import Any

from dashboard.layout import static
from tests.dashboard.parts import text as all_text
from tests.dashboard.parts import walk

NOW = 1_796_000_600_000
EVIL = '<img src=x onerror="alert(1)">&'


def alert(number: int, **more: Any) -> dict[str, Any]:
    """An alert that fired five minutes before NOW, wrong for ten seconds more."""
    plain: dict[str, Any] = {
        "id": number,
        "rule": "gpu_hot",
        "title": f"GPU hot {number}",
        "place": "gpu",
        "key": [f"spark-0{number}", "0"],
        "subject": f"spark-0{number}, GPU 0",
        "severity": "warning",
        "deployment": "Kimi-K3",
        "state": "firing",
        "began": NOW - 310_000,
        "fired": NOW - 300_000,
        "ended": None,
        "why_ended": "",
        "message": f"message {number}",
        "values": [],
        "known": True,
        "condition": "holds",
        "ends_in_s": None,
        "cause": None,
        "silence": None,
        "acknowledged": None,
        "acknowledged_by": "",
        "held_back": [],
        "run": None,
    }
    return {**plain, **more}


def render(part: Any) -> str:
    return static.render(part, {})


def text(part: Any) -> str:
    """What can be read of a part; forms have tests of their own."""
    return " ".join(re.sub(r"<form.*?</form>", "", all_text(part)).split())


def titles(part: Any) -> list[str]:
    return [text(one) for one in walk(part) if one.to_plotly_json()["type"] == "H3"]


SILENCE: dict[str, Any] = {
    "id": 3,
    "state": "active",
    "problem": "",
    "start": NOW,
    "end": NOW + 1000,
    "rule": "",
    "node": "",
    "deployment": "",
    "severity": "",
    "comment": "",
    "by": "",
}


RULE: dict[str, Any] = {
    "name": "gpu_hot",
    "title": "GPU hot",
    "when": "gpu_temperature_celsius >= $limit",
    "clear": "",
    "for": "60s",
    "clear_for": "30s",
    "severity": "warning",
    "message": "",
    "text": "It throttles soon.",
    "runbook": "",
    "unknown": "",
    "fault": "",
    "untold": "",
    "channels": [],
    "enabled": True,
    "settings": {"limit": "85 °C"},
    "origins": {"for": "default", "when": "default"},
}


CHANGE = {"id": 1, "rule": "gpu_hot", "at": NOW, "by": "ann", "before": None, "table": {"for": "5s"}}


CHANNEL: dict[str, Any] = {
    "name": "ops",
    "scheme": "ntfys",
    "url": "ntfys://…",
    "severity": "warning",
    "repeat_s": 14400.0,
    "resolved": True,
    "enabled": True,
    "last_success": NOW,
    "last_error": None,
    "waiting": 0,
    "held": 0,
    "failing": False,
}


AROUND: dict[str, Any] = {
    "kept": True,
    "due": NOW,
    "start": NOW - 900_000,
    "end": NOW + 300_000,
    "cut": False,
    "events": [],
    "absences": [],
    "facts": {},
    "run": None,
}
READ = [
    {"metric": "gpu_power_watts", "label": "GPU power", "value": 20.0, "text": "20 W", "corroborates": False},
    {"metric": "", "label": "cap", "value": None, "text": "–", "corroborates": True},
]


def own(told: dict[str, Any], **more: Any) -> dict[str, Any]:
    """The answer about one alert."""
    return {"alert": told, "effects": [], "because": None, "silenced": None, "rule": RULE, **more}
