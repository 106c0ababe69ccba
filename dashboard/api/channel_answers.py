"""Answers about channels of notifications. docs/api.md describes them; no address is in any."""

from __future__ import annotations

import time
from collections.abc import Sequence
from typing import Any

from alerts.outbox import Account, State
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from pipeline.notify.destination import Shown, scheme_of

WAIT_S, LOOK_S = 20.0, 0.1
"""How long an answer waits for the receiver, and how often it looks."""
SILENT = "Nobody has sent the test yet: the process that delivers is busy, or does not run."


def listed(sources: Sources, channels: Sequence[Shown]) -> dict[str, Any]:
    """{channels}: what each wants to hear, and how delivery goes."""
    accounts = sources.store.accounts([one.channel.name for one in channels], sources.now_ms())
    return {"channels": [channel_json(one, accounts[one.channel.name]) for one in channels]}


def channel_json(shown: Shown, account: Account) -> dict[str, Any]:
    """A channel. url is a mask."""
    channel = shown.channel
    error = {"at": account.last_error_ms, "text": account.last_error} if account.last_error else None
    return {
        "name": channel.name,
        "scheme": scheme_of(shown.mask),
        "url": shown.mask,
        "severity": channel.least.value,
        "repeat_s": channel.repeat_ms / 1000,
        "resolved": channel.resolved,
        "per_hour": channel.per_hour,
        "gather_s": channel.gather_ms / 1000,
        "enabled": channel.enabled,
        "last_success": account.last_sent_ms,
        "last_error": error,
        "waiting": account.waiting,
        "held": account.held,
        "failing": account.failing,
    }


def try_out(sources: Sources, channels: Sequence[Shown], name: str, wait_s: float) -> tuple[dict[str, Any], int]:
    """Have a test sent, and wait a moment for what comes of it: (answer, status)."""
    if name not in [one.channel.name for one in channels]:
        raise ParameterError(f"There is no channel {name}.", 404)
    identity = sources.store.ask_test(name, sources.now_ms())
    deadline = time.monotonic() + wait_s
    while time.monotonic() < deadline:
        found = sources.store.notice(identity)
        if found is not None and found.state is not State.WAITING:
            sent = found.state is State.SENT
            return {"id": identity, "delivered": sent, "text": found.error}, 200 if sent else 502
        time.sleep(LOOK_S)
    return {"id": identity, "delivered": None, "text": SILENT}, 202
