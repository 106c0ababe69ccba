"""The rules as they hold, for whoever asks every second."""

from __future__ import annotations

from collections.abc import Mapping

from alerts.defaults import Tables
from alerts.rule import Rule
from alerts.rulebook import Rulebook
from storage.store import Store


class Rules:
    """Made anew only when somebody has changed one: reading fifty of them takes 14 ms. file: those of the settings."""

    def __init__(self, file: Tables, store: Store) -> None:
        self._file, self._store = file, store
        self._stamp: int | None = None
        self._rules: Mapping[str, Rule] = {}

    def __call__(self) -> Mapping[str, Rule]:
        """By name. StoreError."""
        changes = self._store.rule_changes()
        stamp = max((change.id for change in changes), default=0)
        if stamp != self._stamp:
            self._stamp, self._rules = stamp, Rulebook(self._file, changes).rules
        return self._rules
