"""Rules that are others than when it was written where they stand: the settings file changed while nobody collected."""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping, Sequence

from alerts.record import WRITTEN, Alert, RuleState
from alerts.rule import Rule


def decisive(rules: Mapping[str, Rule]) -> RuleState:
    """What is kept of rules, so that a collector that starts anew can tell which are others by now."""
    return RuleState(WRITTEN, [[name, _decides(one)] for name, one in rules.items()])


def is_kept(rules: Mapping[str, Rule], states: Sequence[RuleState]) -> bool:
    """Whether what is kept is of these very rules."""
    return any(one.rule == WRITTEN and list(one.state) == decisive(rules).state for one in states)


def renewed(rules: Mapping[str, Rule], states: Iterable[RuleState], firing: Iterable[Alert]) -> set[str]:
    """Names of rules of which something else decides than what was kept; where nothing was, as by an earlier version,
    those that look elsewhere than where an alert of theirs fires."""
    before = {name: text for one in states if one.rule == WRITTEN for name, text in one.state}
    elsewhere = {one.rule for one in firing if one.rule in rules and rules[one.rule].place.name != one.place}
    return elsewhere | {name for name, one in rules.items() if name in before and before[name] != _decides(one)}


def _decides(one: Rule) -> str:
    """Where a rule looks, when it holds and when no more, as people wrote it; not its words, nor how grave it is."""
    asked = {name: value for name, value in one.settings.items() if f"${name}" in one.when + one.clear}
    return json.dumps([one.place.name, one.when, one.clear, asked, one.timing.for_ms, one.timing.clear_for_ms])
