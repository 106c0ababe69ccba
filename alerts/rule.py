"""A rule: what is wrong, where, for how long and how bad; made of a table of texts, each refusal a sentence."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from alerts import check
from alerts import expression as ex
from alerts.holes import HOLE, limits, names
from alerts.language import parse
from alerts.machine import Timing
from alerts.places import PLACES, Place
from alerts.tokens import LanguageError, settings_in
from alerts.units import seconds_of


class Severity(Enum):
    """How bad; the order of the names is that of the badness."""

    INFO = "info"
    WARNING = "warning"
    CRITICAL = "critical"


RANK: Mapping[Severity, int] = {severity: rank for rank, severity in enumerate(Severity)}


@dataclass(frozen=True, slots=True)
class Rule:
    """One rule, checked.

    when, clear: the texts; without a text `clear` is that `when` does not hold.
    message: said when it fires, with names in braces (`alerts.holes`); "" lists what it read.
    because_of: rules that, while they fire on the same node or deployment, are the cause of this one.
    channels: names of those told; none of them named: all.
    """

    name: str
    title: str
    place: Place
    when: str
    condition: ex.Condition
    severity: Severity
    timing: Timing = field(default_factory=Timing)
    clear: str = ""
    clear_condition: ex.Condition | None = None
    text: str = ""
    runbook: str = ""
    because_of: tuple[str, ...] = ()
    channels: tuple[str, ...] = ()
    enabled: bool = True
    settings: Mapping[str, str] = field(default_factory=dict)
    message: str = ""


class RuleError(ValueError):
    """Everything that is wrong with a rule, a sentence each."""

    def __init__(self, name: str, problems: list[str]) -> None:
        super().__init__(f"rule {name}: " + "; ".join(problems))
        self.problems = problems


NAME = re.compile(r"[a-z][a-z0-9_]{0,63}")
TEXTS = ("title", "place", "when", "clear", "for", "clear_for", "severity", "message", "text", "runbook")
LISTS = ("because_of", "channels")
FIELDS = (*TEXTS, *LISTS, "enabled", "settings")
NEEDED = ("title", "place", "when", "severity")
LONGEST_TEXT = 2_000
LONGEST_FOR_S = 7 * 86_400


def rule(name: str, table: Mapping[str, Any]) -> Rule:
    """The rule that a table describes. RuleError naming all that is wrong."""
    problems = _shape(name, table)
    if problems:
        raise RuleError(name, problems)
    place = PLACES[table["place"]]
    settings = dict(table.get("settings", {}))
    when = _condition("when", table["when"], place, settings, problems)
    clear = _condition("clear", table["clear"], place, settings, problems) if table.get("clear") else None
    if when is not None:
        problems += _holes(table.get("message", ""), when, place, settings)
    timing = Timing(_milliseconds("for", table, problems), _milliseconds("clear_for", table, problems))
    if problems or when is None:
        raise RuleError(name, problems)
    return Rule(
        name,
        table["title"],
        place,
        table["when"],
        when,
        Severity(table["severity"]),
        timing,
        table.get("clear", ""),
        clear,
        table.get("text", ""),
        table.get("runbook", ""),
        tuple(table.get("because_of", ())),
        tuple(table.get("channels", ())),
        table.get("enabled", True),
        settings,
        table.get("message", ""),
    )


def _shape(name: str, table: Mapping[str, Any]) -> list[str]:
    found = [] if NAME.fullmatch(name) else [f"{name!r} is no name: small letters, digits and _, at most 64"]
    found += [f"there is no {key}: a rule has {', '.join(FIELDS)}" for key in table if key not in FIELDS]
    found += [f"{key} is missing" for key in NEEDED if not table.get(key)]
    for key in TEXTS:
        if not isinstance(table.get(key, ""), str) or len(table.get(key, "")) > LONGEST_TEXT:
            found.append(f"{key} is a text of at most {LONGEST_TEXT:,} characters, not {table[key]!r:.80}")
    for key in LISTS:
        if not isinstance(table.get(key, []), (list, tuple)) or not all(
            isinstance(one, str) for one in table.get(key, [])
        ):
            found.append(f"{key} is a list of names, not {table[key]!r:.80}")
    if not isinstance(table.get("enabled", True), bool):
        found.append(f"enabled is true or false, not {table['enabled']!r:.80}")
    settings = table.get("settings", {})
    if not isinstance(settings, Mapping) or not all(isinstance(value, str) for value in settings.values()):
        found.append('settings are texts such as "85 °C"')
    if not found and table["place"] not in PLACES:
        found.append(f"there is no place {table['place']}: it is {', '.join(PLACES)}")
    if not found and table["severity"] not in [severity.value for severity in Severity]:
        found.append(f"severity is info, warning or critical, not {table['severity']!r}")
    return found


def _condition(
    key: str, text: str, place: Place, settings: Mapping[str, str], problems: list[str]
) -> ex.Condition | None:
    try:
        found = parse(text, settings)
    except LanguageError as error:
        problems.append(f"{key}: {error} (at character {error.at + 1})")
        return None
    problems += [f"{key}: {problem}" for problem in check.problems(found, place)]
    return found


def _holes(message: str, condition: ex.Condition, place: Place, settings: Mapping[str, str]) -> list[str]:
    """What a message asks for that nobody will know."""
    known = list(dict.fromkeys([*place.labels, *names(condition), *limits(condition), *settings]))
    return [
        f"message: nothing is read that is called {name}: it is {', '.join(known)}"
        for name in HOLE.findall(message)
        if name not in known
    ]


def _milliseconds(key: str, table: Mapping[str, Any], problems: list[str]) -> int:
    try:
        seconds = seconds_of(table.get(key, "0s"))
    except ValueError as error:
        problems.append(f"{key}: {error}")
        return 0
    if seconds > LONGEST_FOR_S:
        problems.append(f"{key} is at most 7d")
    return round(seconds * 1000)


def rules(tables: Mapping[str, Mapping[str, Any]], written: Iterable[str] = ()) -> dict[str, Rule]:
    """All rules of a set of tables. RuleError for the first that is wrong, or names a cause that is none. written:
    those that somebody has just written, by which a circle is told."""
    found = {name: rule(name, table) for name, table in tables.items()}
    for one in found.values():
        missing = [cause for cause in one.because_of if cause not in found]
        if missing:
            raise RuleError(one.name, [f"because_of names {cause}, which is no rule" for cause in missing])
    refuse_circles((*written, *found), found)
    return found


def unread(rule: Rule, settings: Iterable[str]) -> list[str]:
    """What is wrong with these settings of a rule: nothing reads one."""
    read = dict.fromkeys(name for text in (rule.when, rule.clear) for name in settings_in(text))
    read |= dict.fromkeys(name for name in HOLE.findall(rule.message) if name in rule.settings)
    known = f"it has {', '.join(read)}" if read else "it has none"
    return [f"settings: nothing reads {name}: {known}" for name in settings if name not in read]


def refuse_circles(names: Iterable[str], among: Mapping[str, Rule]) -> None:
    """RuleError where one of these rules is, in the end, because of itself: each would be told as what follows from
    another, and so none."""
    for name in names:
        if way := _circle(name, among):
            raise RuleError(name, [f"because_of goes in a circle: {' → '.join(way)}"])


def _circle(name: str, among: Mapping[str, Rule]) -> list[str]:
    """The shortest way from a rule to itself along because_of, [] where there is none."""
    ways, seen = [[name]], set[str]()
    while ways:
        found = [[*way, cause] for way in ways for cause in among[way[-1]].because_of if cause in among]
        if done := next((way for way in found if way[-1] == name), None):
            return done
        ways = list({way[-1]: way for way in found if way[-1] not in seen}.values())
        seen |= {way[-1] for way in ways}
    return []
