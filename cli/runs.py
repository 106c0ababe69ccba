"""`runs`: what was recorded as runs, as tables or JSON; and what people do to them, through the collector."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping, Sequence
from dataclasses import fields
from typing import Any

from cli import compare, console, report
from cli.columns import aligned
from cli.console import FAILED, NOT_THERE, REFUSED, UNHEARD, few, instant, said
from cli.numbers import number
from cli.words import say
from dashboard.api import parameters
from dashboard.api import run_answers as route
from dashboard.api.benchmark_answers import moved
from dashboard.api.parameters import ParameterError
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.model import Measured
from settings import Settings
from storage.errors import StoreError
from storage.store import open_store
from telemetry import formatting
from telemetry.model import Unit

USAGE = (
    "runs list | show ID | compare ID ID… | start DEPLOYMENT [NAME] | stop ID | rename ID NAME | "
    "label ID KEY=VALUE | tag ID TAG… | note ID TEXT | annotate ID TEXT --at TIME | "
    "trim ID --start TIME --end TIME | merge ID ID | split ID --at TIME | "
    "pin ID | baseline ID | nodes ID NODE… | measured ID FIELD=VALUE… | move ID ID | delete ID… | report ID | "
    "export ID FILE | import FILE"
)
COLUMNS = ("ID", "Name", "Model", "Began", "Length", "Decode", "Peak", "Prefill", "Tokens out", "Requests", "Tags")
HEADS: Sequence[tuple[str, Unit]] = (
    ("speed.seconds", Unit.SECONDS),
    ("speed.decode_mean", Unit.TOKENS_PER_SECOND),
    ("speed.decode_peak", Unit.TOKENS_PER_SECOND),
    ("speed.prefill_throughput", Unit.TOKENS_PER_SECOND),
    ("requests.output", Unit.TOKENS),
    ("requests.finished", Unit.REQUESTS),
)
ORIGINS = {"benchmark": "benchmark", "foreign": "imported"}
"""Who began a run that came from outside → how it is marked."""
FILTERS = ("deployment", "tag", "text", "label", "state", "start", "end", "limit")


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when it is done; 1 when the store or the collector says no, 2 for what cannot be asked so, 3 when no collector
    has carried it out. `compare` has its own."""
    if options["action"] == "compare":
        return compare.main(settings, options)
    try:
        store = open_store(settings.store, writer=False, now_ms=console.now_ms())
    except StoreError as error:
        return said(error, FAILED)
    try:
        return _do(Sources(store, Tail(store), console.now_ms), options)
    except ParameterError as error:
        return said(error, FAILED if error.status == NOT_THERE else REFUSED)
    except ValueError as error:
        return said(error, REFUSED)
    except StoreError as error:
        return said(error, FAILED)
    finally:
        store.close()


def _do(sources: Sources, options: Mapping[str, Any]) -> int:
    action, words = options["action"], list(options.get("words") or ())
    few(f"runs {action}", words, MOST_WORDS)
    if action == "list":
        return _list(sources, options)
    if action == "show":
        return _show(sources, _id(words), options)
    if action in report.ACTIONS:
        return report.ACTIONS[action](sources, words, options)
    if action not in (*ORDERS, *FROM_STORE):
        raise ValueError(f"runs {action}: there is no such thing; {USAGE}")
    from_store = action in FROM_STORE
    given = FROM_STORE[action](sources, words, options) if from_store else ORDERS[action](words, options)
    return max(_order(sources, {"kind": action, **one}, options) for one in given)


def _id(words: Sequence[str], place: int = 0) -> int:
    return number(words[place] if len(words) > place else "", f"name a run by its number; {USAGE}")


Given = list[dict[str, Any]]


def _text(words: Sequence[str]) -> str:
    return " ".join(words[1:])


def _start(words: Sequence[str], _options: Mapping[str, Any]) -> Given:
    if not words:
        raise ValueError(f"name the deployment; {USAGE}")
    return [{"deployment": words[0], **({"name": _text(words)} if len(words) > 1 else {})}]


def _run(words: Sequence[str], _options: Mapping[str, Any]) -> Given:
    return [{"run": _id(words)}]


def _switch(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    return [{"run": _id(words), "on": not options.get("off")}]


def _label(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    pairs = [word.partition("=") for word in words[1:]]
    if not pairs or (not options.get("off") and not all(equals for _, equals, _ in pairs)):
        raise ValueError("a label is KEY=VALUE")
    return [{"run": _id(words), "key": key, "value": None if options.get("off") else value} for key, _, value in pairs]


def _tag(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    if len(words) < 2:
        raise ValueError("name a tag")
    return [{"run": _id(words), "tag": tag, "on": not options.get("off")} for tag in words[1:]]


def _instants(options: Mapping[str, Any], *names: str) -> dict[str, int | None]:
    now, given = console.now_ms(), {name: options.get(name) for name in names}
    return {
        f"{name}_ms": None if text is None else parameters.instant_ms(name, text, now) for name, text in given.items()
    }


def _trim(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    return [{"run": _id(words), **_instants(options, "start", "end")}]


def _annotate(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    """At a moment; now where none is given, which is in a run that goes on only."""
    return [{"run": _id(words), "text": _text(words), **_instants({"at": "now", **options}, "at")}]


def _split(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    if options.get("at") is None:
        raise ValueError("say with --at where the run is to be split")
    return [{"run": _id(words), **_instants(options, "at")}]


def _nodes(words: Sequence[str], options: Mapping[str, Any]) -> Given:
    nodes = list(words[1:])
    if not nodes and not options.get("off"):
        raise ValueError("name the nodes that took part, or say --off: then it is found by evidence")
    return [{"run": _id(words), "nodes": None if options.get("off") else nodes}]


def _measured(sources: Sources, words: Sequence[str], options: Mapping[str, Any]) -> Given:
    """What is said is added to what was said before; FIELD= takes a field off, --off all of them."""
    run_id, pairs = _id(words), [word.partition("=") for word in words[1:]]
    if options.get("off"):
        return [{"run": run_id, "measured": {}}]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise ValueError(f"say FIELD=VALUE; fields are {', '.join(one.name for one in fields(Measured))}")
    run = sources.store.run(run_id)
    before = {} if run is None else run.measured.to_json()
    return [{"run": run_id, "measured": before | {key: value for key, _, value in pairs}}]


def _move(sources: Sources, words: Sequence[str], options: Mapping[str, Any]) -> Given:
    """A benchmark's result, to another run or apart from all."""
    given = {"run": _id(words), "key": options.get("key")}
    if len(words) < 2 and not options.get("apart"):
        raise ValueError("name the run that the result belongs to, or say --apart")
    return [moved(sources, RunNumbers(sources), given | {"to": None if options.get("apart") else _id(words, 1)})]


def _delete(words: Sequence[str], _options: Mapping[str, Any]) -> Given:
    return [{"run": _id(words, place)} for place in range(max(len(words), 1))]


ORDERS: Mapping[str, Callable[[Sequence[str], Mapping[str, Any]], Given]] = {
    "start": _start,
    "stop": _run,
    "rename": lambda words, _: [{"run": _id(words), "name": _text(words)}],
    "label": _label,
    "tag": _tag,
    "note": lambda words, _: [{"run": _id(words), "text": _text(words)}],
    "annotate": _annotate,
    "trim": _trim,
    "merge": lambda words, _: [{"run": _id(words), "other": _id(words, 1)}],
    "split": _split,
    "pin": _switch,
    "baseline": _switch,
    "nodes": _nodes,
    "delete": _delete,
}
"""What people do to runs → the bodies of the API's commands that it is."""
FROM_STORE: Mapping[str, Callable[[Sources, Sequence[str], Mapping[str, Any]], Given]] = {
    "measured": _measured,
    "move": _move,
}
"""The same, of what depends on what is there."""


def _order(sources: Sources, given: dict[str, Any], options: Mapping[str, Any]) -> int:
    found, _ = route.order(sources, given)
    if options.get("json"):
        print(json.dumps(found))
    if found["applied"] is None:
        return said(found["why"], UNHEARD)
    if found["error"] is not None:
        return said(found["error"], FAILED)
    if not options.get("json"):
        say(_done(given))
    return 0


def _done(given: Mapping[str, Any]) -> str:
    """What was carried out, in words."""
    on, off = DONE[given["kind"]]
    undone = UNDONE.get(given["kind"])
    return (on if undone is None or any(given[name] for name in undone) else off).format(**given)


DONE: Mapping[str, tuple[str, str]] = {
    "start": ("{deployment}: a run was begun; runs list shows it", ""),
    "stop": ("run {run}: over", ""),
    "rename": ("run {run}: called “{name}”", ""),
    "label": ("run {run}: labelled {key}={value}", "run {run}: label {key} taken off"),
    "tag": ("run {run}: tagged “{tag}”", "run {run}: tag “{tag}” taken off"),
    "note": ("run {run}: its note is kept", ""),
    "annotate": ("run {run}: annotated", ""),
    "trim": ("run {run}: trimmed; its numbers are worked out anew", "run {run}: trimmed no longer"),
    "merge": ("run {run} and run {other}: one run now, with the number of the earlier", ""),
    "split": ("run {run}: split; the later part is a run of its own, which runs list shows", ""),
    "pin": ("run {run}: its samples are kept", "run {run}: its samples are kept no longer"),
    "baseline": ("run {run}: the baseline now", "run {run}: the baseline no longer"),
    "nodes": ("run {run}: its nodes are named; its numbers are worked out anew", "run {run}: its nodes by evidence"),
    "measured": ("run {run}: kept how it was measured", "run {run}: how it was measured is taken off"),
    "move": ("run {run}: the result belongs to run {to} now", "run {run}: the result is a run of its own now"),
    "delete": ("run {run}: deleted", ""),
}
"""Kind of an order → what is said once it was carried out, and once it took something off."""
UNDONE: Mapping[str, Sequence[str]] = {
    **dict.fromkeys(("tag", "pin", "baseline"), ("on",)),
    "label": ("value",),
    "nodes": ("nodes",),
    "measured": ("measured",),
    "move": ("to",),
    "trim": ("start_ms", "end_ms"),
}
"""Fields of an order that takes something off where they hold nothing."""
MOST_WORDS: Mapping[str, int] = {
    "runs list": 0,
    **dict.fromkeys(("runs show", "runs stop", "runs trim", "runs split", "runs pin", "runs baseline"), 1),
    **dict.fromkeys(("runs merge", "runs move"), 2),
}
"""Words that an action takes; more than these are refused."""


def _list(sources: Sources, options: Mapping[str, Any]) -> int:
    given = {name: str(options[name]) for name in FILTERS if options.get(name) is not None}
    found = route.listed(sources, RunNumbers(sources), given)
    if options.get("json"):
        print(json.dumps(found))
        return 0
    if not found["runs"]:
        say("No run matches." if given else "No run was recorded yet.")
        return 0
    say(*aligned([COLUMNS, *(_row(run) for run in found["runs"])]).split("\n"))
    return 0


def _row(run: Mapping[str, Any]) -> tuple[str, ...]:
    numbers = run["numbers"] or {}
    shown = [formatting.text(numbers.get(path), unit) for path, unit in HEADS]
    marks = [ORIGINS[run["by"]]] if run["by"] in ORIGINS else []
    marks += [
        mark for mark, on in (("live", run["live"]), ("baseline", run["baseline"]), ("pinned", run["pinned"])) if on
    ]
    marks += ["trimmed"] if run["stretch"] != [run["start"], run["end"]] else []
    return (
        str(run["id"]),
        run["name"],
        run["model"],
        instant(run["stretch"][0]),
        *shown,
        ", ".join([*marks, *run["tags"]]),
    )


def _show(sources: Sources, run_id: int, options: Mapping[str, Any]) -> int:
    run = route.known(sources.store, run_id)
    given = {name: str(options[name]) for name in ("start", "end") if options.get(name) is not None}
    found = route.one(sources, RunNumbers(sources), run, given)
    if options.get("json"):
        print(json.dumps(found))
        return 0
    say(*_lines(found, partly=bool(given)))
    return 0


def _lines(found: Mapping[str, Any], *, partly: bool) -> list[str]:
    """partly: the numbers are of a stretch that was asked for."""
    run = found["run"]
    lines = [
        f"{run['name']} (run {run['id']} of {run['deployment']})",
        f"from {_end(run, 'start', 0)}: {run['began']}",
        "to   it goes on" if run["live"] else f"to   {_end(run, 'end', 1)}: {run['ended']}",
    ]
    if partly:
        lines.append(f"its numbers here are from {instant(found['stretch'][0])} to {instant(found['stretch'][1])}")
    lines += run["note"].split("\n") if run["note"] else []
    lines += [found["why"]] if found["why"] else []
    for section in found["summary"]:
        rows = [_entry(entry) for entry in section["entries"]]
        lines += ["", section["label"], *(aligned(rows).splitlines() or ["–"])]
    printed = [(field["label"], _shown(field["value"], field.get("unit"))) for field in found["fingerprint"]]
    lines += ["", "Ran on", *(aligned(printed).splitlines() or ["not known yet"])]
    lines += [f"{instant(mark['t'])}  {mark['kind']}: {mark['text']}" for mark in found["marks"]]
    return lines


def _end(run: Mapping[str, Any], which: str, place: int) -> str:
    """An end of what its numbers are of, and where it was trimmed, of the whole run."""
    told, own = run["stretch"][place], run[which]
    return instant(told) if told == own else f"{instant(told)}, trimmed; the whole run {instant(own)}"


def _shown(value: str, unit: str | None) -> str:
    try:
        return value if unit is None else formatting.text(float(value), Unit(unit))
    except ValueError:
        return value


def _entry(entry: Mapping[str, Any]) -> tuple[str, str, str]:
    label = f"{entry['label']} ({entry['of']})" if entry.get("of") else entry["label"]
    relation = "" if entry.get("relation", "=") == "=" else f"{entry['relation']} "
    return label, relation + formatting.text(entry["value"], Unit(entry["unit"])), entry.get("note", "")
