"""`collect`: the collector alone."""

from __future__ import annotations

from cli import configs
from pipeline.collector import run
from settings import Settings


def main(settings: Settings) -> int:
    """The collector's exit status."""
    configs.make_store_directory(settings.store)
    return run(configs.collector(settings))
