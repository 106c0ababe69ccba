"""Services: one message to what Apprise knows. Apart, because the library is large: only who needs it loads it."""

from __future__ import annotations

import logging
from typing import Any

import apprise
from apprise.plugins.email import NotifyEmail
from apprise.plugins.ntfy import NotifyNtfy

from pipeline.notify import addresses, reasons
from pipeline.notify.compose import Message
from pipeline.notify.destination import SCHEMES, WEBHOOK, Destination, is_allowed, scheme_of
from pipeline.notify.errors import UndeliveredError

TIMEOUT_S = 15
CLOSER = ("Socket Exception:", "SMTP Exception:", "I/O Exception:")
"""Beginnings of what Apprise logs for developers, where alone stands why a connection failed."""
DELIVERED = "delivered"
LOUD = ("apprise", "urllib3", "requests", "requests_oauthlib")
"""Loggers of libraries that write addresses, and with them secrets."""
AT_SIGN = "@\u200b"
"""An @ that calls nobody: names in messages come from machines."""


def silence() -> None:
    """Keep what libraries log to themselves: before they see an address."""
    for name in LOUD:
        found = logging.getLogger(name)
        found.propagate = False
        found.setLevel(logging.DEBUG if name == "apprise" else logging.CRITICAL)
        found.handlers = [logging.NullHandler()]


def deliver(destination: Destination, message: Message) -> str:
    """Send it once; UndeliveredError, OSError. How long that takes in all is the caller's business."""
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
    done = sender.notify(body=body, title=title, notify_type=kind, body_format=text, log_level=logging.DEBUG)
    if not done:
        raise UndeliveredError(reasons.of_log(_logged(done)))
    return DELIVERED


def _logged(done: Any) -> list[str]:
    """What Apprise warned of, and what it keeps for those who look closer but the receiver's own answer."""
    entries = [(entry.level, entry.message) for entry in done.logs()]
    said = [text for level, text in entries if level in ("WARNING", "ERROR", "CRITICAL")]
    return said + [text for level, text in entries if level == "DEBUG" and text.startswith(CLOSER)]


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
    """What Apprise makes of an address, None where it is none; never of a scheme that is not allowed, or is ours."""
    if not is_allowed(url) or scheme_of(url) in WEBHOOK:
        return None
    silence()
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
