"""What is shown of an address, and which hosts are spoken to."""

from __future__ import annotations

import socket
from collections.abc import Sequence
from typing import Any

import pytest

from pipeline.notify.addresses import AddressRefusedError, allowed, refusal
from pipeline.notify.destination import SCHEMES, is_allowed, is_web, masked


def test_masks() -> None:
    assert [masked(url) for url in ("tgram://123:abc/", "TGRAM://x", "abc", "a b://x", "")] == [
        "tgram://…",
        "tgram://…",
        "…",
        "…",
        "…",
    ]
    assert all(is_allowed(f"{scheme}://x") for scheme in SCHEMES)
    assert not any(
        is_allowed(url)
        for url in (
            "http://x",
            "xml://x",
            "windows://",
            "json",
            "json://a\nb",
            "dbus://x",
            "json:///x",
            "json://h:p/x",
            "ntfy://[x/y",
        )
    )


@pytest.mark.parametrize(
    ("url", "well"),
    [
        ("https://hc.example/x", True),
        ("http://10.0.0.1:80", True),
        ("https:///x", False),
        ("http://h:p/", False),
        ("http://h:0/", False),
        ("ftp://h/", False),
        ("http://h/a b", False),
        ("http://[::1", False),
        ("h", False),
    ],
)
def test_where_a_heart_can_beat(url: str, well: bool) -> None:
    assert is_web(url) is well


@pytest.mark.parametrize(
    ("address", "named", "refused"),
    [
        ("93.184.216.34", False, ""),
        ("2606:2800:220:1::1", False, ""),
        ("10.0.0.5", True, ""),
        ("10.0.0.5", False, "private = true"),
        ("127.0.0.1", False, "private = true"),
        ("::1", False, "private = true"),
        ("fd00::5", False, "private = true"),
        ("100.64.0.9", False, "private = true"),
        ("::ffff:192.168.1.1", False, "private = true"),
        ("169.254.169.254", True, "link-local"),
        ("::ffff:169.254.169.254", True, "link-local"),
        ("fe80::1%eth0", True, "link-local"),
        ("0.0.0.0", True, "no host"),
        ("224.0.0.1", True, "no host"),
        ("nonsense", True, "none"),
    ],
)
def test_which_addresses(address: str, named: bool, refused: str) -> None:
    found = refusal(address, named)
    assert (refused in found) if refused else found == ""


def resolver(*addresses: str) -> Any:
    def found(_host: str, port: int) -> Sequence[tuple[Any, ...]]:
        return [(socket.AF_INET, socket.SOCK_STREAM, 6, "", (one, port)) for one in addresses]

    return found


def test_a_name_into_a_private_network_must_be_meant() -> None:
    with pytest.raises(AddressRefusedError, match="private = true"):
        allowed("intern.example", 80, private=False, resolver=resolver("93.184.216.34", "10.0.0.5"))
    assert allowed("intern.example", 80, private=True, resolver=resolver("10.0.0.5"))[0][4] == ("10.0.0.5", 80)
    assert allowed("10.0.0.5", 80, private=False, resolver=resolver("10.0.0.5"))
    assert allowed("LOCALHOST", 80, private=False, resolver=resolver("127.0.0.1"))
    with pytest.raises(AddressRefusedError, match="link-local"):
        allowed("meta.example", 80, private=True, resolver=resolver("169.254.169.254"))
    with pytest.raises(AddressRefusedError, match="no address"):
        allowed("x.example", 80, private=True, resolver=resolver())
