"""From settings to destinations of notifications: addresses are read, and refused where no message may go."""

from __future__ import annotations

import json
import os
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from alerts.notices import Channel
from alerts.rule import Severity
from cli.files import text_of
from pipeline.notify.destination import EXPECTED, Destination, Heartbeat, is_allowed, is_web, masked
from settings import Settings, SettingsError


def channel(name: str, table: Mapping[str, Any]) -> Channel:
    """What a channel wants to hear; without its address."""
    usual = Channel(name)
    return Channel(
        name,
        Severity(table.get("severity", usual.least.value)),
        _ms(table, "repeat", usual.repeat_ms),
        table.get("resolved", usual.resolved),
        table.get("per_hour", usual.per_hour),
        _ms(table, "gather", usual.gather_ms),
        table.get("enabled", usual.enabled),
    )


def _ms(table: Mapping[str, Any], key: str, usual: int) -> int:
    return round(table[key] * 1000) if key in table else usual


def destinations(settings: Settings, environ: Mapping[str, str] = os.environ) -> tuple[Destination, ...]:
    """Every channel with its address. SettingsError naming all that cannot be used."""
    found: list[Destination] = []
    problems: list[str] = []
    for name, table in settings.channels.items():
        try:
            url = address(f"channels.{name}", table, environ)
        except SettingsError as error:
            problems += error.problems
            continue
        if is_allowed(url):
            found.append(Destination(channel(name, table), url, table.get("private", False)))
        else:
            problems.append(wrong_address(name, url))
    if problems:
        raise SettingsError(problems)
    return tuple(found)


def wrong_addresses(given: Mapping[str, Any]) -> list[str]:
    """What is wrong with addresses that stand in settings of which something else is wrong, too. given: as written."""
    found = []
    for name, table in tables(given.get("channels")).items():
        url = table.get("url") if isinstance(table, Mapping) else None
        if isinstance(url, str) and len(url.split()) == 1 and not is_allowed(url.strip()):
            found.append(wrong_address(name, url.strip()))
    url = tables(given.get("heartbeat")).get("url")
    if isinstance(url, str) and len(url.split()) == 1 and not is_web(url.strip()):
        found.append(wrong_heartbeat(url.strip()))
    return found


def tables(raw: object) -> Mapping[str, Any]:
    """A table of the file, or the JSON of a variable; none where it is neither."""
    try:
        found = json.loads(raw) if isinstance(raw, str) else raw
    except json.JSONDecodeError:
        return {}
    return found if isinstance(found, Mapping) else {}


def wrong_address(name: str, url: str) -> str:
    """An address to which no message may go."""
    return f"channels.{name}: {masked(url)!r} is wrong, expected {EXPECTED}"


def wrong_heartbeat(url: str) -> str:
    """An address to which no heartbeat goes."""
    return f"heartbeat: {masked(url)!r} is wrong, expected an address with http:// or https://"


def address(where: str, table: Mapping[str, Any], environ: Mapping[str, str]) -> str:
    """The address that a table names. SettingsError, without it, when it cannot be read."""
    if "url" in table:
        return str(table["url"])
    if "url_env" in table:
        name = table["url_env"]
        if not environ.get(name, "").strip():
            raise SettingsError([f"{where}.url_env: {name!r} is wrong, expected a variable that is set"])
        return environ[name].strip()
    try:
        text = text_of(Path(table["url_file"])).strip()
    except (OSError, ValueError) as error:
        reason = getattr(error, "strerror", None) or "it is no text"
        raise SettingsError(
            [f"{where}.url_file: {table['url_file']!r} is wrong, expected a readable file ({reason})"]
        ) from None
    if not text or len(text.split()) != 1:
        raise SettingsError([f"{where}.url_file: {table['url_file']!r} is wrong, expected a file with one address"])
    return text


def heartbeat(settings: Settings, environ: Mapping[str, str] = os.environ) -> Heartbeat | None:
    """Where it is told that the collector lives. SettingsError where that is no address of the web."""
    table = settings.heartbeat
    if not table:
        return None
    url = address("heartbeat", table, environ)
    if not is_web(url):
        raise SettingsError([wrong_heartbeat(url)])
    return Heartbeat(url, table.get("every", 60.0), table.get("private", False))


def wanted(settings: Settings) -> bool:
    """Whether there is anything to be told to anybody."""
    return bool(settings.channels or settings.heartbeat)
