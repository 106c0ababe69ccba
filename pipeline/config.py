"""What the collector is told to do: plain values, translated from the settings by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum
from typing import Any

from alerts.notices import Channel


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
class Keep:
    """How long and how much is kept.

    raw_days: age at which samples are given up; a summary of their hour stays for summary_months.
    size_limit: bytes of the store beyond which samples go earlier; None is no limit.
    disk_reserve: bytes of the disk that stay free; None is what `pipeline.retention.reserve` says.
    """

    raw_days: float = 30.0
    summary_months: float = 24.0
    size_limit: int | None = None
    disk_reserve: int | None = None


@dataclass(frozen=True, slots=True)
class CollectorConfig:
    """Everything the collector process needs to know.

    deployments: name → names of the engine targets that serve one model together; engines named in none are grouped by
    the model they serve.
    interval_s: nominal seconds between ticks.
    run_silence_s: seconds in which nothing happens after which a run ends.
    keep: what is given up, and when.
    alerts: fields of rules, by rule, over those that come with the product.
    channels: who is told of alerts; not where that is.
    """

    store_url: str
    nodes: tuple[TargetConfig, ...] = ()
    engines: tuple[TargetConfig, ...] = ()
    deployments: Mapping[str, tuple[str, ...]] = field(default_factory=dict)
    interval_s: float = 1.0
    run_silence_s: float = 60.0
    keep: Keep = Keep()
    alerts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    channels: tuple[Channel, ...] = ()
