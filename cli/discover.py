"""Engines and agent of this very machine, looked for once on the ports they usually have."""

from __future__ import annotations

import asyncio
from collections.abc import Sequence
from dataclasses import dataclass

from cli.probe import ENGINE_LABELS, Probe, look

HOST = "127.0.0.1"
PORTS = (8000, 8001, 8002, 8080, 8888, 30000)
"""vLLM and TensorRT-LLM, further instances of them, llama.cpp, what recipes for these machines use, SGLang."""
TIMEOUT_S = 2.0


@dataclass(frozen=True, slots=True)
class Found:
    """An engine: its name in the settings, its address and what it is, in words."""

    name: str
    url: str
    what: str


def engines(ports: Sequence[int]) -> tuple[Found, ...]:
    """Engines that answer on these ports of the loopback address, in the order of the ports."""
    return tuple(found for port, probe in zip(ports, _look(ports), strict=True) if (found := _engine(port, probe)))


def is_agent(port: int) -> bool:
    """Whether an agent answers on a port of the loopback address."""
    (probe,) = _look((port,))
    return probe.writer == "agent"


def _look(ports: Sequence[int]) -> list[Probe]:
    async def all_of_them() -> list[Probe]:
        looks = (look(f"{HOST}:{port}", f"http://{HOST}:{port}", None, TIMEOUT_S) for port in ports)
        return list(await asyncio.gather(*looks))

    return asyncio.run(all_of_them())


def _engine(port: int, probe: Probe) -> Found | None:
    label = ENGINE_LABELS.get(probe.writer)
    if label is None:
        return None
    what = f"{label} serving {probe.model}" if probe.model else label
    return Found(f"{HOST}:{port}", f"http://{HOST}:{port}", what)
