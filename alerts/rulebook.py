"""Rules as they hold: those of the product, over them the settings file, over that what people changed."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import Any

from alerts.defaults import Tables, defaults, merged
from alerts.record import RuleChange
from alerts.rule import Rule, RuleError, refuse_circles, rule, rules, unread

DEFAULT, FILE, PAGE = "default", "file", "page"
"""Where a value comes from."""
MOST_RULES = 500
Table = Mapping[str, Any]


class Rulebook:
    """rules: by name, in order. problems: what people once changed and cannot be used any more, a sentence each."""

    def __init__(self, file: Tables | None = None, changes: Iterable[RuleChange] = ()) -> None:
        """RuleError for a wrong table of the file; what people changed is left out where it is wrong by now."""
        self._below = merged(defaults(), file or {})
        self._layers: tuple[tuple[str, Tables], ...] = ((DEFAULT, defaults()), (FILE, file or {}))
        self._people: dict[str, Table] = {}
        self.problems: list[str] = []
        self.rules: dict[str, Rule] = rules(self._below, file or ())
        for change in changes:
            self._lay(change.name, change.table)
        for name, table in list(self._people.items()):
            self._use(name, table)

    def _lay(self, name: str, table: Table | None) -> None:
        self._people.pop(name, None)
        if table is not None:
            self._people[name] = table

    def _use(self, name: str, table: Table) -> None:
        try:
            self.rules[name] = self._made(name, table)
        except RuleError as error:
            self.problems.append(f"what was changed of it is left out: {error}")
            del self._people[name]

    def _made(self, name: str, table: Table | None) -> Rule:
        below = {name: self._below[name]} if name in self._below else {}
        found = merged(below, {} if table is None else {name: table})
        made = rule(name, found[name])
        missing = [one for one in made.because_of if one not in self.rules and one not in self._people]
        if missing:
            raise RuleError(name, [f"because_of names {one}, which is no rule" for one in missing])
        refuse_circles((name,), {**self.rules, name: made})
        return made

    def changed(self, name: str, given: Table) -> Table:
        """What people's fields of a rule are with these over them; a field that is None is taken away.

        RuleError, with a sentence for each thing that is wrong, where the rule that it makes is none.
        """
        found = merged({name: self._people.get(name, {})}, {name: _without_none(given)})[name]
        for field in (field for field, value in given.items() if value is None):
            found.pop(field, None)
        if name not in self.rules and len(self.rules) >= MOST_RULES:
            raise RuleError(name, [f"there are {MOST_RULES} rules already"])
        wrong = unread(self._made(name, found), _without_none(given).get("settings", {}))
        if wrong:
            raise RuleError(name, wrong)
        return found

    def check_reset(self, name: str) -> None:
        """RuleError where a rule cannot go back to what it was before people changed it."""
        if name not in self._people:
            raise RuleError(name, ["nobody has changed it here" if name in self.rules else "there is no such rule"])
        named = [one.name for one in self.rules.values() if name in one.because_of and one.name != name]
        if name not in self._below and named:
            raise RuleError(name, [f"{', '.join(named)} may be because of it"])
        if name in self._below:
            self._made(name, None)

    def apply(self, name: str, table: Table | None) -> None:
        """Let a change hold that was checked; None: as it was before people changed it."""
        self._lay(name, table)
        if table is None and name not in self._below:
            del self.rules[name]
        else:
            self.rules[name] = self._made(name, table)

    def table(self, name: str) -> dict[str, Any]:
        """All fields of a rule as they hold."""
        return merged({name: self._below.get(name, {})}, {name: self._people.get(name, {})})[name]

    def origins(self, name: str) -> dict[str, str]:
        """Where each field of a rule comes from, and each setting as "settings.NAME"."""
        found: dict[str, str] = {}
        for origin, layer in (*self._layers, (PAGE, self._people)):
            for field, value in layer.get(name, {}).items():
                if field == "settings":
                    found.update({f"settings.{setting}": origin for setting in value})
                else:
                    found[field] = origin
        return found


def _without_none(table: Table) -> dict[str, Any]:
    return {field: value for field, value in table.items() if value is not None}
