"""Names of machines replaced by numbers wherever they stand: nodes, engines, addresses, and what looks like one."""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from typing import Any
from urllib.parse import urlsplit

from exchange.bundle import NAMED
from storage.records import TargetRow
from telemetry.catalog.cluster import CLUSTER_TARGET, DEPLOYMENT_PREFIX

OCTET = r"(?:25[0-5]|2[0-4]\d|1\d\d|[1-9]?\d)"
ADDRESSES = re.compile(
    rf"(?<![\w.])(?:{OCTET}\.){{3}}{OCTET}(?![\w.])(?::\d+)?"
    r"|(?<![\w:])(?:[0-9a-f]{2}[:-]){5}[0-9a-f]{2}(?![\w:])"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:){4,7}[0-9a-f]{1,4}(?![\w:])"
    r"|(?<![\w:])(?:[0-9a-f]{1,4}:)+:(?:[0-9a-f]{1,4}:)*[0-9a-f]{1,4}(?![\w:])",
    re.IGNORECASE,
)
"""IPv4 with its port, hardware addresses, IPv6. Versions have leading zeros, or not four parts."""
UUID = re.compile(r"(?:GPU-)?[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}", re.IGNORECASE)
URL = re.compile(r"\b([a-z][a-z0-9+.-]*://)(?:[^\s/@]*@)?([^\s/]+)", re.IGNORECASE)
COMMON = frozenset({"", CLUSTER_TARGET})
"""Targets that are no machine."""
HIDDEN, HIDDEN_ID = "(address)", "(id)"
OURS = frozenset({"key", "label", "definition", "unit", "metric", "kind", "relation", "version", "by"})
"""Keys of texts that are our own words."""


def names(content: Mapping[str, Any], targets: Iterable[TargetRow]) -> dict[str, str]:
    """Name or host → what stands in its place: "node 1", "engine 1". Nodes of the run come first, in their order."""
    known = sorted(targets, key=lambda one: one.name)
    engines = [*_engines(content), *(one.name for one in known if one.kind == "engine")]
    others = [name for name in _others(content) if name not in engines]
    nodes = [*_nodes(content), *(one.name for one in known if one.kind == "node"), *others]
    found: dict[str, str] = {}
    for word, several in (("node", nodes), ("engine", engines)):
        fresh = list(dict.fromkeys(one for one in several if one not in found))
        digits = len(str(len(fresh)))
        for number, name in enumerate(fresh, 1):
            found[name] = f"{word} {number:0{digits}d}"
    for one in known:
        for host in _hosts(one.url):
            found.setdefault(host, found.get(one.name, HIDDEN))
    return found


def _hosts(url: str) -> list[str]:
    parts = urlsplit(url)
    return [text for text in (parts.netloc.rpartition("@")[2], parts.hostname or "") if text]


def _nodes(content: Mapping[str, Any]) -> list[str]:
    printed = next((one["value"] for one in content["fingerprint"] if one["key"] == "nodes"), "")
    section = next((one for one in content["summary"] if one["key"] == "nodes"), {"entries": ()})
    several = [name for name in printed.split(", ") if name]
    several += [one["of"] for one in section["entries"] if one.get("of") and one["key"].endswith("_on")]
    return [*several, *(content["run"]["nodes"] or ())]


def _engines(content: Mapping[str, Any]) -> list[str]:
    """Of the run; one that came from elsewhere has them in its fingerprint only."""
    printed = next((one["value"] for one in content["fingerprint"] if one["key"] == "engines"), "")
    several = [*content["run"]["engines"], *(name for name in printed.split(", ") if name)]
    return [name.rpartition("/")[0] or name for name in several]


def _others(content: Mapping[str, Any]) -> list[str]:
    """Whoever else is named: targets of charts, events and alerts; a deployment is no machine."""
    charts = content["charts"] or {"series": ()}
    told = {one["target"] for one in (*charts["series"], *content["events"], *content["alerts"])}
    told -= {content["run"]["deployment"], content["run"]["deployment"].removeprefix(NAMED)}
    return sorted(name for name in told - COMMON if not name.startswith(DEPLOYMENT_PREFIX))


def replaced(content: Mapping[str, Any], known: Mapping[str, str]) -> dict[str, Any]:
    """The content without names of machines."""
    longest = sorted((name for name in known if name), key=len, reverse=True)
    several = "|".join(re.escape(name) for name in longest)
    named = re.compile(rf"(?<![\w-])(?:{several})(?:\.[\w-]+)*(?![\w-])", re.IGNORECASE) if several else None
    lower = {name.casefold(): text for name, text in known.items()}

    def own(match: re.Match[str]) -> str:
        text = match[0].casefold()
        return lower.get(text) or next(lower[name.casefold()] for name in longest if text.startswith(name.casefold()))

    def host(match: re.Match[str]) -> str:
        name = match[2].casefold()
        return match[1] + (lower.get(name) or lower.get(name.partition(":")[0]) or HIDDEN)

    def words(text: str) -> str:
        found = URL.sub(host, text)
        found = named.sub(own, found) if named is not None else found
        return UUID.sub(HIDDEN_ID, ADDRESSES.sub(HIDDEN, found))

    return {name: _walk(value, words) for name, value in content.items()}


def _walk(value: Any, words: Any) -> Any:
    if isinstance(value, str):
        return words(value)
    if isinstance(value, Mapping):
        return {
            words(key): one if key in OURS and isinstance(one, str) else _walk(one, words) for key, one in value.items()
        }
    if isinstance(value, list | tuple):
        return [_walk(one, words) for one in value]
    return value
