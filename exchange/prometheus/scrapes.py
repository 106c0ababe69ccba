"""Which pages the source has scraped, whose they are here, and which of them tells each metric."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import NamedTuple
from urllib.parse import urlsplit

from collectors.scrape.lines import PROCESS_START
from exchange.prometheus import exporters
from exchange.prometheus.exporters import CHIP_NAMES
from exchange.prometheus.names import COPIES, ENGINE, INSTANCE, JOB, KINDS, NAME, kind_of, readings


class Place(NamedTuple):
    """Where the source scraped: its labels job and instance, "" where a series has none. copy: labels that say which
    of several servers did."""

    job: str
    instance: str
    copy: tuple[tuple[str, str], ...] = ()

    def labels(self) -> dict[str, str]:
        """What its series have in common."""
        return {JOB: self.job, INSTANCE: self.instance, **dict(self.copy)}

    def __str__(self) -> str:
        copies = f" ({', '.join(f'{name} {value}' for name, value in self.copy)})" if self.copy else ""
        return f"{self.job or 'no job'} of {self.instance or 'no instance'}{copies}"


@dataclass(frozen=True)
class Scrape:
    """One page that the source has scraped, under the name that it gets here.

    names: sample names to ask for. families: metrics that are taken from it. chips: hwmon chips and their names.
    """

    place: Place
    kind: str
    target: str
    names: frozenset[str]
    families: frozenset[str]
    chips: Mapping[str, str]


@dataclass(frozen=True)
class Found:
    """What the source has. scrapes: what can be imported. problems: sentences about what cannot, or not all of it."""

    scrapes: tuple[Scrape, ...]
    problems: tuple[str, ...]


Namer = Callable[[str, str], str | None]
"""(instance, kind) → target; None for what is not wanted."""
Refusal = Callable[[str], str]
"""Name of a target → why it can be none, "" where it can. The same rule as for names in the settings."""


def name_of(instance: str, kind: str, names: Mapping[str, str]) -> str | None:
    """Target of an instance: as told, else the address of an engine, and the host name of a machine."""
    host = host_of(instance)
    for key in (instance, host):
        if key in names:
            return names[key]
    return (instance if kind == ENGINE else host) or None


def host_of(instance: str) -> str:
    """Host of an instance label, which is host:port as a rule, and may be a URL."""
    try:
        return urlsplit(instance if "//" in instance else f"//{instance}").hostname or instance
    except ValueError:
        return instance


def nothing_refused(_name: str) -> str:
    """Every name can be a target's."""
    return ""


def find(series: Iterable[Mapping[str, str]], target_of: Namer, refusal: Refusal = nothing_refused) -> Found:
    """What the source's series, given by their labels, are to us."""
    pages: dict[tuple[Place, str], list[Mapping[str, str]]] = {}
    starts: dict[Place, Mapping[str, str]] = {}
    for labels in series:
        copy = tuple((name, labels[name]) for name in COPIES if name in labels)
        place = Place(labels.get(JOB, ""), labels.get(INSTANCE, ""), copy)
        kind = kind_of(labels[NAME])
        if labels[NAME] == PROCESS_START:
            starts[place] = labels
        elif kind is not None:
            pages.setdefault((place, kind), []).append(labels)
    scrapes, problems = [], []
    for (place, kind), own in sorted(pages.items(), key=lambda item: (KINDS.index(item[0][1]), item[0][0])):
        target = target_of(place.instance, kind)
        if target is None:
            problems.append(f"{place}: {len(own)} series have no instance, so nobody knows whose they are")
            continue
        if why := refusal(target):
            problems.append(f"{place}: “{target:.80}” can be no target's name, expected {why}; name it with --map")
            continue
        start = [starts[place]] if kind == ENGINE and place in starts else []
        scrape = _scrape(place, kind, target, [*own, *start])
        if scrape.families:
            scrapes.append(scrape)
    return _told_once(scrapes, problems)


def _scrape(place: Place, kind: str, target: str, own: Sequence[Mapping[str, str]]) -> Scrape:
    chips = {labels.get("chip", ""): labels.get("chip_name", "") for labels in own if labels[NAME] == CHIP_NAMES}
    names, families = set[str](), set[str]()
    for labels in own:
        found = readings(labels, kind, chips)
        if found:
            names.add(labels[NAME])
            families |= {meaning.family for one in found for meaning in one.line.meanings}
    families |= {one.metric.name for one in exporters.NODE_DERIVED if one.needed.keys() <= names}
    return Scrape(place, kind, target, frozenset(names), frozenset(families), chips)


def _told_once(scrapes: Sequence[Scrape], problems: list[str]) -> Found:
    """Each metric of a target comes from the first page that has it: two would be counted twice."""
    taken: dict[str, dict[str, Scrape]] = {}
    engines: dict[str, bool] = {}
    kept = []
    for one in scrapes:
        if engines.setdefault(one.target, one.kind == ENGINE) != (one.kind == ENGINE):
            problems.append(f"{one.place}: {one.target} is a machine already; give its engine another name")
            continue
        owners = taken.setdefault(one.target, {})
        again = {owners[family].place for family in one.families if family in owners}
        fresh = frozenset(family for family in one.families if family not in owners)
        problems += [
            f"{one.place}: {len(one.families) - len(fresh)} metrics of {one.target} come from {other}"
            for other in sorted(again)
        ]
        if fresh:
            chosen = Scrape(one.place, one.kind, one.target, one.names, fresh, one.chips)
            owners.update(dict.fromkeys(fresh, chosen))
            kept.append(chosen)
    return Found(tuple(kept), tuple(problems))
