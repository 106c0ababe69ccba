"""What a value may be: one small parser per form, from text or a TOML value, and back to text."""

from __future__ import annotations

import math
import re
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from urllib.parse import urlsplit

AGENT_PORT = 9810
ENGINE_PORT = 8000
LOG_LEVELS = ("debug", "info", "warning", "error")
SERVER = "postgresql+psycopg"
STORES = f"a path, sqlite:///PATH or {SERVER}://USER:PASSWORD@HOST/DATABASE"
_DATABASE = re.compile(r"/[^/]+$")
_NAME = re.compile(r"[A-Za-z0-9\[][A-Za-z0-9_.:\[\]-]{0,62}")


class RefusedError(ValueError):
    """One or more values are not what a form expects; each entry is (value, expectation)."""

    def __init__(self, *wrong: tuple[object, str]) -> None:
        super().__init__(wrong)
        self.wrong = wrong


@dataclass(frozen=True, slots=True)
class Form:
    """`parse` takes text or a TOML value and raises RefusedError; `render` gives text that it reads back.

    many: the flag may be repeated. switch: the flag takes no value. shown: what is expected, in words.
    metavar: what stands for the value in `--help`.
    """

    parse: Callable[[Any], Any]
    render: Callable[[Any], str] = str
    many: bool = False
    switch: bool = False
    shown: str = ""
    metavar: str = "N"


def _text(raw: object, expected: str) -> str:
    if not isinstance(raw, str) or not raw.strip():
        raise RefusedError((raw, expected))
    return raw.strip()


def number(low: float, high: float, whole: bool = False) -> Form:
    expected = f"a {'whole ' if whole else ''}number from {low} to {high}"

    def parse(raw: object) -> float:
        try:
            value = math.nan if isinstance(raw, bool) else (int(str(raw)) if whole else float(str(raw)))
        except ValueError:
            value = math.nan
        if not low <= value <= high:
            raise RefusedError((raw, expected))
        return value

    return Form(parse, repr, shown=expected)


SIZES: Mapping[str, int] = {"": 1, "b": 1} | {
    f"{letter}{end}": base**power
    for end, base in (("b", 1000), ("ib", 1024))
    for power, letter in enumerate("kmgt", start=1)
}
_SIZE = re.compile(r"([0-9]+(?:\.[0-9]+)?)\s*([a-z]*)")
OFF = "off"


def size(least: int, *, off: bool) -> Form:
    """Bytes, with a unit (GB = 1000³, GiB = 1024³) or bare. off: the word `off` is taken, too, as None."""
    expected = "a size such as 20GB or 512MiB"
    expected += f", at least {least >> 20}MiB" * (least > 0) + f", or {OFF}" * off

    def parse(raw: object) -> int | None:
        text = "" if isinstance(raw, bool) else str(raw).strip().lower()
        if off and text == OFF:
            return None
        found = _SIZE.fullmatch(text)
        value = round(float(found[1]) * SIZES[found[2]]) if found is not None and found[2] in SIZES else -1
        if value < least:
            raise RefusedError((raw, expected))
        return value

    return Form(parse, shown=expected, metavar="SIZE")


def choice(*options: str) -> Form:
    expected = f"one of {', '.join(options)}"

    def parse(raw: object) -> str:
        value = _text(raw, expected).lower()
        if value not in options:
            raise RefusedError((raw, expected))
        return value

    return Form(parse, shown=expected, metavar="WORD")


def _parse_switch(raw: object) -> bool:
    value = {"true": True, "yes": True, "1": True, "false": False, "no": False, "0": False}.get(str(raw).lower())
    if value is None:
        raise RefusedError((raw, "true or false"))
    return value


def _parse_host(raw: object) -> str:
    expected = "a host name or an IP address, without scheme and port"
    value = _text(raw, expected).removeprefix("[").removesuffix("]")
    if not re.fullmatch(r"[A-Za-z0-9._-]+|[0-9A-Fa-f:.]+(%\w+)?", value):
        raise RefusedError((raw, expected))
    return value.lower()


def _parse_path(raw: object) -> str:
    return str(Path(_text(raw, "a path")).expanduser().absolute())


def _parse_store(raw: object) -> str:
    expected = STORES
    value = _text(raw, expected)
    scheme, found, rest = value.partition("://")
    if not found:
        return f"sqlite:///{_parse_path(value)}"
    if scheme == "sqlite" and rest.startswith("/") and len(rest) > 1:
        return f"sqlite:///{_parse_path(rest[1:])}"
    if scheme == SERVER and _DATABASE.search(rest.partition("?")[0]):
        return value
    raise RefusedError((raw, expected))


def url(raw: object, port: int) -> str:
    """Address of a target; a bare host gets scheme and usual port, a path of `/metrics`, as everybody's, is dropped."""
    expected = "an address such as http://10.0.0.1:8000, without user and fragment"
    value = _text(raw, expected)
    bare = "://" not in value
    try:
        parts = urlsplit(f"http://{value}" if bare else value)
        number = parts.port
    except ValueError:
        raise RefusedError((raw, expected)) from None
    plain = parts.scheme in ("http", "https") and parts.hostname and not parts.fragment
    if not plain or "@" in parts.netloc or re.search(r"\s", value):
        raise RefusedError((raw, expected))
    netloc = f"{parts.netloc}:{port}" if bare and number is None else parts.netloc
    path = "" if parts.path.rstrip("/") in ("", "/metrics") else parts.path
    return f"{parts.scheme}://{netloc}{path}" + (f"?{parts.query}" if parts.query else "")


def entry_name(raw: object) -> str:
    if isinstance(raw, str) and _NAME.fullmatch(raw) and raw != "cluster":
        return raw
    raise RefusedError((raw, "a name of at most 63 letters, digits, “.”, “_”, “-” or “:”, other than “cluster”"))


def _pairs(raw: object, expected: str) -> Iterable[tuple[str | None, Any]]:
    """(name, value) of a TOML table, of a list of flags, or of text with one entry between spaces; no name is None."""
    if isinstance(raw, Mapping):
        yield from raw.items()
        return
    entries = raw.split() if isinstance(raw, str) else raw
    if not isinstance(entries, list):
        raise RefusedError((raw, expected))
    for entry in entries:
        name, found, value = str(entry).partition("=")
        yield (name, value) if found and "/" not in name else (None, entry)


def named_table(
    expected: str, entry: Callable[[str | None, Any], tuple[str, Any]]
) -> Callable[[object], dict[str, Any]]:
    """A parser of name → value tables that goes on after a wrong entry, to refuse all of them at once."""

    def parse(raw: object) -> dict[str, Any]:
        table: dict[str, Any] = {}
        wrong: list[tuple[object, str]] = []
        for name, value in _pairs(raw, expected):
            try:
                key, parsed = entry(name, value)
            except RefusedError as refused:
                wrong += refused.wrong
                continue
            if key in table:
                wrong.append((key, "each name once"))
            table[key] = parsed
        if wrong:
            raise RefusedError(*wrong)
        return table

    return parse


def targets(port: int, example: str) -> Form:
    expected = f"NAME=URL or URL, such as {example}"

    def entry(name: str | None, value: Any) -> tuple[str, str]:
        address = url(value, port)
        return (urlsplit(address).netloc if name is None else entry_name(name)), address

    return Form(
        named_table(expected, entry),
        lambda table: " ".join(f"{name}={address}" for name, address in table.items()),
        many=True,
        shown=expected,
        metavar="NAME=URL",
    )


def _group(name: str | None, value: Any) -> tuple[str, tuple[str, ...]]:
    members = value if isinstance(value, list) else str(value).split(",")
    if name is None or not members or not all(isinstance(member, str) and member for member in members):
        raise RefusedError((value if name is None else f"{name}={value}", "NAME=ENGINE,ENGINE"))
    return entry_name(name), tuple(member.strip() for member in members)


def _parse_hosts(raw: object) -> tuple[str, ...]:
    entries = raw.split() if isinstance(raw, str) else raw
    if not isinstance(entries, list):
        raise RefusedError((raw, "a list of host names"))
    return tuple("*." * str(entry).startswith("*.") + _parse_host(str(entry).removeprefix("*.")) for entry in entries)


def _render_groups(groups: Mapping[str, tuple[str, ...]]) -> str:
    return " ".join(f"{name}={','.join(members)}" for name, members in groups.items())


HOST = Form(_parse_host, shown="a host name or an IP address", metavar="HOST")
PORT = number(0, 65535, whole=True)
PATH = Form(_parse_path, shown="a path", metavar="PATH")
SWITCH = Form(_parse_switch, lambda on: "true" if on else "false", switch=True, shown="true or false")
STORE = Form(_parse_store, shown=STORES, metavar="URL")
HOSTS = Form(_parse_hosts, " ".join, many=True, metavar="HOST", shown="host names; `*.example.org` stands for a domain")
GROUPS = Form(
    named_table("NAME=ENGINE,ENGINE", _group),
    _render_groups,
    many=True,
    shown="NAME=ENGINE,ENGINE",
    metavar="NAME=ENGINE,…",
)
