"""`restore`: a backup in the store's place, once it is found sound; what stood there is kept beside it."""

from __future__ import annotations

import time
from collections.abc import Mapping
from pathlib import Path
from typing import Any

from cli.progress import Line
from cli.verify import summary
from cli.words import say
from settings import Settings
from storage.backup import restore
from storage.errors import StoreError, StoreTaken

FAILED = 1
REFUSED = 2


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when it stands; 2 while a collector writes to the store; else 1, and nothing was changed."""
    line = Line()
    try:
        done = restore(settings.store, Path(options["file"]), time.time_ns() // 1_000_000, progress=line.tell)
    except StoreError as error:
        line.end()
        say(*str(error).splitlines(), error=True)
        return REFUSED if isinstance(error, StoreTaken) else FAILED
    line.end()
    say(f"restored from {options['file']}; {summary(done.report)}")
    if done.version != done.report.version:
        say(f"The backup's tables were of version {done.version}; the store's are of version {done.report.version}.")
    if done.aside is not None:
        say(f"What stood there is kept: {done.aside}")
    return 0
