"""A collector process on a machine whose wall clock is wrong, and is set while it runs.

shifted.py STORE NODE_URL ENGINE_URL INTERVAL_S WALL_S: the wall clock shows WALL_S (epoch seconds; 0: the right time)
when the collector begins. SIGUSR1 sets it an hour forward, SIGUSR2 an hour back, as an administrator would: all who ask
the time see it, nobody who measures durations does. The clock is compared every CHECK_S seconds.
"""

from __future__ import annotations

import datetime
import signal
import sys
import time

HOUR_S = 3600
CHECK_S = 0.2
right = time.time


class Wall:
    """How far the machine's clock is off."""

    off_s = 0.0

    @classmethod
    def time(cls) -> float:
        return right() + cls.off_s


class Shifted(datetime.datetime):
    """The machine's clock for those who ask for a date."""

    @classmethod
    def now(cls, tz: datetime.tzinfo | None = None) -> datetime.datetime:  # type: ignore[override]
        return cls.fromtimestamp(Wall.time(), tz)


def step(by_s: float) -> None:
    Wall.off_s += by_s


def main(store: str, node: str, engine: str, interval_s: str, wall_s: str) -> int:
    time.time, time.time_ns = Wall.time, lambda: round(Wall.time() * 1e9)
    datetime.datetime = Shifted  # type: ignore[misc]
    from pipeline import upkeep
    from pipeline.collector import run
    from pipeline.config import CollectorConfig, TargetConfig, TargetKind

    signal.signal(signal.SIGUSR1, lambda *_: step(HOUR_S))
    signal.signal(signal.SIGUSR2, lambda *_: step(-HOUR_S))
    upkeep.CLOCK_EVERY_S = CHECK_S  # type: ignore[assignment]
    nodes = (TargetConfig("node", node, TargetKind.NODE),)
    engines = (TargetConfig("engine", engine, TargetKind.ENGINE),)
    step(float(wall_s) - right() if float(wall_s) else 0.0)
    return run(CollectorConfig(store, nodes, engines, interval_s=float(interval_s)))


if __name__ == "__main__":
    sys.exit(main(*sys.argv[1:]))
