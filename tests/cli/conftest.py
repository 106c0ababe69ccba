"""Commands set up logging for their process; a test's is ours."""

from __future__ import annotations

import logging
from collections.abc import Iterator

import pytest

from cli import logs


@pytest.fixture(autouse=True)
def loggers() -> Iterator[None]:
    """Put logging back as it was before a command."""
    root, noisy = logging.getLogger(), [logging.getLogger(name) for name in logs.NOISY]
    kept = root.level, list(root.handlers), [logger.level for logger in noisy]
    yield
    root.setLevel(kept[0])
    root.handlers[:] = kept[1]
    for logger, level in zip(noisy, kept[2], strict=True):
        logger.setLevel(level)
