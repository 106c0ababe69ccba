"""`version`: which Tachograph this is."""

from __future__ import annotations

import tomllib
from pathlib import Path

from settings import Settings


def version() -> str:
    """The version in pyproject.toml, the one place it is written for the hub."""
    content = tomllib.loads((Path(__file__).parent.parent / "pyproject.toml").read_text("utf-8"))
    return str(content["project"]["version"])


def main(_settings: Settings) -> int:
    print(f"tachograph {version()}")
    return 0
