"""Where log lines go and what they look like."""

from __future__ import annotations

import logging

NOISY = {
    "apscheduler": logging.ERROR,
    "apscheduler.executors": logging.CRITICAL,
    "asyncio": logging.WARNING,
    "werkzeug": logging.WARNING,
    "aiohttp.access": logging.WARNING,
}
"""Libraries whose everyday lines are no news to whoever runs a monitor, and from which severity on theirs are shown.
Of jobs that are late or failed, `pipeline.upkeep` tells in sentences."""


def configure(process: str, level: str) -> None:
    """Log to standard error, each line with its process; the journal adds the time where there is one, so do we."""
    text = f"%(asctime)s {process:<7} %(levelname)-7s %(message)s"
    logging.basicConfig(level=level.upper(), format=text, datefmt="%H:%M:%S", force=True)
    if level != "debug":
        for name, least in NOISY.items():
            logging.getLogger(name).setLevel(least)
