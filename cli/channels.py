"""What `alerts` does with channels of notifications: show them, and send a test from here."""

from __future__ import annotations

import json
import time

from alerts.outbox import Outgoing
from cli import destinations
from cli.words import say
from settings import Settings

FAILED, REFUSED = 1, 2


def channels(settings: Settings, *, as_json: bool) -> int:
    """The configured channels, without their addresses."""
    found = [
        {"name": one.channel.name, "url": one.mask, "severity": one.channel.least.value, "enabled": one.channel.enabled}
        for one in destinations.destinations(settings)
    ]
    lines = [f"{one['name']}: {one['url']}, from {one['severity']}, {_on(one['enabled'])}" for one in found]
    if as_json:
        print(json.dumps({"channels": found}))
    else:
        say(*(lines or ["No channel is configured."]))
    return 0


def _on(enabled: object) -> str:
    return "on" if enabled else "off"


def test_channel(settings: Settings, name: str) -> int:
    """Send a test to a channel and print what came of it; 0 when it took it."""
    known = destinations.destinations(settings)
    found = next((one for one in known if one.channel.name == name), None)
    if found is None:
        names = ", ".join(one.channel.name for one in known) or "none is configured"
        say(f"there is no channel {name or 'without a name'}: {names}", error=True)
        return REFUSED
    from pipeline.notify.compose import Context, message
    from pipeline.notify.destination import SCHEMES
    from pipeline.notify.errors import UndeliveredError
    from pipeline.notify.transport import Transport

    now_ms = time.time_ns() // 1_000_000
    made = message(Outgoing(f"test-{name}-{now_ms}", name, now_ms, None), {}, Context(), SCHEMES[found.scheme].most)
    assert made is not None, "a test always says something"
    try:
        said = Transport().deliver(found, made)
    except UndeliveredError as error:
        say(f"{name} ({found.mask}) did not take it: {error}", error=True)
        return FAILED
    say(f"{name} ({found.mask}) took it: {said}")
    return 0
