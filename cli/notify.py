"""`notify`: deliver notifications. `run` starts it where a channel or a heartbeat is configured."""

from __future__ import annotations

import sys

from cli import configs, destinations
from cli.beginning import counted, tell
from pipeline.notify.destination import SCHEMES, WEBHOOK, Destination, NotifyConfig
from pipeline.notify.process import run
from settings import Settings, SettingsError


def main(settings: Settings) -> int:
    """The process's exit status. SettingsError for addresses that their services would not know."""
    config = notifier(settings)
    if not config.destinations and config.heartbeat is None:
        print("No channel and no heartbeat is configured: there is nobody to tell.", file=sys.stderr)
        return 0
    problems = [problem for one in config.destinations if (problem := _problem(one))]
    if problems:
        raise SettingsError(problems)
    tell(line_of(config))
    return run(config)


def line_of(config: NotifyConfig) -> str:
    """How many are told, and whether a heartbeat is."""
    on = [one for one in config.destinations if one.channel.enabled]
    off = len(config.destinations) - len(on)
    beat = "" if config.heartbeat is None else f" and a heartbeat every {config.heartbeat.every_s:g} s"
    return f"Telling {counted(on, 'channel')}" + (f" ({off} more off)" if off else "") + f"{beat}."


def notifier(settings: Settings) -> NotifyConfig:
    """What the process that delivers is told. SettingsError with all that is wrong of it."""
    told, heartbeat, rules = configs.at_once(
        lambda: destinations.destinations(settings),
        lambda: destinations.heartbeat(settings),
        lambda: configs.rule_tables(settings),
    )
    link = settings.web_url or configs.link(settings.host, settings.port)
    return NotifyConfig(settings.store, told, heartbeat, link, rules)


def _problem(one: Destination) -> str:
    if one.scheme in WEBHOOK:
        return ""
    from pipeline.notify import service  # large: only where it is needed

    if service.plugin_of(one.url) is not None:
        return ""
    what = SCHEMES[one.scheme].what
    return f"channels.{one.channel.name}: {one.mask!r} is wrong, expected an address of {what} as Apprise writes it"
