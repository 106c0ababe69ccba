"""Destinations: where a channel's messages go. The schemes there are, and the mask of an address."""

from __future__ import annotations

import re
from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any
from urllib.parse import urlsplit

from alerts.notices import Channel


@dataclass(frozen=True, slots=True)
class Scheme:
    """A kind of destination. most: characters of a message beside its title."""

    what: str
    most: int


SCHEMES = {
    "ntfy": Scheme("ntfy", 3_500),
    "ntfys": Scheme("ntfy", 3_500),
    "discord": Scheme("Discord", 1_800),
    "slack": Scheme("Slack", 3_000),
    "tgram": Scheme("Telegram", 3_800),
    "mailto": Scheme("e-mail", 100_000),
    "mailtos": Scheme("e-mail", 100_000),
    "json": Scheme("webhook", 100_000),
    "jsons": Scheme("webhook", 100_000),
}
"""Schemes that are allowed; there is no way to any other."""
EXPECTED = f"an address that begins with {', '.join(f'{scheme}://' for scheme in SCHEMES)}"
WEBHOOK = ("json", "jsons")
WEB = ("http", "https")


@dataclass(frozen=True, slots=True)
class Destination:
    """A channel and its address, which is never shown, logged or stored. private: its host may be in a private
    network although the address names it by a name only."""

    channel: Channel
    url: str = field(repr=False)
    private: bool = False

    @property
    def scheme(self) -> str:
        """The scheme alone."""
        return scheme_of(self.url)

    @property
    def mask(self) -> str:
        """What may be shown of the address."""
        return masked(self.url)


@dataclass(frozen=True, slots=True)
class Shown:
    """What may be seen of a channel and its address."""

    channel: Channel
    mask: str


@dataclass(frozen=True, slots=True)
class Heartbeat:
    """Where it is told that the collector lives, and how often, seconds."""

    url: str = field(repr=False)
    every_s: float = 60.0
    private: bool = False


@dataclass(frozen=True, slots=True)
class NotifyConfig:
    """What the process is told. web: address of the web page. alerts: fields of rules, over those of the product."""

    store_url: str
    destinations: tuple[Destination, ...] = ()
    heartbeat: Heartbeat | None = None
    web: str = ""
    alerts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)


def scheme_of(url: str) -> str:
    """
    >>> scheme_of("Discord://1234/abcd")
    'discord'
    """
    return url.partition("://")[0].strip().lower()


def masked(url: str) -> str:
    """
    >>> masked("jsons://ann:secret@host/hook"), masked("secret")
    ('jsons://…', '…')
    """
    scheme = scheme_of(url)
    return f"{scheme}://…" if "://" in url and re.fullmatch(r"[a-z][a-z0-9+.-]{0,15}", scheme) else "…"


def is_allowed(url: str) -> bool:
    """Whether messages may go there at all."""
    return "://" in url and scheme_of(url) in SCHEMES and not re.search(r"\s", url) and _is_whole(url)


def is_web(url: str) -> bool:
    """Whether a heartbeat can go there."""
    return scheme_of(url) in WEB and not re.search(r"\s", url) and _is_whole(url)


def _is_whole(url: str) -> bool:
    """Whether an address has the parts that one has; what stands for a host and a port is the services' business."""
    try:
        parts = urlsplit(url)
        return scheme_of(url) not in (*WEBHOOK, *WEB) or bool(parts.hostname and (parts.port is None or parts.port > 0))
    except ValueError:
        return False
