"""What is seen of a deployment at a tick: what the detector of runs is fed with, live and over history alike."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import Enum

from telemetry.phases import Phase


class EngineState(Enum):
    """How an engine answered. RESTARTED: its process is another one than at the last sight. STOPPED: its process is
    known to be gone, be it stopped on purpose or on its way to start anew. UNKNOWN is any other silence."""

    UP = "up"
    RESTARTED = "restarted"
    STOPPED = "stopped"
    UNKNOWN = "unknown"


@dataclass(frozen=True, slots=True)
class Sight:
    """One engine at one tick; None is not offered or not known.

    running: requests in execution. output, prompt: unwrapped counters of tokens, so a restart never makes them fall.
    speculative: its settings of speculative decoding in words, "" where it is known to have none.
    """

    state: EngineState = EngineState.UP
    running: float | None = None
    output: float | None = None
    prompt: float | None = None
    phase: Phase = Phase.UNKNOWN
    model: str | None = None
    speculative: str | None = None


@dataclass(frozen=True, slots=True)
class Observation:
    """A deployment at one tick. An engine that was not due is left out; one that was and did not answer is UNKNOWN."""

    tick_ms: int
    engines: Mapping[str, Sight] = field(default_factory=dict)


def engine_name(target: str, engine: str) -> str:
    """What an engine of a target is called: "head/0"; by its target alone where the page names none.

    >>> engine_name("head", "0"), engine_name("llama", "")
    ('head/0', 'llama')
    """
    return f"{target}/{engine}" if engine else target


def speculative_text(facts: Mapping[str, str]) -> str | None:
    """Settings of speculative decoding from an engine's facts, None where it tells none.

    >>> speculative_text({"speculative_method": "EAGLE", "speculative_tokens": "4"})
    'EAGLE, 4 tokens'
    """
    method, tokens = facts.get("speculative_method"), facts.get("speculative_tokens")
    if method is None and tokens is None:
        return None
    return ", ".join(part for part in (method, f"{tokens} tokens" if tokens else None) if part)
