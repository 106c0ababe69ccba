"""Transport: one message to one destination, once; the receiver's own sentence, and no secret in it."""

from __future__ import annotations

import json
import logging
from typing import Any
from urllib.parse import urlsplit

import apprise
from apprise.plugins.email import NotifyEmail
from apprise.plugins.ntfy import NotifyNtfy

from pipeline.notify import addresses
from pipeline.notify.compose import Message
from pipeline.notify.destination import SCHEMES, WEBHOOK, Destination, is_allowed, scrubbed, secrets_of
from pipeline.notify.web import plain, request

TIMEOUT_S = 15
LONGEST_S = 60
CLOSER = ("Socket Exception:", "SMTP Exception:", "I/O Exception:", "Response Details:")
"""Beginnings of what Apprise logs for developers, where alone the receiver's own words stand."""
LONGEST = 300
DELIVERED = "delivered"
LOUD = ("apprise", "urllib3", "requests", "requests_oauthlib", "asyncio")
"""Loggers of libraries that write addresses, and with them secrets."""
AT_SIGN = "@\u200b"
"""An @ that calls nobody: names in messages come from machines."""


class UndeliveredError(Exception):
    """A message was not delivered; the text is the receiver's own sentence, or why there is none."""


def silence_libraries() -> None:
    """Keep what libraries log to themselves: before anything is sent."""
    for name in LOUD:
        found = logging.getLogger(name)
        found.propagate = False
        found.setLevel(logging.DEBUG if name == "apprise" else logging.CRITICAL)
        found.handlers = [logging.NullHandler()]


def deliver(destination: Destination, message: Message) -> str:
    """Send it once. The receiver's own sentence; UndeliveredError with it where it did not take the message."""
    hidden = secrets_of(destination.url)
    if not is_allowed(destination.url):
        raise UndeliveredError("the settings name no address that messages may go to")
    try:
        said = _webhook(destination, message) if destination.scheme in WEBHOOK else _apprise(destination, message)
    except OSError as error:
        raise UndeliveredError(_shown(str(error.strerror or error) or type(error).__name__, hidden)) from None
    except UndeliveredError as error:
        raise UndeliveredError(_shown(str(error), hidden)) from None
    return _shown(said, hidden)


def _shown(text: str, hidden: list[str]) -> str:
    return plain(scrubbed(text, hidden), LONGEST)


def _webhook(destination: Destination, message: Message) -> str:
    _, _, rest = destination.url.partition("://")
    url = f"{'https' if destination.scheme == 'jsons' else 'http'}://{rest}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Tachograph",
        "X-Tachograph-Id": message.id,
    }
    body = json.dumps(message.payload, ensure_ascii=False).encode()
    answer = request("POST", url, body, headers, private=destination.private)
    if not answer.well:
        raise UndeliveredError(answer.sentence)
    return answer.sentence


def _apprise(destination: Destination, message: Message) -> str:
    plugin = plugin_of(destination.url)
    if plugin is None:
        raise UndeliveredError(f"this is no address of {SCHEMES[destination.scheme].what}")
    host, port = _host(plugin)
    if host:
        addresses.allowed(host, port, private=destination.private)
    sender = apprise.Apprise(asset=_asset())
    sender.add(plugin)
    kind = apprise.NotifyType.WARNING if message.bad else apprise.NotifyType.INFO
    mail = isinstance(plugin, NotifyEmail)
    body, title = (text if mail else text.replace("@", AT_SIGN) for text in (message.body, message.title))
    text = apprise.NotifyFormat.TEXT
    done = sender.notify(
        body=body, title=title, notify_type=kind, body_format=text, timeout=LONGEST_S, log_level=logging.DEBUG
    )
    if not done:
        raise UndeliveredError(_reason(done) or "not taken, and no reason was given")
    return DELIVERED


def _reason(done: Any) -> str:
    """Why a message was not taken: what Apprise warns of, and what it keeps for those who look closer."""
    entries = [(entry.level, entry.message) for entry in done.logs()]
    said = [text for level, text in entries if level in ("WARNING", "ERROR", "CRITICAL")]
    said += [text.partition(":")[2].strip() for level, text in entries if level == "DEBUG" and text.startswith(CLOSER)]
    return " ".join(said)


def _asset() -> apprise.AppriseAsset:
    return apprise.AppriseAsset(
        app_id="Tachograph",
        app_desc="Tachograph",
        app_url="",
        async_mode=False,
        http_redirects=False,
        secure_logging=True,
        allow_templates=False,
        service_timeout=0,
    )


def plugin_of(url: str) -> Any:
    """What Apprise makes of an address, None where it is none; never of a scheme that is not allowed."""
    if not is_allowed(url):
        return None
    plugin = apprise.Apprise.instantiate(url, asset=_asset(), suppress_exceptions=True)
    if plugin is None:
        return None
    plugin.socket_connect_timeout = plugin.socket_read_timeout = TIMEOUT_S
    if isinstance(plugin, NotifyEmail):
        plugin.notify_format = apprise.NotifyFormat.TEXT
    return plugin


def _host(plugin: Any) -> tuple[str, int]:
    """Whom a plugin speaks to, where the address says so; "" where the service has its one host."""
    if isinstance(plugin, NotifyEmail):
        return str(plugin.smtp_host or plugin.host), int(plugin.port or 25)
    if isinstance(plugin, NotifyNtfy) and str(plugin.mode) == "private":
        return str(plugin.host), int(plugin.port or (443 if plugin.secure else 80))
    return "", 0


def heartbeat(url: str, *, private: bool) -> str:
    """Tell that we live. The receiver's own sentence; UndeliveredError with it where it was not taken."""
    hidden = secrets_of(url)
    try:
        answer = request("GET", url, None, {"User-Agent": "Tachograph"}, private=private)
    except OSError as error:
        raise UndeliveredError(_shown(str(error.strerror or error), hidden)) from None
    if not answer.well:
        raise UndeliveredError(_shown(answer.sentence, hidden))
    return _shown(answer.sentence, hidden)


def is_web(url: str) -> bool:
    """Whether a heartbeat can go there."""
    parts = urlsplit(url)
    return parts.scheme in ("http", "https") and bool(parts.hostname)
