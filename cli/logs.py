"""Where log lines go and what they look like."""

from __future__ import annotations

import logging

from cli.words import clean

NOISY = {
    "apscheduler": logging.ERROR,
    "apscheduler.executors": logging.CRITICAL,
    "asyncio": logging.WARNING,
    "werkzeug": logging.WARNING,
    "aiohttp.access": logging.WARNING,
}
"""Libraries whose everyday lines are no news to whoever runs a monitor, and from which severity on theirs are shown.
Of jobs that are late or failed, `pipeline.upkeep` tells in sentences."""


class _Cleaned(logging.Formatter):
    """Lines without signs that do something on a terminal: names in them come from machines and strangers."""

    def format(self, record: logging.LogRecord) -> str:
        return "\n".join(map(clean, super().format(record).split("\n")))


def configure(process: str, level: str) -> None:
    """Log to standard error, each line with its process; the journal adds the time where there is one, so do we."""
    text = f"%(asctime)s {process:<7} %(levelname)-7s %(message)s"
    logging.basicConfig(level=level.upper(), force=True)
    for handler in logging.getLogger().handlers:
        handler.setFormatter(_Cleaned(text, "%H:%M:%S"))
    if level != "debug":
        for name, least in NOISY.items():
            logging.getLogger(name).setLevel(least)
