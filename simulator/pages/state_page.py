"""`GET /state` of an imaginary agent: facts, processes, events."""

from __future__ import annotations

import hashlib
from typing import Any

from simulator.pages.agent_names import COLLECTORS, FUNCTIONS, UNUSED_FUNCTIONS
from simulator.pages.agent_page import extras
from simulator.pages.clocks import Clocks
from simulator.world import World

FACTS = {
    "kernel": "6.17.0-1031-nvidia",
    "vendor": "NVIDIA",
    "product": "NVIDIA_DGX_Spark",
    "board": "P4242",
    "bios": "5.36_0ACUM018",
    "dgx_os": "7.5.0",
    "dgx_platform": "DGX Server for DGX Spark",
    "os": "Ubuntu 24.04.3 LTS",
    "driver_version": "580.142",
    "cores": "10 large + 10 small",
    "gpu.0.name": "NVIDIA GB10",
    "gpu.0.vbios": "9A.0B.25.00.00",
    "gpu.0.memory": "unified",
}
FIRMWARE = "28.45.4028"


def identity(name: str, *purpose: str) -> str:
    """A made-up identifier in the form of a UUID, the same for the same purpose."""
    text = hashlib.sha256("/".join((name, *purpose)).encode()).hexdigest()
    return f"{text[:8]}-{text[8:12]}-4{text[13:16]}-a{text[17:20]}-{text[20:32]}"


def render(world: World, node: int, clocks: Clocks, after: int) -> dict[str, Any]:
    """The state of one node at the world's present instant, with the events after a sequence number."""
    own = extras(world, node, world.look(), clocks)
    return {
        "version": "0.1.0",
        "sequence": world.events.sequence(node),
        "time_s": own["agent_time"],
        "monotonic_s": own["agent_monotonic"],
        "started_s": own["agent_start"],
        "goodbye": False,
        "facts": _facts(world, node),
        "processes": _processes(world, node),
        "events": [
            {
                "sequence": event.sequence,
                "time_s": round(clocks.wall_s(event.at), 3),
                "kind": event.kind,
                "text": event.text,
                "labels": event.labels,
                "baseline": event.baseline,
            }
            for event in world.events.after(node, after)
        ],
        "readings": {name: {"outcome": "ok", "reason": "", "seconds": 4e-4} for name in COLLECTORS},
    }


def _facts(world: World, node: int) -> dict[str, str]:
    name = world.names[node]
    facts = {
        "hostname": name,
        "boot_id": identity(name, "boot", str(int(world.cluster.boots[node]))),
        "gpu.0.uuid": f"GPU-{identity(name, 'gpu')}",
        **FACTS,
    }
    if not world.conditions.nodes.uncabled[node]:
        for cage, function in (*FUNCTIONS, *UNUSED_FUNCTIONS):
            facts[f"function.{function}.cage"] = cage
            facts[f"function.{function}.netdev"] = function.replace("roce", "en") + f"n{cage}"
            facts[f"function.{function}.firmware"] = FIRMWARE
            facts[f"function.{function}.nic"] = identity(name, "nic").replace("-", "")[:16]
            facts[f"function.{function}.link_layer"] = "Ethernet"
    return facts


def _processes(world: World, node: int) -> list[dict[str, Any]]:
    values = world.look().values
    if not values["processes"][node]:
        return []
    return [
        {
            "pid": 114_687 + world.engine.lives,
            "name": f"VLLM::Worker_TP{node}",
            "gpu": "0",
            "gpu_memory_bytes": int(values["process_bytes"][node]),
            "resident_bytes": 1_288_490_188,
            "container": identity(world.names[node], "container", str(world.engine.lives)).replace("-", ""),
        }
    ]
