"""What every instance of every rule stands at: fed tick by tick when live, or with months when replayed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace

import numpy as np

from alerts.evaluate import instances, truth
from alerts.expression import Condition
from alerts.extents import surely_quiet
from alerts.known import advance_known, asks_absent, there, with_those
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
    """by_rule: where every instance stands that is not simply inactive.

    hold_ms: a tick speaks for as long at most, where that is longer than a rule's timing has it: of collectors that
    look more rarely than every few seconds.
    """

    by_rule: dict[str, dict[Key, Standing]] = field(default_factory=dict)
    hold_ms: int = 0

    @property
    def standings(self) -> dict[tuple[str, Key], Standing]:
        """The same by (rule, instance)."""
        return {(rule, key): one for rule, standings in self.by_rule.items() for key, one in standings.items()}

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
        under_way = self.by_rule.get(rule.name)
        if not under_way and _is_quiet(rule, view):
            return []
        keys, absent = instances(rule.condition, rule.place, view), asks_absent(rule, view)
        if absent and under_way:
            keys = with_those(keys, under_way, rule.place, view)
        if not keys:
            return []
        holds = _worked_out(rule, view, keys)
        if not under_way and not (holds == 1.0).any():
            return []
        under_way = under_way or {}
        moving = np.flatnonzero(_moving(keys, holds, under_way)).tolist()
        if not moving:
            return []
        clears = 1.0 - holds if rule.clear_condition is None else truth(rule.clear_condition, rule.place, view, keys)
        timing = replace(rule.timing, hold_ms=max(rule.timing.hold_ms, self.hold_ms))
        known = there(rule.condition, rule.place, view, keys) if absent else None
        turns: list[Turn] = []
        for at in moving:
            before, story = under_way.get(keys[at], NEW), (view.ticks, holds[at], clears[at])
            if known is None:
                after, changes = advance(before, *story, timing)
            else:
                after, changes = advance_known(before, *story, known[at], timing)
            self._keep(rule.name, keys[at], after)
            turns += [Turn(rule.name, keys[at], change) for change in changes]
        return turns

    def _keep(self, rule: str, key: Key, standing: Standing) -> None:
        """An inactive instance needs no memory: its next tick counts from itself."""
        if standing.phase is not Phase.INACTIVE:
            self.by_rule.setdefault(rule, {})[key] = standing
        elif rule in self.by_rule and self.by_rule[rule].pop(key, None) is not None and not self.by_rule[rule]:
            del self.by_rule[rule]

    def firing(self) -> Mapping[tuple[str, Key], Standing]:
        """Those that fire."""
        return {where: one for where, one in self.standings.items() if one.phase is Phase.FIRING}

    def let_go(self, rule: str, key: Key) -> None:
        """An instance that is there no more stands nowhere."""
        self._keep(rule, key, NEW)

    def forget(self, rule: str) -> None:
        """A rule that is gone, or is another now, stands nowhere."""
        self.by_rule.pop(rule, None)


def _worked(view: View) -> dict[int, Condition]:
    """Conditions that were worked out when they were last asked for, of the same series, by identity."""
    return view.memory.of(("worked",), None, dict[int, Condition])


def _is_quiet(rule: Rule, view: View) -> bool:
    """Whether a rule surely holds nowhere, by bounds of what it reads. Of one that was never worked out, or could not
    be when it was last, that is not said: nobody would learn of its fault."""
    worked = _worked(view)
    if len(view.ticks) != 1 or worked.pop(id(rule.condition), None) is None:
        return False
    if surely_quiet(rule.condition, rule.place, view):
        worked[id(rule.condition)] = rule.condition
        return True
    return False


def _worked_out(rule: Rule, view: View, keys: list[Key]) -> Floats:
    """Where the condition of a rule holds."""
    worked = _worked(view)
    worked.pop(id(rule.condition), None)
    holds = truth(rule.condition, rule.place, view, keys)
    worked[id(rule.condition)] = rule.condition  # which keeps it alive, with its identity
    return holds


def _moving(keys: list[Key], holds: Floats, under_way: Mapping[Key, Standing]) -> Bools:
    """The instances that may change: something holds, or something is under way."""
    found = np.asarray((holds == 1.0).any(axis=1))
    return found | np.array([key in under_way for key in keys]) if under_way else found
