"""Alarms: rules are read at every tick; what fires, ends, or was asked for by people becomes rows of that very tick.

No I/O: what this gives is committed with the samples of the tick, where the rules stand included. So an alert fires and
ends exactly once, whenever the collector is killed.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from typing import Any

from alerts import chain
from alerts.book import Book, Turn
from alerts.causes import Firing, causes
from alerts.machine import Phase, Standing
from alerts.message import message
from alerts.operands import operands
from alerts.places import Key, Members, is_gone
from alerts.record import (
    MATCHERS,
    Alert,
    RuleChange,
    RuleState,
    Silence,
    fault_state,
    faults,
    of_instances,
    standings_json,
    standings_of,
)
from alerts.renewed import decisive, is_kept, renewed
from alerts.rule import Rule
from alerts.rulebook import Rulebook
from alerts.view import View
from alerts.weekly import weekly_of
from pipeline.alert_orders import LONGEST_SILENCE_MS, OVER_MS
from pipeline.inbox import Asked
from pipeline.lately import LATELY_MS, WELL, Lately
from pipeline.orders import fault
from pipeline.vanished import Vanished
from storage.alerts import AlertFilter
from storage.records import Done, MarksMoved
from storage.store import Store
from telemetry.counters import NOMINAL_PER_GAP

CHANGED, OFF, GONE = "the rule was changed", "the rule was switched off", "the rule is gone"
UNWATCHED, AWAY = "it is not watched any more", "it is not there any more"
"""Why an alert is over."""
SOON_MS = 120_000
"""For a cause that takes longer to fire nobody is kept waiting."""

log = logging.getLogger(__name__)


@dataclass
class Raised:
    """What a tick leads to."""

    alerts: dict[int, Alert] = field(default_factory=dict)
    standings: list[RuleState] = field(default_factory=list)
    changes: list[RuleChange] = field(default_factory=list)
    silences: list[Silence] = field(default_factory=list)
    commands: list[Done] = field(default_factory=list)


class Alarms:
    """All rules of a collector. numbers: the last of an alert, of a change and of a silence. interval_ms: between two
    ticks."""

    def __init__(
        self, rulebook: Rulebook, numbers: tuple[int, int, int] = (0, 0, 0), interval_ms: float = 1000.0
    ) -> None:
        self.rulebook = rulebook
        self.book = Book(hold_ms=round(NOMINAL_PER_GAP * interval_ms))
        self.open: dict[Firing, Alert] = {}
        self.silences: dict[int, Silence] = {}
        self.lately = Lately()
        self._alert, self._change, self._silence = numbers
        self._written: dict[str, tuple[object, ...]] = {}
        self._broken: dict[str, str] = {}
        self._faults: dict[str, str] = {}
        self.vanished = Vanished()
        self._anew: set[str] = set()
        self._told = False

    def resume(self, firing: Iterable[Alert], states: Iterable[RuleState], silences: Iterable[Silence]) -> None:
        """Go on where another collector stopped."""
        self.open = {(alert.rule, alert.key): alert for alert in firing}
        self.silences = {one.id: one for one in silences}
        for silence in self.silences.values():
            if silence.problem:
                log.warning("silence %d hides nothing: %s", silence.id, silence.problem)
        states = list(states)
        self._faults = faults(states)
        self._anew = renewed(self.rulebook.rules, states, self.open.values())
        self._told = is_kept(self.rulebook.rules, states)
        for one in of_instances(states):
            try:
                found = standings_of(one.state)
            except (ValueError, TypeError):
                log.warning("where the rule %s stood is not known any more: it begins anew", one.rule)
                continue
            if found:
                self.book.by_rule[one.rule] = found
            self._written[one.rule] = _signature(found)
        self._reconcile()

    def _reconcile(self) -> None:
        """What fires has its alert, and what has one fires: where rows of a tick were lost, or are not understood any
        more, an alert would else go on for ever, or never come."""
        for rule, standings in list(self.book.by_rule.items()):
            kept = {
                key: one for key, one in standings.items() if one.phase is not Phase.FIRING or (rule, key) in self.open
            }
            self.book.by_rule[rule] = kept
            if not kept:
                self.book.forget(rule)
        for (rule, key), alert in self.open.items():
            standings = self.book.by_rule.setdefault(rule, {})
            if key not in standings or standings[key].phase is not Phase.FIRING:
                standings[key] = Standing(
                    Phase.FIRING, alert.fired_ms, alert.began_ms, seen_ms=alert.fired_ms, holds=True
                )

    def follow(self, moved: Iterable[MarksMoved]) -> None:
        """Minutes of a run are another's now: of alerts that fire, too, as the store does it of all."""
        for one in moved:
            for where, alert in self.open.items():
                if alert.run == one.run and not one.kind and one.from_ms <= alert.fired_ms <= one.until_ms:
                    self.open[where] = alert if one.to is None else replace(alert, run=one.to)

    def tick(self, tick: int, view: View, runs: Mapping[str, int], asked: Sequence[Asked] = ()) -> Raised:
        """What follows from a tick. view: of this tick. runs: deployment → number of the run that goes on."""
        raised = Raised()
        self._let_go(tick, raised)
        self._let_go_of_strangers(tick, view, raised)
        for one in asked:
            raised.commands.append(Done(one.number, tick, self._obey(one, tick, raised) or None))
        turns = [turn for rule in self.rulebook.rules.values() for turn in self._read(rule, view)]
        for turn in turns:
            self._turn(turn, view, runs, raised)
        if turns:
            self._explain(view, raised)
        self._keep_standings(raised)
        return raised

    def _read(self, rule: Rule, view: View) -> list[Turn]:
        """One rule. A defect in it must not stop the others: it is told once, and the rule is left as it stands."""
        try:
            found = self.book.read([rule], view)
        except Exception as error:
            if rule.name not in self._broken:
                log.exception("the rule %s cannot be worked out", rule.name)
            self._broken[rule.name] = f"cannot be worked out: {type(error).__name__}, {error!s:.160}"
            return []
        self._broken.pop(rule.name, None)
        return found

    def _turn(self, turn: Turn, view: View, runs: Mapping[str, int], raised: Raised) -> None:
        where = (turn.rule, turn.key)
        if turn.change.phase is Phase.FIRING and where not in self.open:
            self._alert += 1
            self._keep(self._fired(self._alert, turn, view, runs), raised)
        elif turn.change.phase is Phase.INACTIVE and where in self.open:
            self._end(where, turn.change.at_ms, WELL, raised)

    def _fired(self, number: int, turn: Turn, view: View, runs: Mapping[str, int]) -> Alert:
        rule, change = self.rulebook.rules[turn.rule], turn.change
        read = operands(rule.condition, rule.place, turn.key, view)
        deployment = view.members.deployment_of(rule.place.owner, turn.key) or ""
        return Alert(
            number,
            rule.name,
            rule.title,
            rule.place.name,
            turn.key,
            rule.severity.value,
            deployment,
            change.began_ms,
            change.at_ms,
            message(rule, turn.key, read, (change.at_ms - change.began_ms) / 1000),
            tuple(one.to_json() for one in read),
            run=runs.get(deployment),
        )

    def _keep(self, alert: Alert, raised: Raised) -> None:
        raised.alerts[alert.id] = alert
        if alert.firing:
            self.open[alert.rule, alert.key] = alert
        else:
            del self.open[alert.rule, alert.key]
            self.lately.over(alert)

    def _change_alert(self, alert: Alert, raised: Raised, **changes: object) -> None:
        self._keep(replace(alert, revision=alert.revision + 1, **changes), raised)  # type: ignore[arg-type]

    def _end(self, where: Firing, at_ms: int, why: str, raised: Raised) -> None:
        self._change_alert(self.open[where], raised, ended_ms=at_ms, ended=why)

    def _explain(self, view: View, raised: Raised) -> None:
        """Which alerts follow from which. One that was explained stays so: its cause may be over before it is, and
        what comes well after it has not led to it."""
        rules, standings = self.rulebook.rules, self.book.standings
        found = causes(self.open.keys(), rules, view.members, standings)
        numbers = {where: self.open[cause].id for where, cause in found.items()}
        numbers |= self.lately.led_to(self.open, rules, view.members, standings, int(view.ticks[-1]))
        for where, number in numbers.items():
            alert = self.open[where]
            nearer = chain.is_nearer(number, alert, self.open, numbers)
            if nearer and not chain.follows(number, alert.id, self.open):
                self._change_alert(alert, raised, cause=number)

    def _let_go(self, tick: int, raised: Raised) -> None:
        """Alerts of rules that are not there any more, switched off, or others: with the settings, while nobody
        collected."""
        for where in list(self.open):
            rule = self.rulebook.rules.get(where[0])
            if rule is None or not rule.enabled or where[0] in self._anew:
                self._end(where, tick, GONE if rule is None else CHANGED if rule.enabled else OFF, raised)
        for name in list(self.book.by_rule):
            if name not in self.rulebook.rules or not self.rulebook.rules[name].enabled or name in self._anew:
                self.book.forget(name)
        self._anew = set()
        for number, one in list(self.silences.items()):
            if one.end_ms <= tick - OVER_MS:
                del self.silences[number]

    def _let_go_of_strangers(self, tick: int, view: View, raised: Raised) -> None:
        """Alerts of what is there no more, and what would become one: see `is_gone` and `Vanished`."""
        for where in {**self.open, **self.book.standings}:
            rule = self.rulebook.rules.get(where[0])
            if rule is None:
                continue
            strange = is_gone(rule.place, where[1], view.members)
            if strange or self.vanished.look(where, rule, view, tick):
                if where in self.open:
                    self._end(where, tick, UNWATCHED if strange else AWAY, raised)
                self.book.let_go(*where)
                self.vanished.forget(where)

    def awaiting(self, members: Members, tick: int) -> set[int]:
        """Numbers of alerts that something would explain which may fire in a moment: until then nobody is told.

        Nobody is kept waiting for what is not known any more, which stays pending for as long as that lasts, nor for
        longer than anything takes that is waited for.
        """
        pending = {
            where
            for where, one in self.book.standings.items()
            if one.phase is Phase.PENDING and one.known and self._is_soon(where[0], tick - one.seen_ms)
        }
        waiting = {where for where, alert in self.open.items() if abs(tick - alert.fired_ms) <= SOON_MS}
        if not pending or not waiting:
            return set()
        found = causes(self.open.keys() | pending, self.rulebook.rules, members, self.book.standings)
        return {self.open[where].id for where, cause in found.items() if where in waiting and cause in pending}

    def _is_soon(self, rule: str, unseen_ms: int) -> bool:
        """Whether a rule whose instance is pending may fire in a moment. unseen_ms: since that was last seen."""
        known = self.rulebook.rules.get(rule)
        return known is not None and known.timing.for_ms <= SOON_MS and abs(unseen_ms) <= self.book.hold_ms

    def _keep_standings(self, raised: Raised) -> None:
        """Where rules stand, of those that stand otherwise than was written last."""
        for rule in {**self._written, **self.book.by_rule}:
            standings = self.book.by_rule.get(rule, {})
            signature = _signature(standings)
            if self._written.get(rule, ()) != signature:
                raised.standings.append(RuleState(rule, standings_json(standings)))
            self._written[rule] = signature
        raised.standings += [
            fault_state(rule, self._broken.get(rule, ""))
            for rule in {**self._faults, **self._broken}
            if self._faults.get(rule) != self._broken.get(rule)
        ]
        self._faults = dict(self._broken)
        if not self._told:
            raised.standings.append(decisive(self.rulebook.rules))
            self._told = True
        self._written = {rule: signature for rule, signature in self._written.items() if signature}

    # What people ask ------------------------------------------------------------------------------------------------

    def _obey(self, asked: Asked, tick: int, raised: Raised) -> str:
        """Carry an order out; why it cannot be, "" where it was."""
        if asked.error:
            return asked.error
        try:
            ORDERS[asked.kind](self, asked, tick, raised)
        except ValueError as error:
            return str(error)
        except Exception as error:
            log.exception("the order %d (%s) cannot be carried out", asked.number, asked.kind)
            return fault(error)
        return ""

    def acknowledge(self, asked: Asked, tick: int, raised: Raised) -> None:
        """Somebody has seen an alert."""
        alert = next((one for one in self.open.values() if one.id == asked.order["alert"]), None)
        if alert is None:
            raise ValueError(f"there is no alert {asked.order['alert']} that fires")
        if alert.acknowledged_ms is not None:
            by = f" by {alert.acknowledged_by}" if alert.acknowledged_by else ""
            raise ValueError(f"alert {alert.id} is already acknowledged{by}")
        self._change_alert(alert, raised, acknowledged_ms=tick, acknowledged_by=asked.order["by"] or "")

    def silence(self, asked: Asked, tick: int, raised: Raised) -> None:
        """Nobody is told of what matches, from now or from then on."""
        order = asked.order
        start_ms, end_ms = order["start_ms"] or tick, order["end_ms"]
        if end_ms <= max(start_ms, tick):
            raise ValueError("a silence ends after it begins, and not before now")
        if end_ms - start_ms > LONGEST_SILENCE_MS:
            raise ValueError("a silence is at most a year long")
        if start_ms - tick > LONGEST_SILENCE_MS:
            raise ValueError("a silence begins within a year")
        if order["rule"] and order["rule"] not in self.rulebook.rules:
            raise ValueError(f"there is no rule {order['rule']}")
        self._silence += 1
        texts: dict[str, Any] = {name: order[name] or "" for name in (*MATCHERS, "comment", "by")}
        weekly = None if order["weekly"] is None else weekly_of(order["weekly"])
        self._keep_silence(Silence(self._silence, start_ms, end_ms, made_ms=tick, weekly=weekly, **texts), raised)

    def unsilence(self, asked: Asked, tick: int, raised: Raised) -> None:
        """A silence ends now; one that was planned never begins."""
        one = self.silences.get(asked.order["silence"])
        if one is None or one.end_ms <= tick:
            raise ValueError(f"there is no silence {asked.order['silence']} that holds or is to come")
        self._keep_silence(replace(one, start_ms=min(one.start_ms, tick), end_ms=tick), raised)

    def _keep_silence(self, one: Silence, raised: Raised) -> None:
        raised.silences.append(one)
        self.silences[one.id] = one

    def rule(self, asked: Asked, tick: int, raised: Raised) -> None:
        """Other fields of a rule, or a new rule."""
        name = asked.order["name"]
        self._apply(name, self.rulebook.changed(name, asked.order["table"]), asked, tick, raised)

    def enable(self, asked: Asked, tick: int, raised: Raised) -> None:
        """A rule is switched on or off."""
        name = asked.order["name"]
        if name not in self.rulebook.rules:
            raise ValueError(f"there is no rule {name}")
        self._apply(name, self.rulebook.changed(name, {"enabled": asked.order["on"]}), asked, tick, raised)

    def reset(self, asked: Asked, tick: int, raised: Raised) -> None:
        """A rule is again what it was before people changed it."""
        name = asked.order["name"]
        self.rulebook.check_reset(name)
        self._apply(name, None, asked, tick, raised)

    def _apply(self, name: str, table: Mapping[str, object] | None, asked: Asked, tick: int, raised: Raised) -> None:
        before = self.rulebook.rules.get(name)
        self.rulebook.apply(name, table)
        self._change += 1
        raised.changes.append(RuleChange(self._change, name, table, tick, asked.order["by"] or ""))
        self._broken.pop(name, None)
        self._told = False
        now = self.rulebook.rules.get(name)
        if before is not None and (now is None or not _same(before, now)):
            self.book.forget(name)
            for where in [where for where in self.open if where[0] == name]:
                self._end(where, tick, GONE if now is None else CHANGED if now.enabled else OFF, raised)


Order = Callable[[Alarms, Asked, int, Raised], None]
ORDERS: Mapping[str, Order] = {
    "acknowledge": Alarms.acknowledge,
    "silence": Alarms.silence,
    "unsilence": Alarms.unsilence,
    "rule": Alarms.rule,
    "enable": Alarms.enable,
    "reset": Alarms.reset,
}
"""Kind of an order → what carries it out."""


def _same(before: Rule, now: Rule) -> bool:
    """Whether instances go on as they stand: only other words, or another severity."""
    asked = ("place", "condition", "clear_condition", "timing", "enabled")
    return all(getattr(before, name) == getattr(now, name) for name in asked)


def _signature(standings: Mapping[Key, Standing]) -> tuple[object, ...]:
    """What of standings matters for going on: when they were seen last does not while nothing is counted."""
    return tuple(
        (key, replace(one, seen_ms=one.seen_ms if one.counting else 0)) for key, one in sorted(standings.items())
    )


def alarms_of(store: Store, rulebook: Rulebook, now_ms: int, interval_ms: float = 1000.0) -> Alarms:
    """Those that go on where the store ends."""
    found = Alarms(rulebook, store.alert_numbers(), interval_ms)
    found.resume(store.alerts(AlertFilter(firing=True)), store.standings(), store.silences(now_ms))
    found.lately = Lately(store.alerts(AlertFilter(firing=False, start_ms=now_ms - LATELY_MS)))
    return found
