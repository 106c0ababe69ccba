"""Commands set up logging for their process; a test's is ours."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator

import pytest

from cli import console, logs
from cli.main import main
from tests.web.world import World

Do = Callable[..., tuple[int, str, str]]


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


@pytest.fixture
def do(
    request: pytest.FixtureRequest, world: World, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> Do:
    """Run the module's `COMMAND` at the world's present: (exit status, output, complaints)."""
    monkeypatch.setattr(console, "now_ms", lambda: world.now)
    command = request.module.COMMAND

    def run_command(*words: str) -> tuple[int, str, str]:
        status = main([command, *words, "--store", world.url])
        said = capsys.readouterr()
        return status, said.out, said.err

    return run_command
