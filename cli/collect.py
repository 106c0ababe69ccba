"""`collect`: the collector alone."""

from __future__ import annotations

from cli import configs
from cli.beginning import counted, tell
from pipeline.collector import run
from pipeline.config import CollectorConfig
from settings import Settings, without_password


def main(settings: Settings) -> int:
    """The collector's exit status."""
    configs.make_store_directory(settings.store)
    config = configs.collector(settings)
    return run(config, lambda: tell(line_of(config)))


def line_of(config: CollectorConfig) -> str:
    """How many are read, and where that is kept."""
    what = f"{counted(config.nodes, 'node')} and {counted(config.engines, 'engine')}"
    return f"Reading {what} every {config.interval_s:g} s into {without_password(config.store_url)}."
