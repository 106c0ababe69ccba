"""What holds for all tests."""

from __future__ import annotations

import pytest
from hypothesis import settings

# A slow machine is no defect, and a failure must be the same failure on the next machine.
settings.register_profile("all", deadline=None, derandomize=True)
settings.load_profile("all")


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Tests in a browser come last in every process: Playwright keeps an event loop running in its thread until the
    session ends, and no test after it could start one of its own.
    """
    items.sort(key=lambda item: "browser" in item.path.parts)
