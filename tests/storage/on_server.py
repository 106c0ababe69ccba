"""Fixtures of tests that are about a PostgreSQL server alone."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from tests.storage.server import Server


@pytest.fixture
def engine() -> str:
    """The only one here."""
    return "postgresql"


@pytest.fixture
def database(server: Server) -> Iterator[str]:
    """A database of its own: its name."""
    name = server.new()
    yield name
    server.run(f"DROP DATABASE IF EXISTS {name} WITH (FORCE)")
