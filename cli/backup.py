"""`backup`: the store in one file, copied beside a collector that goes on, and verified."""

from __future__ import annotations

from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.progress import Line
from cli.verify import summary
from cli.words import say
from settings import Settings
from storage.backup import Backup, back_up
from storage.errors import StoreError

FAILED = 1


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when the file is written and sound, else 1."""
    line = Line()
    try:
        made = back_up(settings.store, Path(options["file"]), force=bool(options.get("force")), progress=line.tell)
    except StoreError as error:
        line.end()
        say(*str(error).splitlines(), error=True)
        return FAILED
    line.end()
    say(*told(made))
    return 0


def told(made: Backup) -> list[str]:
    """What people should know of a backup."""
    held = " and ".join(made.secrets)
    return [
        f"{made.path}: {made.size / 1e6:.1f} MB; {summary(made.report)}",
        f"It holds {held}, as the store does: whoever can read it can use them."
        if held
        else "It holds no token and no channel, but names and addresses of your machines.",
    ]
