"""`runs report | export | import`: a run as something to pass on, and one that was passed on."""

from __future__ import annotations

import json
import sys
from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from typing import Any

from cli.console import FAILED, UNHEARD, said
from cli.files import whole
from cli.numbers import number
from cli.version import version
from cli.words import say
from dashboard.api.run_answers import known
from dashboard.report import made
from dashboard.run_numbers import RunNumbers
from dashboard.sources import Sources
from exchange.bundle import MOST_PACKED, SUFFIX
from runs.model import Run

STDOUT = "-"
Words = Sequence[str]
Options = Mapping[str, Any]


def _run(sources: Sources, words: Words) -> Run:
    return known(sources.store, number(words[0] if words else "", "name a run by its number"))


def _content(sources: Sources, run: Run, options: Options) -> dict[str, Any]:
    nameless = bool(options.get("anonymous"))
    return made.told(sources, RunNumbers(sources), run, version(), nameless=nameless)


def report(sources: Sources, words: Words, options: Options) -> int:
    """HTML or Markdown: as told, else by the ending of the file, else HTML."""
    run, out = _run(sources, words), options.get("out")
    ending = "" if out in (None, STDOUT) else Path(str(out)).suffix.removeprefix(".")
    form = str(options.get("format") or {"htm": made.HTML, "markdown": made.MARKDOWN}.get(ending, ending) or made.HTML)
    if form not in made.FORMS:
        raise ValueError(f"a report is {' or '.join(made.FORMS)}, not {form}")
    return _keep(made.report(form, _content(sources, run, options)), out or made.file_name(run, form), options)


def export(sources: Sources, words: Words, options: Options) -> int:
    """A bundle that another installation imports."""
    run = _run(sources, words)
    out = words[1] if len(words) > 1 else options.get("out") or made.file_name(run, SUFFIX.removeprefix("."))
    nameless = bool(options.get("anonymous"))
    return _keep(made.bundle(sources, run, _content(sources, run, options), nameless=nameless), out, options)


def _keep(data: bytes, out: object, options: Options) -> int:
    """Write a file, and say its name."""
    if out == STDOUT:
        sys.stdout.buffer.write(data)
        return 0
    path = Path(str(out))
    if path.exists() and not options.get("force"):
        raise ValueError(f"{path} is there already: name another file, or give --force")
    try:
        path.write_bytes(data)
    except OSError as error:
        return said(f"{path}: {error.strerror}", FAILED)
    say(f"{path}: {len(data) / 1e3:.0f} kB")
    return 0


def bring(sources: Sources, words: Words, options: Options) -> int:
    """Import bundles; each becomes a run that is marked as foreign."""
    if not words:
        raise ValueError("name the file: runs import FILE")
    return max(_bring(sources, Path(name), options) for name in words)


def _bring(sources: Sources, path: Path, options: Options) -> int:
    try:
        told, _ = made.bring(sources, whole(path, MOST_PACKED))
    except OSError as error:
        return said(f"{path}: {error.strerror}", FAILED)
    except ValueError as error:
        return said(f"{path}: {error}", FAILED)
    if options.get("json"):
        print(json.dumps(told))
    if told["applied"] is None:
        return said(told["why"], UNHEARD)
    if told["error"] is not None:
        return said(told["error"], FAILED)
    if not options.get("json"):
        say(f"{path}: run {told['run']}{'' if told['new'] else ', which was there already'}")
    return 0


ACTIONS: Mapping[str, Callable[[Sources, Words, Options], int]] = {"report": report, "export": export, "import": bring}
"""What `runs` does with them."""
