"""A stage and the store that it writes."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from storage.store import Store, open_store
from tests.pipeline.stage import Stage


@pytest.fixture
def stage(tmp_path: Path) -> Stage:
    return Stage(tmp_path / "store.db")


@pytest.fixture
def store(stage: Stage) -> Iterator[Store]:
    opened = open_store(str(stage.path), writer=True, now_ms=0)
    yield opened
    opened.close()
