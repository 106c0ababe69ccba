"""All endpoints of the imaginary cluster in one process: an agent per node, the engine, the control."""

from __future__ import annotations

import asyncio
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from simulator.cluster import Instant
from simulator.control import Control
from simulator.engine import Life
from simulator.faults import Order
from simulator.http import NOT_FOUND, Answer, Endpoint, Handler, Request
from simulator.pages import agent_page, engine_page, state_page
from simulator.pages.clocks import Clocks
from simulator.truth import TruthLog
from simulator.weights import WEIGHTS
from simulator.world import World

TICK_S = 0.25
"""Real seconds between two looks at which endpoints should be open."""
SAME_S = 0.02
"""Real seconds for which one reading of all nodes serves all agents: a round of scrapes comes at once."""
ANSWERING = (Life.SERVING, Life.STOPPING)


@dataclass(frozen=True)
class Options:
    """What to simulate and where to serve it; port_base 0 lets the kernel choose every port."""

    nodes: int = 16
    seed: int = 7
    speed: float = 1.0
    port_base: int = 0
    truth: Path | None = None
    faults: tuple[Order, ...] = ()


class Simulator:
    """The world and its endpoints; `monotonic` and `wall` are the clocks of the real one, in seconds."""

    def __init__(self, options: Options, monotonic: Callable[[], float], wall: Callable[[], float]) -> None:
        self.options = options
        self.world = World(options.seed, options.nodes, options.faults)
        self.world.advance(0.0)
        self._monotonic = monotonic
        self._started = monotonic()
        self._last_look: Instant | None = None
        self.clocks = Clocks(wall(), options.speed)
        self.truth = TruthLog(options.truth, self._about())
        for incident in self.world.incidents:
            self.truth.fault(incident)
        self.world.on_second = self.truth.second
        port = _ports(options.port_base, options.nodes + 2)
        self.engine = Endpoint(self._engine, next(port))
        self.control = Endpoint(Control(self.world, self.truth, self.advance).answer, next(port))
        self.agents = [Endpoint(self._agent(node), next(port)) for node in range(options.nodes)]

    def advance(self) -> None:
        """Bring the world to the present."""
        self.world.advance((self._monotonic() - self._started) * self.options.speed)

    def addresses(self) -> dict[str, Any]:
        """Where everything is, for the one who started it."""
        return {
            "engine": self.engine.url,
            "control": self.control.url,
            "nodes": {name: agent.url for name, agent in zip(self.world.names, self.agents, strict=True)},
            "roofline": {engine_page.MODEL.rpartition("/")[2]: WEIGHTS},
            **self._about(),
        }

    async def start(self) -> None:
        """Open all endpoints."""
        for endpoint in (self.control, self.engine, *self.agents):
            await endpoint.listen()

    async def run(self) -> None:
        """Move the world along and open and shut endpoints as the faults want, until cancelled."""
        while True:
            self.advance()
            await self.attend()
            await asyncio.sleep(TICK_S)

    async def attend(self) -> None:
        """Open and shut endpoints to match the world."""
        gone = self.world.conditions.nodes.agent_gone
        wanted = [(self.engine, self.world.engine.life in ANSWERING)]
        wanted += [(agent, not gone[node]) for node, agent in enumerate(self.agents)]
        for endpoint, listens in wanted:
            if listens and not endpoint.listening:
                await endpoint.listen()
            elif not listens and endpoint.listening:
                await endpoint.shut()

    async def stop(self) -> None:
        """Shut everything."""
        for endpoint in (self.control, self.engine, *self.agents):
            await endpoint.shut()
        self.truth.close()

    def _look(self) -> Instant:
        """All nodes now, or a moment ago in the same cell."""
        world, last = self.world, self._last_look
        if last is None or last.at < world.cluster.now or world.now - last.at > SAME_S * self.options.speed:
            self._last_look = last = world.look()
        return last

    def _about(self) -> dict[str, Any]:
        return {
            "seed": self.options.seed,
            "speed": self.options.speed,
            "epoch_s": self.clocks.epoch_s,
            "names": list(self.world.names),
            "booted": [round(self.clocks.wall_s(float(at)), 6) for at in self.world.cluster.booted],
        }

    def _agent(self, node: int) -> Handler:
        async def answer(request: Request) -> Answer | None:
            await asyncio.sleep(0)  # the engine, asked in the same round, goes first: it is never slow when idle
            self.advance()
            state = self.world.conditions.nodes
            if not await self._wait(lambda: bool(self.world.conditions.nodes.gone[node]), float(state.delay_s[node])):
                return None
            self.advance()
            if self.world.conditions.nodes.agent_gone[node]:
                return None
            if request.path == "/metrics":
                return Answer(200, agent_page.render(self.world, node, self.clocks, self._look()).encode())
            if request.path == "/state":
                after = request.query.get("after", "0")
                number = int(after) if after.isdigit() else 0
                return Answer.json(state_page.render(self.world, node, self.clocks, number))
            return NOT_FOUND

        return answer

    async def _engine(self, request: Request) -> Answer | None:
        self.advance()
        await asyncio.sleep(self.world.conditions.engine.delay_s)
        head_gone = bool(self.world.conditions.nodes.gone[0])
        if not await self._wait(lambda: bool(self.world.conditions.nodes.gone[0]), 0.0) or head_gone:
            return None
        self.advance()
        if self.world.engine.life not in ANSWERING:
            return None
        if request.path == "/metrics":
            return Answer(200, engine_page.render(self.world, self.clocks).encode())
        pages = {
            "/v1/models": engine_page.models(self.world, self.clocks),
            "/version": {"version": engine_page.VERSION},
        }
        if request.path == "/health":
            return Answer(200, b"")
        return Answer.json(pages[request.path]) if request.path in pages else NOT_FOUND

    async def _wait(self, silent: Callable[[], bool], delay_s: float) -> bool:
        """Wait as long as the target is late; a silent one says nothing until it is back, and then nothing either."""
        await asyncio.sleep(delay_s)
        if not silent():
            return True
        while silent():
            await asyncio.sleep(TICK_S)
            self.advance()
        return False


def _ports(base: int, count: int) -> Iterator[int]:
    return iter([0] * count if base == 0 else range(base, base + count))
