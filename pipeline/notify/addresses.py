"""Which hosts may be spoken to: never link-local ones, private ones only where the settings say so."""

from __future__ import annotations

import ipaddress
import socket
from collections.abc import Callable, Sequence
from typing import Any

Resolver = Callable[[str, int], Sequence[tuple[Any, ...]]]
"""(host, port) → what `socket.getaddrinfo` gives for TCP."""
SHARED = ipaddress.ip_network("100.64.0.0/10")
Address = ipaddress.IPv4Address | ipaddress.IPv6Address


class AddressRefusedError(OSError):
    """A host that is not spoken to; the text says why."""


def resolve(host: str, port: int) -> Sequence[tuple[Any, ...]]:
    """The addresses of a host."""
    return socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)


def allowed(host: str, port: int, *, private: bool, resolver: Resolver = resolve) -> list[tuple[Any, ...]]:
    """Addresses of a host as `socket.getaddrinfo` gives them, all of them allowed. AddressRefusedError, OSError.

    An address that stands in the settings literally is named by them; a name may lead anywhere, so that one into a
    private network needs `private`.
    """
    named = private or _literal(host) is not None or host.lower() == "localhost"
    found = list(resolver(host, port))
    for _, _, _, _, where in found:
        problem = refusal(str(where[0]), named)
        if problem:
            raise AddressRefusedError(problem)
    if not found:
        raise AddressRefusedError("the host has no address")
    return found


def refusal(text: str, named: bool) -> str:
    """Why an address is not spoken to, "" where it may be. named: the settings say that it may be private."""
    address = _literal(text.partition("%")[0])
    if address is None:
        return "the host has an address that is none"
    nowhere = address.is_reserved and not address.is_loopback  # ::1 is both
    if address.is_link_local or address.is_multicast or address.is_unspecified or nowhere:
        return "the host is link-local or no host at all: it is not spoken to"
    if not named and (address.is_private or address.is_loopback or address in SHARED):
        return "the name leads into a private network: say private = true in the channel's settings if it is meant to"
    return ""


def _literal(text: str) -> Address | None:
    try:
        found = ipaddress.ip_address(text.removeprefix("[").removesuffix("]"))
    except ValueError:
        return None
    mapped = getattr(found, "ipv4_mapped", None) or getattr(found, "sixtofour", None)
    return mapped or found


def connection(host: str, port: int, timeout: float, *, private: bool) -> socket.socket:
    """A connection to one of the allowed addresses, which was looked up once: a name cannot change in between."""
    problem: OSError = AddressRefusedError("the host has no address")
    for family, kind, protocol, _, where in allowed(host, port, private=private):
        made = socket.socket(family, kind, protocol)
        made.settimeout(timeout)
        try:
            made.connect(where)
        except OSError as error:
            made.close()
            problem = error
        else:
            return made
    raise problem
