"""What every instance of every rule stands at: fed tick by tick when live, or with months when replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field

import numpy as np

from alerts.evaluate import instances, truth
from alerts.machine import NEW, Change, Phase, Standing, advance
from alerts.places import Key
from alerts.rule import Rule
from alerts.view import View
from telemetry.frame import Bools, Floats


@dataclass(frozen=True, slots=True)
class Turn:
    """An instance of a rule entered a phase."""

    rule: str
    key: Key
    change: Change


@dataclass
class Book:
    """standings: of every (rule, instance) that is not simply inactive, or was read once."""

    standings: dict[tuple[str, Key], Standing] = field(default_factory=dict)

    def read(self, rules: Iterable[Rule], view: View) -> list[Turn]:
        """Go on by the ticks of a view; what changed, in order of rule, instance and time.

        Instances that the view does not know are left as they are: no data changes nothing.
        """
        turns: list[Turn] = []
        for rule in rules:
            if rule.enabled and len(view.ticks):
                turns += self._read(rule, view)
        return turns

    def _read(self, rule: Rule, view: View) -> list[Turn]:
        keys = instances(rule.condition, rule.place, view)
        if not keys:
            return []
        holds = truth(rule.condition, rule.place, view, keys)
        clears = 1.0 - holds if rule.clear_condition is None else truth(rule.clear_condition, rule.place, view, keys)
        moving = self._moving(rule, keys, holds)
        turns: list[Turn] = []
        for at in np.flatnonzero(moving).tolist():
            before = self.standings.get((rule.name, keys[at]), NEW)
            after, changes = advance(before, view.ticks, holds[at], clears[at], rule.timing)
            self._keep(rule.name, keys[at], after)
            turns += [Turn(rule.name, keys[at], change) for change in changes]
        return turns

    def _moving(self, rule: Rule, keys: list[Key], holds: Floats) -> Bools:
        """The instances that may change: something holds, or something is under way."""
        under_way = np.array([(rule.name, key) in self.standings for key in keys])
        return np.asarray((holds == 1.0).any(axis=1) | under_way)

    def _keep(self, rule: str, key: Key, standing: Standing) -> None:
        """An inactive instance needs no memory: its next tick counts from itself."""
        if standing.phase is Phase.INACTIVE:
            self.standings.pop((rule, key), None)
        else:
            self.standings[rule, key] = standing

    def firing(self) -> Mapping[tuple[str, Key], Standing]:
        """Those that fire."""
        return {where: one for where, one in self.standings.items() if one.phase is Phase.FIRING}

    def forget(self, rule: str) -> None:
        """A rule that is gone, or is another now, stands nowhere."""
        self.standings = {where: one for where, one in self.standings.items() if where[0] != rule}
