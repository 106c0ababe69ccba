"""`alerts`: what fires and fired, rules and silences, as tables or JSON; and what people do to them."""

from __future__ import annotations

import json
import tomllib
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from alerts.defaults import defaults, merged
from alerts.record import MATCHERS
from alerts.weekly import weekly_text
from cli import channels, configs, console, destinations
from cli.columns import aligned
from cli.console import FAILED, NOT_THERE, REFUSED, UNHEARD, few, instant, said
from cli.files import text_of
from cli.numbers import number
from cli.words import say
from dashboard.api import alert_answers as answers
from dashboard.api import parameters, rule_answers
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from pipeline.tail import Tail
from settings import Settings
from settings.forms import RefusedError
from settings.rules import RULES
from storage.errors import StoreError
from storage.store import open_store
from telemetry import formatting
from telemetry.model import Unit

USAGE = (
    "alerts list | show ID | ack ID | silence [COMMENT] [--rule NAME] [--node NAME] [--deployment NAME] "
    "[--severity WORD] [--weekly WINDOW] "
    "--end TIME | unsilence ID | silences | rules [NAME] | set NAME FIELD=VALUE… | enable NAME | "
    "disable NAME | reset NAME | check FILE | replay NAME | prometheus | channels | test-channel NAME"
)
ORIGINS = {"default": "as delivered", "file": "settings file", "page": "changed by people"}
"""Where a field of a rule comes from, in words: what people change comes by command line, page or API alike."""
DONE: Mapping[str, str] = {
    "acknowledge": "alert {alert}: acknowledged",
    "silence": "silenced; alerts silences shows it",
    "unsilence": "silence {silence}: over",
    "rule": "rule {name}: taken over; alerts rules {name} shows it",
    "enable": "rule {name}: switched {word}",
    "reset": "rule {name}: what people wrote of it is taken back",
}
"""Kind of an order → what is said once it was carried out."""
MOST_WORDS: Mapping[str, int] = {
    **dict.fromkeys(("alerts list", "alerts silences", "alerts prometheus", "alerts channels"), 0),
    **dict.fromkeys(("alerts show", "alerts ack", "alerts unsilence", "alerts enable", "alerts disable"), 1),
    **dict.fromkeys(("alerts reset", "alerts replay", "alerts test-channel"), 1),
}
"""Words that an action takes; more than these are refused."""
FILTERS = ("rule", "node", "deployment", "severity", "state", "start", "end", "limit")
TOLD = "told"
"""Among the options: channels of the settings."""
Options = Mapping[str, Any]


def main(settings: Settings, options: Options) -> int:
    """0 when it is done; 1 when the store or the collector says no, 2 for what cannot be asked so, 3 when no collector
    has carried it out."""
    words = list(options.get("words") or ())
    try:
        few(f"alerts {options['action']}", words, MOST_WORDS)
    except ValueError as error:
        return said(error, REFUSED)
    try:
        if options["action"] == "check":
            return _check(words)
        if options["action"] == "channels":
            return channels.channels(settings, as_json=bool(options.get("json")))
        if options["action"] == "test-channel":
            return channels.test_channel(settings, words[0] if words else "")
        file = configs.rule_tables(settings)
        told = [destinations.channel(name, table) for name, table in settings.channels.items()]
        store = open_store(settings.store, writer=False, now_ms=console.now_ms())
    except BrokenPipeError:
        raise  # nobody reads what was printed, which `cli.main` knows what to do about
    except (StoreError, OSError) as error:
        return said(error, FAILED)
    try:
        return _do(Sources(store, Tail(store), console.now_ms), file, words, {**options, TOLD: told})
    except ParameterError as error:
        return said(error, FAILED if error.status == NOT_THERE else REFUSED)
    except ValueError as error:
        return said(error, REFUSED)
    except StoreError as error:
        return said(error, FAILED)
    finally:
        store.close()


File = Mapping[str, Mapping[str, Any]]


def _do(sources: Sources, file: File, words: Sequence[str], options: Options) -> int:
    action = options["action"]
    if action in ORDERS:
        return _order(sources, file, ORDERS[action](words, options), options)
    if action not in SHOWN:
        raise ValueError(f"alerts {action}: there is no such thing; {USAGE}")
    found, lines = SHOWN[action](sources, file, words, options)
    if options.get("json"):
        print(json.dumps(found))
    else:
        say(*lines)
    return 0


# What is shown --------------------------------------------------------------------------------------------------------

Shown = tuple[Any, list[str]]


def _list(sources: Sources, file: File, _words: Sequence[str], options: Options) -> Shown:
    given = {name: str(options[name]) for name in FILTERS if options.get(name) is not None}
    found = answers.listed(sources, file, given)
    rows = [("ID", "State", "Severity", "Since", "Until", "What")]
    rows += [
        (
            str(one["id"]),
            one["state"],
            one["severity"],
            instant(one["began"]),
            instant(one["ended"]),
            one["message"] + (f" (because of alert {one['cause']})" if one["cause"] else ""),
        )
        for one in found["alerts"]
    ]
    pending = [f"pending: {one['subject']}: {one['title']}, since {instant(one['since'])}" for one in found["pending"]]
    none = [] if len(rows) > 1 else ["Nothing fired." if not given else "No such alert."]
    return found, (none or aligned(rows).splitlines()) + pending


def _show(sources: Sources, file: File, words: Sequence[str], _options: Options) -> Shown:
    found = answers.one(sources, file, _id(words))
    one = found["alert"]
    lines = [
        f"{one['message']}",
        f"{one['title']} (rule {one['rule']}, {one['severity']}): {one['state']}",
        f"wrong since {instant(one['began'])}, fired {instant(one['fired'])}",
    ]
    lines += [f"over {instant(one['ended'])}: {one['why_ended']}"] if one["ended"] else []
    lines += [f"because of alert {one['cause']}"] if one["cause"] else []
    lines += [f"acknowledged {instant(one['acknowledged'])} {one['acknowledged_by']}"] if one["acknowledged"] else []
    lines += [f"  {value['label']}: {value['text']}" for value in one["values"]]
    lines += [f"explains alert {other['id']}: {other['message']}" for other in found["effects"]]
    return found, lines


def _rules(sources: Sources, file: File, words: Sequence[str], options: Options) -> Shown:
    found = rule_answers.rules(sources, file, options[TOLD])
    chosen = [one for one in found["rules"] if not words or one["name"] in words]
    if words and len(chosen) < len(words):
        raise ValueError(f"there is no rule {next(word for word in words if word not in [c['name'] for c in chosen])}")
    if not words:
        rows = [("Rule", "On", "Severity", "For", "Title")]
        rows += [
            (one["name"], "yes" if one["enabled"] else "no", one["severity"], one["for"], one["title"])
            for one in chosen
        ]
        return found, [*aligned(rows).splitlines(), *found["problems"]]
    return {"rules": chosen}, [line for one in chosen for line in _rule(one)]


def _rule(one: Mapping[str, Any]) -> list[str]:
    origins = one["origins"]
    shown = [
        (name, origins.get(name, ""), json.dumps(value) if isinstance(value, list | bool) else str(value))
        for name, value in one.items()
        if name not in ("name", "settings", "origins") and value not in ("", [])
    ]
    shown += [(f"${name}", origins[f"settings.{name}"], value) for name, value in one["settings"].items()]
    rows = [(name, ORIGINS.get(origin, origin), " ".join(text.split())) for name, origin, text in shown]
    return [f"[{one['name']}]", *aligned(rows).splitlines()]


def _silences(sources: Sources, _file: File, _words: Sequence[str], _options: Options) -> Shown:
    found = answers.silences(sources)
    rows = [("ID", "State", "From", "To", "Of", "Comment")]
    for one in found["silences"]:
        of = ", ".join(f"{name} {one[name]}" for name in MATCHERS if one[name]) or "everything"
        of += _every_week(one["weekly"]) + (f"; {one['problem']}" if one["problem"] else "")
        rows.append((str(one["id"]), one["state"], instant(one["start"]), instant(one["end"]), of, one["comment"]))
    return found, aligned(rows).splitlines() if len(rows) > 1 else ["There is no silence."]


def _prometheus(sources: Sources, file: File, _words: Sequence[str], _options: Options) -> Shown:
    found = rule_answers.prometheus(sources, file)
    return found, found["text"].rstrip("\n").splitlines()


def _every_week(weekly: Mapping[str, Any] | None) -> str:
    return "" if weekly is None else f"; {','.join(weekly['days'])} {weekly['from']}-{weekly['to']} {weekly['zone']}"


def _replay(sources: Sources, file: File, words: Sequence[str], options: Options) -> Shown:
    given = {name: str(options[name]) for name in ("start", "end") if options.get(name) is not None}
    found = rule_answers.replayed(sources, file, _name(words), None, given)
    rows = [("Fired", "Until", "Since", "Where")]
    rows += [
        (instant(one["fired"]), instant(one["ended"]), instant(one["began"]), one["subject"]) for one in found["fired"]
    ]
    first, last = found["recorded"]
    times = often(len(found["fired"]), last - first + 1 if last else 0, found["per_week"])
    between = f"between {instant(found['start'])} and {instant(found['end'])}"
    lines = aligned(rows).splitlines() if found["fired"] else []
    return found, [
        *lines,
        f"{found['rule']} would have fired {times}, {between}" + (" at least" if found["cut"] else ""),
    ]


def often(times: int, length_ms: int, per_week: float | None) -> str:
    """How often in so long a stretch of which something was recorded. Of less than a day nothing is said of a week."""
    counted = "once" if times == 1 else f"{times} times"
    if not length_ms:
        return f"{counted}, as nothing was recorded"
    if per_week is None:
        return f"{counted} in {formatting.text(length_ms / 1000, Unit.SECONDS)}"
    return f"{counted}, {per_week:.1f} a week"


SHOWN: Mapping[str, Callable[[Sources, File, Sequence[str], Options], Shown]] = {
    "list": _list,
    "show": _show,
    "rules": _rules,
    "silences": _silences,
    "replay": _replay,
    "prometheus": _prometheus,
}


def _id(words: Sequence[str]) -> int:
    return number(words[0] if words else "", f"name it by its number; {USAGE}")


def _name(words: Sequence[str]) -> str:
    if not words:
        raise ValueError(f"name the rule; {USAGE}")
    return words[0]


def _check(words: Sequence[str]) -> int:
    """Rules of a settings file, over those of the product: what is wrong with them."""
    if len(words) != 1:
        return said(f"name a file; {USAGE}", REFUSED)
    try:
        tables = RULES.parse(tomllib.loads(text_of(Path(words[0]))).get("alerts", {}))
        wrong = configs.wrong_rules(tables)
    except RefusedError as error:
        return said(
            "\n".join(f"alerts: {value!r:.80} is wrong, expected {what}" for value, what in error.wrong), FAILED
        )
    except ValueError as error:  # no TOML, no text, or too much of it
        return said(f"{words[0]} cannot be read: {error}", FAILED)
    if wrong:
        return said("\n".join(wrong), FAILED)
    say(f"{len(merged(defaults(), tables))} rules, {len(tables)} of them from {words[0]}: all are well")
    return 0


# What is asked --------------------------------------------------------------------------------------------------------


def _silence(words: Sequence[str], options: Options) -> dict[str, Any]:
    if options.get("end") is None:
        until = "+180d; a year is the most" if options.get("weekly") else "+2h"
        raise ValueError(f"say with --end until when, such as 2026-12-01T06:00Z or {until}")
    now = console.now_ms()
    given = {name: options[name] for name in MATCHERS if options.get(name) is not None}
    instants = {f"{name}_ms": _when(name, options[name], now) for name in ("start", "end") if options.get(name)}
    weekly = {"weekly": weekly_text(options["weekly"]).to_json()} if options.get("weekly") else {}
    return {"kind": "silence", **given, **instants, **weekly, **({"comment": " ".join(words)} if words else {})}


def _when(name: str, text: str, now_ms: int) -> int:
    """An instant; +2h lies ahead."""
    if text.startswith("+"):
        return now_ms + parameters.duration_ms(name, text[1:])
    return parameters.instant_ms(name, text, now_ms)


def _set(words: Sequence[str], _options: Options) -> dict[str, Any]:
    """Fields of a rule; $NAME=VALUE is a setting, FIELD= takes what was changed off."""
    name, pairs = _name(words), [word.partition("=") for word in words[1:]]
    if not pairs or not all(equals for _, equals, _ in pairs):
        raise ValueError("say FIELD=VALUE, or '$SETTING=VALUE'")
    table: dict[str, Any] = {key: _value(key, value) for key, _, value in pairs if not key.startswith("$")}
    settings = {key.removeprefix("$"): value for key, _, value in pairs if key.startswith("$")}
    return {"kind": "rule", "name": name, "table": table | ({"settings": settings} if settings else {})}


def _value(key: str, text: str) -> Any:
    if text == "":
        return None
    if key == "enabled":
        return {"true": True, "false": False}.get(text, text)
    return text.split(",") if key in ("because_of", "channels") else text


ORDERS: Mapping[str, Callable[[Sequence[str], Options], dict[str, Any]]] = {
    "ack": lambda words, _: {"kind": "acknowledge", "alert": _id(words)},
    "silence": _silence,
    "unsilence": lambda words, _: {"kind": "unsilence", "silence": _id(words)},
    "set": _set,
    "enable": lambda words, _: {"kind": "enable", "name": _name(words), "on": True},
    "disable": lambda words, _: {"kind": "enable", "name": _name(words), "on": False},
    "reset": lambda words, _: {"kind": "reset", "name": _name(words)},
}
"""What people do → the bodies of the API's commands that it is."""


def _order(sources: Sources, file: File, given: dict[str, Any], options: Options) -> int:
    found, _ = answers.order(sources, file, {**given, "by": options.get("by") or "command line"})
    if options.get("json"):
        print(json.dumps(found))
    if found["applied"] is None:
        return said(found["why"], UNHEARD)
    if found["error"] is not None:
        return said(found["error"], FAILED)
    if not options.get("json"):
        done = DONE[given["kind"]].format(**given, word="on" if given.get("on") else "off")
        say("; ".join(filter(None, (done, found.get("note")))))
    return 0
