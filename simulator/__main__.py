"""`python -m simulator`: serve a cluster that is not there until told to stop."""

from __future__ import annotations

import argparse
import asyncio
import contextlib
import json
import signal
import sys
import time
from pathlib import Path

from simulator.faults import Order
from simulator.server import Options, Simulator

FASTEST = 100
"""Beyond this a machine may not keep up with its own simulation."""


def options(arguments: list[str]) -> Options:
    """Command line → options; exits with a sentence when something is wrong."""
    parser = argparse.ArgumentParser("simulator", description="A GB10 cluster that is not there.")
    parser.add_argument("--nodes", type=int, default=16, help="how many nodes (1 to 256)")
    parser.add_argument("--port-base", type=int, default=0, help="engine here, control next, then the agents; 0: any")
    parser.add_argument("--seed", type=int, default=7, help="the same seed gives the same cluster")
    parser.add_argument("--speed", type=float, default=1.0, help="simulated seconds per real one")
    parser.add_argument("--truth", type=Path, help="folder for the truth log")
    parser.add_argument("--fault", action="append", default=[], help="NAME@NODE:START+DURATION, seconds; repeatable")
    given = parser.parse_args(arguments)
    if not 1 <= given.nodes <= 256:
        parser.error(f"--nodes is 1 to 256, not {given.nodes}")
    if not 0 < given.speed <= FASTEST:
        parser.error(f"--speed is above 0 and at most {FASTEST}, not {given.speed}")
    try:
        faults = tuple(Order.parse(text) for text in given.fault)
    except ValueError as error:
        parser.error(str(error))
    return Options(given.nodes, given.seed, given.speed, given.port_base, given.truth, faults)


async def serve(chosen: Options) -> None:
    """Serve until SIGTERM or SIGINT; one line of JSON with all addresses goes out as soon as they answer."""
    simulator = Simulator(chosen, time.monotonic, time.time)
    loop = asyncio.get_running_loop()
    await simulator.start()
    running = asyncio.ensure_future(simulator.run())
    for name in (signal.SIGTERM, signal.SIGINT):
        loop.add_signal_handler(name, running.cancel)
    sys.stdout.write(json.dumps(simulator.addresses()) + "\n")
    sys.stdout.flush()
    try:
        with contextlib.suppress(asyncio.CancelledError):
            await running
    finally:
        await simulator.stop()


def main() -> int:
    """Entry point."""
    chosen = options(sys.argv[1:])
    try:
        asyncio.run(serve(chosen))
    except (ValueError, OSError) as error:
        sys.stderr.write(f"simulator: {error}\n")
        return 2
    return 0


if __name__ == "__main__":
    sys.exit(main())
