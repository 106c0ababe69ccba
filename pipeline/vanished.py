"""Parts of a node that are not there any more: a disk that was unmounted, a sensor whose device is gone."""

from __future__ import annotations

from dataclasses import replace

from alerts.causes import Firing
from alerts.expression import Reading, readings
from alerts.known import asks_absent, lately
from alerts.places import Key, Place
from alerts.rule import Rule
from alerts.view import View, of_samples

WAIT_MS = 600_000
"""For so long a node answers without a part that it had, and with others like it, until the part is gone."""


class Vanished:
    """Since when what rules speak of has been away. Only parts that come and go: a cage or a GPU that is away is what
    an alert tells of. A collector that starts anew counts anew."""

    def __init__(self) -> None:
        self._away: dict[Firing, tuple[int, int]] = {}

    def look(self, where: Firing, rule: Rule, view: View, tick: int) -> bool:
        """Whether an instance of a rule is gone for good by this tick: at each one since `WAIT_MS` its node told of
        others like it. A node that says nothing says nothing of it; a rule that asks for what is absent means it."""
        if not rule.place.passing or asks_absent(rule, view):
            return False
        if not any(_is_away(where[1], reading, rule.place, view) for reading in _own(rule)):
            self._away.pop(where, None)
            return False
        since, last = self._away.get(where, (tick, tick))
        since = tick if not 0 <= tick - last <= WAIT_MS else since  # a clock that was set says nothing of how long
        self._away[where] = (since, tick)
        return tick - since >= WAIT_MS

    def forget(self, where: Firing) -> None:
        """It is over."""
        self._away.pop(where, None)


def _own(rule: Rule) -> list[Reading]:
    """What a rule reads of the part itself, as it is now."""
    found = [one for one in readings(rule.condition) if set(rule.place.labels) <= set(one.metric.by)]
    return [replace(one, how="now", window_s=0.0) for one in found if of_samples(one)]


def _is_away(key: Key, reading: Reading, place: Place, view: View) -> bool:
    """Whether a node tells of others of a reading, and not of this one."""
    told = [one for one in lately(reading, place, view) if one[0] == key[0]]
    return bool(told) and key not in told
