"""`run`: collector and web page together, and an agent for this machine where nothing else is configured."""

from __future__ import annotations

import asyncio
import dataclasses
import re
import socket
from collections.abc import Sequence

from cli import configs, destinations, discover, hub
from cli.supervisor import Child, Supervisor
from cli.words import say
from settings import Settings, SettingsError, to_environment
from storage.store import refuse_claimed

LOOPBACK = "127.0.0.1"


def main(settings: Settings) -> int:
    """Run until a signal; 0 then, else the status of the child that ended it."""
    agent: Child | None = None
    refuse_claimed(settings.store)  # before looking for anything that would be read in vain
    configs.at_once(  # likewise what is wrong with rules, channels, token files, and published results
        lambda: configs.collector(settings),
        lambda: destinations.heartbeat(settings),
        lambda: configs.comparison(settings),
    )
    if not settings.nodes and not settings.engines:
        settings, agent = with_local_agent(settings)
        settings = with_local_engines(settings)
    ready = hub.prepare(settings)

    async def plan(supervisor: Supervisor) -> None:
        if agent is not None:
            supervisor.keep(agent)
        hub.start(supervisor, ready)
        await hub.welcome(supervisor, ready)

    return asyncio.run(Supervisor().run(plan))


def with_local_agent(settings: Settings) -> tuple[Settings, Child | None]:
    """Read this machine's agent: the one that already runs on the agent's port, else one started beside the hub."""
    name = re.sub(r"[^A-Za-z0-9_.-]", "-", socket.gethostname()) or "this-machine"
    if settings.agent_port and discover.is_agent(settings.agent_port):
        return dataclasses.replace(settings, nodes={name: f"http://{LOOPBACK}:{settings.agent_port}"}), None
    try:
        port = hub.free_port(LOOPBACK, settings.agent_port)
    except SettingsError:
        port = hub.free_port(LOOPBACK, 0)
    settings = dataclasses.replace(
        settings, nodes={name: f"http://{LOOPBACK}:{port}"}, agent_host=LOOPBACK, agent_port=port
    )
    return settings, Child("agent", hub.command("agent"), to_environment(settings))


def with_local_engines(settings: Settings, ports: Sequence[int] = discover.PORTS) -> Settings:
    """Read the engines found on this machine's usual ports, and say so."""
    found = discover.engines(ports) if settings.discover else ()
    for engine in found:
        say(f"Found {engine.what} at {engine.url}: reading it. To keep it: --engine {engine.url}")
    if settings.discover and not found:
        print(
            f"No engine on ports {', '.join(map(str, ports))} of this machine; name one with --engine URL.", flush=True
        )
    return dataclasses.replace(settings, engines={engine.name: engine.url for engine in found})
