"""What the web process is told to do: plain values, translated from the settings by the command line."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any

from exchange.references import references
from pipeline.notify.destination import Shown
from runs.references import Reference
from telemetry.roofline import Weights


@dataclass(frozen=True, slots=True)
class WebConfig:
    """Everything the web process needs to know.

    token: what a visitor must present; None only where `host` is the loopback interface.
    allowed_hosts: names (without port) that a request's Host header may carry, beside loopback names and `host` itself;
    `*` is understood in front of a domain (`*.example.org`).
    demo_control_url: base address of the simulator's fault panel, None outside the demo.
    roofline: what the model of each deployment weighs, where somebody has told.
    references: published results that runs are laid beside.
    alerts: fields of rules, by rule, over those that come with the product.
    channels: who is told of alerts, without addresses.
    """

    store_url: str
    host: str = "127.0.0.1"
    port: int = 8050
    token: str | None = field(default=None, repr=False)
    allowed_hosts: tuple[str, ...] = ()
    demo_control_url: str | None = None
    roofline: Mapping[str, Weights] = field(default_factory=dict)
    references: tuple[Reference, ...] = field(default_factory=references)
    alerts: Mapping[str, Mapping[str, Any]] = field(default_factory=dict)
    channels: tuple[Shown, ...] = ()
