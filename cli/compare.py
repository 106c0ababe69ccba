"""`runs compare`: which of two runs is faster at equal concurrency; a gate for continuous integration."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any

from cli import configs, console
from cli.words import say
from dashboard.api.parameters import ParameterError
from dashboard.comparison import Comparisons, chosen
from dashboard.comparison_words import apart, below, signed
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.tail import Tail
from settings import Settings
from storage.errors import StoreError
from storage.store import open_store
from telemetry import formatting
from telemetry.model import Unit

OK, SLOWER, REFUSED, TOO_SHORT, APART = 0, 1, 2, 4, 5
LEAST, MOST = 50.0, 200.0
"""Percent of the first run's speed that may be asked for; below it somebody meant the difference."""
USAGE = "runs compare ID ID… [--json] [--fail-below PERCENT]"
HEAD = ("Measure", "First", "Second", "Difference", "95 % sure between", "Smallest to be seen", "Verdict")


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0: said, and fast enough; 1: slower than allowed; 2: cannot be asked so, or the store says no; 4: too short to
    say; 5: not comparable. Of several runs, the first of 1, 5 and 4 that is true of any."""
    try:
        limit = _limit(options.get("fail_below"))
        found = _found(settings, list(options.get("words") or ()))
    except (ParameterError, StoreError, ValueError) as error:
        say(*str(error).splitlines(), error=True)
        return REFUSED
    told = [_judged(found, run, limit) for run in found["runs"][1:]]
    if options.get("json"):
        print(json.dumps({**found, "status": _status(told)}))
    else:
        say(*_lines(found))
    for _, sentence in told:
        if sentence:
            say(sentence, error=True)
    return _status(told)


def _limit(given: str | None) -> float | None:
    """The least share of the first run's speed, from a percentage."""
    if given is None:
        return None
    try:
        percent = float(given.removesuffix("%"))
    except ValueError:
        percent = float("nan")
    if not LEAST <= percent <= MOST:
        raise ValueError(
            f"--fail-below is “{given}”, expected which percentage of the first run's speed is needed, from {LEAST:g} "
            f"to {MOST:g}: 95 allows 5 % less"
        )
    return percent / 100.0


def _found(settings: Settings, words: Sequence[str]) -> dict[str, Any]:
    if len(words) < 2:
        raise ValueError(f"name two to eight runs by their numbers; {USAGE}")
    store = open_store(settings.store, writer=False, now_ms=console.now_ms())
    try:
        sources = Sources(store, Tail(store), console.now_ms)
        told = configs.comparison(settings)
        comparisons = Comparisons(sources, RunNumbers(sources), *told)
        return comparisons.of(*chosen(store, {"runs": ",".join(words)}))
    finally:
        store.close()


def _main(found: Mapping[str, Any], run: Mapping[str, Any]) -> Mapping[str, Any]:
    """The verdict on a run that counts."""
    own: Sequence[Mapping[str, Any]] = found["verdicts"]
    return next(one for one in own if one["run"] == run["id"] and one["main"])


def _judged(found: Mapping[str, Any], run: Mapping[str, Any], limit: float | None) -> tuple[int, str]:
    """(exit status, what to say of it) of one run against the first."""
    one = _main(found, run)
    if one["word"] == "not comparable":
        return APART, one["text"]
    if one["word"] == "too short":
        return TOO_SHORT, one["text"]
    if limit is None:
        return OK, ""
    low, high = sorted(_speed(one, end) for end in ("low", "high"))
    asked = f"{limit:.0%} of “{found['runs'][0]['name']}”"
    between = f"“{run['name']}” runs at {low:.1%} to {high:.1%} of its speed"
    if high < limit:
        return SLOWER, f"Slower than allowed: {between}, asked for is {limit:.1%}."
    if low < limit:
        return TOO_SHORT, f"Too short to say whether it reaches {asked}: {between}."
    return OK, ""


def _speed(one: Mapping[str, Any], end: str) -> float:
    """A bound of the difference as share of the first run's speed."""
    ratio = 1.0 + float(one[end])
    return ratio if one["unit"] == Unit.TOKENS_PER_SECOND.value else 1.0 / ratio


def _status(told: Sequence[tuple[int, str]]) -> int:
    statuses = {status for status, _ in told}
    return next((one for one in (SLOWER, APART, TOO_SHORT) if one in statuses), OK)


def _lines(found: Mapping[str, Any]) -> list[str]:
    first, *others = found["runs"]
    lines = []
    for run in others:
        one = _main(found, run)
        lines += [f"{run['name']} (run {run['id']}) against {first['name']} (run {first['id']}): {one['head']}"]
        lines += [below(one), *one["notes"], ""]
        lines += [*table([HEAD, *(_row(other) for other in found["verdicts"] if other["run"] == run["id"])]), ""]
    lines += [f"{run['name']}: {run['limit_text']}" for run in found["runs"]]
    names = [run["name"] for run in found["runs"]]
    if found["fingerprint"]:
        fields = [(one["label"], *(value or "not known" for value in one["values"])) for one in found["fingerprint"]]
        lines += ["", *table([("What differs", *names), *fields])]
    if found["table"]:
        numbers = [(one["label"], *_numbers(one)) for one in found["table"]]
        heads = [name for other in names[1:] for name in (other, "±")]
        lines += ["", *table([("Of the whole runs", names[0], *heads), *numbers])]
    return lines


def _row(one: Mapping[str, Any]) -> tuple[str, ...]:
    if one["difference"] is None:
        return (one["label"], "", "", "", "", "", one["text"])
    unit = Unit(one["unit"])
    shown = [formatting.text(value, unit) for value in one["values"]]
    between = "" if one["low"] is None else f"{signed(one['low'])} to {signed(one['high'])}"
    smallest = formatting.text(one["smallest"], Unit.RATIO)
    return (one["label"], *shown, signed(one["difference"]), between, smallest, one["head"])


def _numbers(one: Mapping[str, Any]) -> list[str]:
    unit = Unit(one["unit"])
    shown = [formatting.text(value, unit) for value in one["values"]]
    pairs = zip(shown[1:], one["differences"][1:], strict=True)
    return [shown[0], *(text for value, difference in pairs for text in (value, apart(difference, unit)))]


def table(rows: Sequence[Sequence[str]]) -> list[str]:
    """Rows as lines whose columns stand below each other."""
    widths = [max(len(row[column]) for row in rows) for column in range(len(rows[0]))]
    return ["  ".join(cell.ljust(width) for cell, width in zip(row, widths, strict=True)).rstrip() for row in rows]
