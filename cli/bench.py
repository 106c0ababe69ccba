"""`bench -- COMMAND…`: starts a run, carries the command out, imports its result, and ends as the command does."""

from __future__ import annotations

import os
import shutil
import signal
import subprocess
import sys
import time
from collections.abc import Collection, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

from cli.benchmarks import complaints, imported, lines, results, shown_all
from cli.console import FAILED, REFUSED, UNHEARD, now_ms, said
from cli.words import say
from dashboard.api import run_answers as route
from dashboard.api.benchmark_answers import Wish
from dashboard.api.parameters import ParameterError
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from pipeline.tail import Tail
from runs.entries import Section, find
from runs.model import Run
from settings import Settings
from storage.errors import StoreError
from storage.records import RunFilter
from storage.store import open_store

USAGE = "name the command: bench -- vllm bench serve … --save-result"
NO_RESULT = "No file with a new result was found where the command was started; name it with --result FILE."
NOT_FOUND, NOT_STARTED, BY_SIGNAL = 127, 126, 128
PASSED_ON = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
ENDINGS = (".json", ".jsonl", ".csv")
FOLDERS = ("--result-dir", "--output-dir")
FILES = ("--result-filename", "--save-result", "--output-path", "--output")
"""Flags of tools that name where their results go."""
HEADS = (
    "speed.decode_mean",
    "speed.decode_peak",
    "speed.prefill_throughput",
    "speed.decoding_seconds",
    "requests.output",
    "requests.prompt",
    "requests.finished",
    "phases.running_mean",
)


def main(settings: Settings, options: Mapping[str, Any]) -> int:
    """The command's exit status (128 + the signal that ended it); 1, 2 or 3 where it was not even begun."""
    words = list(options.get("words") or ())
    if not words:
        return said(USAGE, REFUSED)
    if shutil.which(words[0]) is None:
        return absent(words[0])
    try:
        store = open_store(settings.store, writer=False, now_ms=now_ms())
    except StoreError as error:
        return said(error, FAILED)
    try:
        return _measure(Sources(store, Tail(store), now_ms), words, options)
    except (ParameterError, ValueError) as error:
        return said(error, REFUSED)
    except StoreError as error:
        return said(error, FAILED)
    finally:
        store.close()


def absent(command: str) -> int:
    """Say that there is no such command, before a run is begun for it: that would end the one that goes on."""
    if os.path.dirname(command) and os.path.exists(command):
        return said(f"{command}: it cannot be executed", NOT_STARTED)
    return said(f"{command}: there is no such command", NOT_FOUND)


def _measure(sources: Sources, words: Sequence[str], options: Mapping[str, Any]) -> int:
    deployment = _deployment(sources, options.get("deployment"))
    run = _started(sources, deployment, options.get("name"))
    if run is None:
        return UNHEARD
    named = [Path(one) for one in options.get("result") or ()]
    before = {key for path in found(words, named) for key in keys(path)}
    begun = time.time()
    status = carried_out(words)
    try:
        _order(sources, {"kind": "stop", "run": run.id})
        taken = 0
        for path in found(words, named):
            if path in named or (path.stat().st_mtime >= begun - 1.0 and keys(path)):
                taken += _import(sources, path, run, before)
        if not taken:
            said(NO_RESULT, 0)
        _summary(sources, run.id)
    except (ValueError, OSError, StoreError) as error:
        said(error, 0)  # whatever becomes of it here, the command ended as it did
    return status


def _deployment(sources: Sources, given: object) -> str:
    known = [one.deployment for one in sources.store.detectors() if one.deployment]
    if given is not None:
        return str(given)
    if len(known) != 1:
        raise ValueError(f"name the deployment with --deployment, known are: {', '.join(known) or 'none yet'}")
    return known[0]


def _started(sources: Sources, deployment: str, name: object) -> Run | None:
    """The run that was started for the command; None where no collector has done so."""
    given = {"kind": "start", "deployment": deployment, **({} if name is None else {"name": str(name)})}
    told = _order(sources, given)
    if told["applied"] is None:
        return None
    if told["error"] is not None:
        raise ValueError(told["error"])
    runs = sources.store.runs(RunFilter(deployment, live=True))
    return runs[0] if runs else None


def _order(sources: Sources, given: dict[str, Any]) -> dict[str, Any]:
    """Ask the collector; what it did not do is said and costs the command nothing."""
    told, _ = route.order(sources, given)
    if told["applied"] is None:
        said(told["why"], 0)
    return told


def carried_out(words: Sequence[str]) -> int:
    """Run a command with our own input and output; signals that end us are passed on to it instead."""
    try:
        child = subprocess.Popen(words)
    except FileNotFoundError:
        return said(f"{words[0]}: there is no such command", NOT_FOUND)
    except OSError as error:
        return said(f"{words[0]}: {error.strerror}", NOT_STARTED)
    with _passing_on(child):
        status = child.wait()
    return BY_SIGNAL - status if status < 0 else status


@contextmanager
def _passing_on(child: subprocess.Popen[bytes]) -> Iterator[None]:
    """A terminal's Ctrl-C reaches the command by itself, so that it is not sent twice."""

    def pass_on(number: int, _frame: FrameType | None) -> None:
        if number != signal.SIGINT or not sys.stdin.isatty():
            child.send_signal(number)

    before = {number: signal.signal(number, pass_on) for number in PASSED_ON}
    try:
        yield
    finally:
        for number, handler in before.items():
            signal.signal(number, handler)


def found(words: Sequence[str], named: Sequence[Path]) -> list[Path]:
    """Files that may hold results: those that people name; else those where the command puts them."""
    if named:
        return [path for path in named if path.exists()]
    folders = {Path(), *(Path(one) for one in _values(words, FOLDERS))}
    files = [Path(one) for one in _values(words, FILES)]
    paths = {path for folder in folders for file in files for path in (folder / file,) if path.is_file()}
    paths |= {path for folder in {*folders, *(one.parent for one in files)} for path in _inside(folder)}
    return sorted({path.resolve() for path in paths})


def keys(path: Path) -> set[str]:
    """Keys of the results in a file; none where it holds none."""
    try:
        return {one.key for one in results(path)}
    except (ValueError, OSError):
        return set()


def _values(words: Sequence[str], flags: Sequence[str]) -> Iterator[str]:
    """Values of flags on a command line: behind the flag, or after its equals sign."""
    for place, word in enumerate(words):
        flag, equals, value = word.partition("=")
        if flag in flags:
            following = words[place + 1] if place + 1 < len(words) else ""
            chosen = value if equals else following
            if chosen and not chosen.startswith("-"):
                yield chosen


def _inside(folder: Path) -> Iterator[Path]:
    if folder.is_dir():
        yield from (path for path in folder.iterdir() if path.suffix in ENDINGS and path.is_file())


def _import(sources: Sources, path: Path, run: Run, before: Collection[str]) -> int:
    """How many results were not in the file before. What cannot be imported is said; the command's status stands."""
    try:
        told = imported(sources, path, Wish(run.id), before)
    except (ValueError, OSError, StoreError) as error:
        said(error, 0)
        return 1
    for one in told:
        if one["error"] is None:
            say("", *lines(one).split("\n"))
    complaints(told)
    return len(told)


def _summary(sources: Sources, number: int) -> None:
    run = sources.store.run(number)
    if run is None:
        return
    say("", f"Run {run.id} ({run.name})")
    end = run.end_ms if run.end_ms is not None else sources.now_ms()
    if end <= run.start_ms:
        say("It was over before anything was read.")
        return
    told = RunNumbers(sources).of(run, run.start_ms, end)
    sections = [Section.from_json(one) for one in told.sections]
    entries = [one.to_json() for path in HEADS if (one := find(sections, path)) is not None]
    say(*(told.why or shown_all(entries)).split("\n"))
