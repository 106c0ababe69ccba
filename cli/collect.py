"""`collect`: the collector alone."""

from __future__ import annotations

from cli import configs
from pipeline import collector
from settings import Settings


def main(settings: Settings) -> int:
    configs.make_store_directory(settings.store)
    return collector.run(configs.collector(settings))
