"""Database engines that every test of a store runs on, and how a test says that it is of one alone."""

from __future__ import annotations

import pytest

ENGINES = ("sqlite", pytest.param("postgresql", marks=pytest.mark.live))
"""The second one doubles the time of these tests: it is for `make test-live`."""

sqlite_only = pytest.mark.parametrize("engine", ["sqlite"], indirect=True)
"""What a test looks at is a matter of SQLite's file."""
