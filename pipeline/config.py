"""What the collector is told to do: plain values, translated from the settings by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum


class TargetKind(Enum):
    """What a URL is expected to speak: a node's agent, or an inference engine."""

    NODE = "node"
    ENGINE = "engine"


@dataclass(frozen=True, slots=True)
class TargetConfig:
    """One URL that is read.

    name: identity of the target in the store.
    url: base address such as `http://10.0.0.1:9810`, or address of the page itself where that is not `/metrics`.
    token: sent as `Authorization: Bearer`; never logged, never stored.
    """

    name: str
    url: str
    kind: TargetKind
    token: str | None = field(default=None, repr=False)


@dataclass(frozen=True, slots=True)
class CollectorConfig:
    """Everything the collector process needs to know.

    deployments: name → names of the engine targets that serve one model together; engines named in none are grouped by
    the model they serve.
    interval_s: nominal seconds between ticks.
    keep_hours: age in hours at which samples may be given up; a summary of their hour stays.
    """

    store_url: str
    nodes: tuple[TargetConfig, ...] = ()
    engines: tuple[TargetConfig, ...] = ()
    deployments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interval_s: float = 1.0
    keep_hours: float = 720.0
