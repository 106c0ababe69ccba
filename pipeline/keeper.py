"""Keeper: gives up what is old, and before its time what there is no room for: oldest samples first, never the newest.

All of it is I/O in slices, for a thread beside the ticks.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from datetime import UTC, datetime
from typing import Any

from pipeline import retention
from pipeline.config import Keep
from pipeline.retention import DAY_MS, HOUR_MS, NEWEST_MS, Rule
from storage.records import Weight
from storage.store import Store

NOTE = "upkeep"
"""Name of the note that the web shows."""
MEASURED_HOURS = 24
LIVED_MS = 7 * DAY_MS
Ranges = Sequence[tuple[int, int]]
"""(start, end), milliseconds."""


def nothing_pinned() -> Ranges:
    """What is kept whatever its age, where nobody has pinned anything."""
    return ()


def lived(store: Store, now_ms: int) -> bool:
    """Whether something was recorded a day before an instant, and not only a week before: by a clock that was set to
    another year everything would be too old at once, and whoever set it has a day to notice."""
    return bool(store.sealed(now_ms - LIVED_MS, now_ms - DAY_MS - HOUR_MS))


@dataclass
class Keeper:
    """One store's. kept: stretches that are never given up, asked anew each time. say: told (level, sentence) of what
    people should know; level "warning" or "critical"."""

    store: Store
    keep: Keep
    say: Callable[[str, str], None]
    kept: Callable[[], Ranges] = nothing_pinned
    _weights: dict[int, Weight | None] = field(default_factory=dict)
    _early: dict[str, Any] | None = None
    _told: str = ""

    def by_age(self, now_ms: int) -> int:
        """Give up samples, then summaries and what belongs to their time; target-hours whose samples went."""
        if not lived(self.store, now_ms):
            return 0
        kept = self.kept()
        gone = self.store.forget(now_ms - retention.samples_ms(self.keep), kept)
        before = now_ms - retention.summaries_ms(self.keep)
        self.store.drop_summaries(before, kept)
        self.store.tidy(before, kept)
        return gone

    def make_room(self, now_ms: int) -> int:
        """Give up the oldest until there is room for what comes next; hours that went."""
        need = retention.need(self.store.rows_per_hour())
        room, rule = retention.left(self.keep, self.store.room())
        if rule is None or room >= need:
            self._told = "" if room >= 2 * need else self._told
            return 0
        hours = 0
        while room < 2 * need and self._give_up_one(rule, now_ms):
            hours += 1
            room, _ = retention.left(self.keep, self.store.room())
        if not hours and room < need:
            self._tell("critical", f"nothing more can be given up: {_REASON[rule]}; free some room or raise the limit")
        return hours

    def _give_up_one(self, rule: Rule, now_ms: int) -> bool:
        kept = self.kept()
        hour = self.store.oldest_samples(kept)
        if hour is not None and hour + HOUR_MS <= now_ms - NEWEST_MS:
            self.store.forget(hour + HOUR_MS, kept)
            self._went("samples", hour, rule, now_ms)
            return True
        hour = self.store.oldest_summaries(kept)
        if (
            hour is not None
            and hour + HOUR_MS <= now_ms - NEWEST_MS
            and self.store.drop_summaries(hour + HOUR_MS, kept)
        ):
            self._went("summaries", hour, rule, now_ms)
            return True
        return False

    def _went(self, what: str, hour: int, rule: Rule, now_ms: int) -> None:
        self._early = {"what": what, "hour": hour, "rule": rule.value, "at_ms": now_ms}
        day = f"{datetime.fromtimestamp(hour / 1000, UTC):%F}"
        self._tell("warning", f"{what} of {day} are given up before their time: {_REASON[rule]}")

    def _tell(self, level: str, text: str) -> None:
        """Once for as long as it is the same: a day of samples goes hour by hour."""
        if text != self._told:
            self.say(level, text)
        self._told = text

    def note(self, now_ms: int) -> None:
        """Measure what a day adds, and leave word for those who show it."""
        hours = [hour for hour in self.store.newest_hours(MEASURED_HOURS) if hour > now_ms - MEASURED_HOURS * HOUR_MS]
        known = {hour: self._weights[hour] for hour in hours[1:] if hour in self._weights}
        # The newest hour is weighed each time: targets are sealed one after the other.
        self._weights = known | {hour: self.store.weigh(hour) for hour in hours if hour not in known}
        weights = [weight for weight in self._weights.values() if weight is not None]
        step_ms = min((target.interval_ms for target in self.store.targets()), default=1000)
        rate = retention.growth(weights, step_ms)
        self.store.note(NOTE, retention.as_json(self.keep, rate, self._early, now_ms))


_REASON = {
    Rule.SIZE: "the store has reached its size limit",
    Rule.DISK: "the disk of the store is nearly full",
}
