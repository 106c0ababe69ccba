"""`export`: any stretch of the store as CSV, Parquet or SQLite, read beside a collector that goes on."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import Any, BinaryIO

from cli import console
from cli.console import FAILED, REFUSED, said
from cli.words import say
from dashboard.api import export as asked
from dashboard.api.parameters import ParameterError
from dashboard.sources import Sources
from exchange import formats
from exchange.blocks import Block
from exchange.estimate import Estimate, estimate
from exchange.extract import Export, Extract, extract
from exchange.names import file_name
from exchange.parquet import NoParquet
from exchange.sqlite import NoRoom
from pipeline.tail import Tail
from settings import Settings
from storage.errors import StoreError
from storage.store import open_store

HOLES = 3
STDOUT = "-"
GZIP = ".gz"
ENDINGS = {".csv": formats.CSV, ".parquet": formats.PARQUET, ".sqlite": formats.SQLITE, ".db": formats.SQLITE}
TOLD_EVERY_S = 1.0
HOLES_TOLD = 10


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """0 when the file is written; 3 when it is, but lacks what is damaged in the store; 2 for what cannot be
    asked so; 1 when the store, the disk or a library says no."""
    try:
        store = open_store(settings.store, writer=False, now_ms=console.now_ms())
    except StoreError as error:
        return said(error, FAILED)
    try:
        return _export(Sources(store, Tail(store), console.now_ms), options)
    except (ParameterError, ValueError) as error:
        return said(error, REFUSED)
    except BrokenPipeError:
        return FAILED
    except (StoreError, NoParquet, NoRoom, OSError) as error:
        return said(error, FAILED)
    finally:
        store.close()


def parameters(options: Mapping[str, Any]) -> dict[str, str]:
    """The options as the parameters of the API; every sample where no resolution is given."""
    given = {name: value for name, value in options.items() if name in asked.KNOWN}
    if not any(name in given for name in asked.RESOLUTIONS):
        given["raw"] = True
    joined = {name: ",".join(value) if isinstance(value, list) else value for name, value in given.items()}
    return {name: "1" if value is True else str(value) for name, value in joined.items()}


def _export(sources: Sources, options: Mapping[str, Any]) -> int:
    given = parameters(options)
    output = options.get("output")
    form, gzip = _form(options.get("format"), output)
    formats.check(form)
    wanted = asked.read(given, sources, form)
    ending = f"{form}{GZIP}" if gzip else form
    path = Path(output if output is not None else file_name(wanted, ending))
    if output != STDOUT and path.exists() and not options.get("force"):
        raise ValueError(f"{path} is there already: name another file, or give --force")
    if output != STDOUT and not path.parent.is_dir():
        raise ValueError(f"there is no folder {path.parent}: make it, or name another file")
    expected = estimate(wanted, sources, form, gzip=gzip)
    progress = Progress(wanted, expected, "standard output" if output == STDOUT else str(path))
    found = extract(wanted, sources)
    pieces = formats.pieces(form, wanted, Extract(found.table, progress.watch(found.blocks)), gzip=gzip)
    if output == STDOUT:
        _write(pieces, sys.stdout.buffer, progress)
    else:
        _make(path, pieces, progress)
    progress.done()
    return _holes(sources, wanted)


def _holes(sources: Sources, wanted: Export) -> int:
    """Tell what of the range could not be read, hour by hour; 0 where that is nothing."""
    damaged = sources.store.damaged(wanted.start_ms, wanted.end_ms)
    for one in damaged[:HOLES_TOLD]:
        say(f"{one.reason}: the export has a gap there", error=True)
    if len(damaged) > HOLES_TOLD:
        print(f"… and {len(damaged) - HOLES_TOLD} more", file=sys.stderr)
    return HOLES if damaged else 0


def _form(given: object, output: object) -> tuple[str, bool]:
    """(form, whether gzip): as told, else by the ending of the file, else CSV. ValueError for a form that is none."""
    name = "" if output in (None, STDOUT) else str(output).lower()
    gzip = name.endswith(GZIP)
    ending = Path(name.removesuffix(GZIP)).suffix
    if given is None and ending and ending not in ENDINGS:
        known = ", ".join((*ENDINGS, f".csv{GZIP}"))
        raise ValueError(f"{output}: no form has the ending {ending}; expected one of {known}, or give --format")
    form = given if given is not None else ENDINGS.get(ending, formats.CSV)
    if form not in formats.FORMS:
        raise ValueError(f"--format: {form!r} is wrong, expected one of {', '.join(formats.FORMS)}")
    if gzip and form != formats.CSV:
        raise ValueError(f"{output}: only CSV is packed; {form} is compact by itself")
    return str(form), gzip


def _make(path: Path, pieces: formats.Pieces, progress: Progress) -> None:
    """Write beside, and put it in place when it is whole: what has the name is never half a file."""
    part = path.with_name(path.name + ".part")
    try:
        file = part.open("wb")
    except OSError as error:
        raise ValueError(f"{path} cannot be written: {error.strerror}") from error
    try:
        with file:
            _write(pieces, file, progress)
        part.replace(path)
    except BaseException:
        part.unlink(missing_ok=True)
        raise


def _write(pieces: formats.Pieces, file: BinaryIO, progress: Progress) -> None:
    try:
        for piece in pieces:
            file.write(piece)
            progress.size += len(piece)
        file.flush()
    finally:
        pieces.close()


class Progress:
    """How far an export is, on standard error: at most a line a second on a terminal, else only its end."""

    def __init__(
        self, export: Export, expected: Estimate, where: str, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self.rows = 0
        self.size = 0
        self._export, self._expected, self._where, self._clock = export, expected, where, clock
        self._told = self._begun = clock()

    def watch(self, blocks: Any) -> Iterator[Block]:
        """The same blocks, counted."""
        for block in blocks:
            self.rows += int(block.rows.sum())
            self._tell(block)
            yield block

    def _tell(self, block: Block) -> None:
        now = self._clock()
        if now - self._told < TOLD_EVERY_S or not len(block.t_ms) or not sys.stderr.isatty():
            return
        self._told = now
        share = (int(block.t_ms[-1]) - self._export.start_ms) / (self._export.end_ms - self._export.start_ms)
        about = "" if self._expected.exact else " about"
        text = f"{share:4.0%}  {self.rows:,} of{about} {self._expected.rows:,} rows, {megabytes(self.size)}"
        print(f"\r{text}", end="", file=sys.stderr, flush=True)

    def done(self) -> None:
        """The last line."""
        seconds = self._clock() - self._begun
        end = "\r" if sys.stderr.isatty() else ""
        print(f"{end}{self.rows:,} rows, {megabytes(self.size)} in {seconds:.1f} s: {self._where}", file=sys.stderr)


def megabytes(size: int) -> str:
    """A number of bytes as people read it."""
    return f"{size / 1e6:.1f} MB"
