"""Fields of alert rules, by rule, as the file has them. What they may be is said by the rules themselves."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import Any

from settings.forms import Form, RefusedError

EXPECTED = "a table for each rule: [alerts.RULE] in the file, a JSON object in the environment"


def _parse(raw: object) -> dict[str, dict[str, Any]]:
    try:
        found = json.loads(raw) if isinstance(raw, str) else raw
    except json.JSONDecodeError:
        found = None
    if not isinstance(found, Mapping):
        raise RefusedError((raw, EXPECTED))
    wrong = [(name, EXPECTED) for name, table in found.items() if not isinstance(table, Mapping)]
    if wrong:
        raise RefusedError(*wrong)
    return {name: dict(table) for name, table in found.items()}


RULES = Form(_parse, json.dumps, shown=EXPECTED, metavar="JSON")
