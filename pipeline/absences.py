"""Absences: from when to when, and why, a target or one of its metrics had no value. Pure; one book for all targets."""

from __future__ import annotations

from collections.abc import Mapping

from storage.records import Absence

Place = tuple[str, str | None]
"""A target, and a metric of it, or None for the target as a whole."""


class AbsenceBook:
    """Keeps the open absences and turns what is missing now into absences that open and close."""

    def __init__(self, still_open: list[Absence] | None = None) -> None:
        self._open: dict[Place, Absence] = {(one.target, one.metric): one for one in still_open or []}
        self._opened: list[Absence] = []
        self._closed: list[Absence] = []

    def missing(self, place: Place, reason: str, since_ms: int) -> None:
        """This place has no value since then, for this reason; a new reason starts a new absence."""
        current = self._open.get(place)
        if current is not None and current.reason == reason:
            return
        if current is not None:
            self._close(place, since_ms)
        absence = Absence(place[0], place[1], since_ms, None, reason)
        self._open[place] = absence
        self._opened.append(absence)

    def present(self, place: Place, now_ms: int) -> None:
        """This place has a value again."""
        if place in self._open:
            self._close(place, now_ms)

    def metrics(self, target: str, missing: Mapping[str, str], now_ms: int) -> None:
        """Which metrics of an answering target are missing now, and why; all others are present."""
        for name in [metric for owner, metric in self._open if owner == target and metric is not None]:
            if name not in missing:
                self._close((target, name), now_ms)
        for name, reason in missing.items():
            self.missing((target, name), reason, now_ms)

    def drain(self) -> tuple[list[Absence], list[Absence]]:
        """What opened and what closed since the last call. One that opened and closed meanwhile is in both."""
        opened, closed = self._opened, self._closed
        self._opened, self._closed = [], []
        return opened, closed

    def _close(self, place: Place, now_ms: int) -> None:
        one = self._open.pop(place)
        self._closed.append(Absence(one.target, one.metric, one.start_ms, max(now_ms, one.start_ms), one.reason))
