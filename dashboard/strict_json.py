"""JSON that is sent to us, read strictly: what nothing of ours could keep, show or walk through is refused with 400.

orjson takes no half of a surrogate pair, no NaN and no second end; how deep it may go is asked here, since whatever
walks through a value, its text in an error included, needs a frame of the stack for each level.
"""

from __future__ import annotations

from typing import Any

import orjson
from flask.json.provider import DefaultJSONProvider

DEEPEST = 32
"""Levels of lists and objects; what pages and programs send has six."""


class StrictJSON(DefaultJSONProvider):
    """What `request.get_json` reads with."""

    def loads(self, s: str | bytes, **_kwargs: Any) -> Any:
        """The value; ValueError, which becomes a 400, for what is none."""
        found = orjson.loads(s)
        if depth(found) > DEEPEST:
            raise ValueError(f"lists and objects stand in each other more than {DEEPEST} deep")
        return found


def depth(value: Any) -> int:
    """Levels of lists and objects in a value; 0 of a text or a number.

    >>> depth([1, {"a": []}])
    3
    """
    found, level = 0, [value]
    while level := [one for one in level if isinstance(one, list | dict)]:
        found += 1
        level = [inner for one in level for inner in (one.values() if isinstance(one, dict) else one)]
    return found
