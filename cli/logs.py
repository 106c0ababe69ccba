"""Where log lines go and what they look like."""

from __future__ import annotations

import logging

NOISY = ("apscheduler", "asyncio", "werkzeug", "aiohttp.access")
"""Libraries whose everyday lines are no news to whoever runs a monitor."""


def configure(process: str, level: str) -> None:
    """Log to standard error, each line with its process; the journal adds the time where there is one, so do we."""
    text = f"%(asctime)s {process:<7} %(levelname)-7s %(message)s"
    logging.basicConfig(level=level.upper(), format=text, datefmt="%H:%M:%S", force=True)
    if level != "debug":
        for name in NOISY:
            logging.getLogger(name).setLevel(logging.WARNING)
