"""The command line: flags come from the table of settings, each command lives in the module of its name."""

from __future__ import annotations

import argparse
import importlib
import os
import re
import sys
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from cli import logs
from cli.options import OPTIONS
from cli.supervisor import WRONG_SETTINGS
from cli.words import say
from settings import FILE, TABLE, SettingsError, load
from storage.errors import StoreTaken

UNREAD = 141
"""Whoever read the output has gone (`| head`): what shells say of a program that SIGPIPE ends."""
INTERRUPTED = 130
"""Ctrl-C where nothing was started yet that would have to be stopped in order; what shells say of it, too."""
BEFORE_NOW = re.compile(r"-[0-9]+[a-z]*")
"""A length before now like -2h, which argparse would take for a flag."""
COMMANDS: Mapping[str, str] = {
    "run": "collector and web page; with nothing configured also an agent for this machine",
    "demo": "the same against a simulated cluster, in a store that is thrown away",
    "collect": "the collector alone",
    "web": "the web page alone",
    "agent": "the node agent of this machine",
    "check": "try every configured target once and explain what is wrong",
    "export": "any stretch of what was recorded, as CSV, Parquet or SQLite",
    "import": "result files of benchmarks (vllm bench serve, llama-benchy, guidellm), laid over the runs they measured",
    "bench": "run a benchmark: a run is started, the command carried out, its result file imported",
    "import-prometheus": "a stretch of what a Prometheus or VictoriaMetrics holds, into the store",
    "backup": "a copy of the store in one file, made beside a collector that goes on, and verified",
    "restore": "put a backup in the store's place; what stood there is kept beside it",
    "verify": "read every number of the store, and name what is damaged",
    "runs": "list and show runs; start, stop, name, tag, trim and delete them",
    "notify": "deliver notifications of alerts; run starts it where a channel is configured",
    "alerts": "list and show alerts; acknowledge, silence, and change the rules",
    "version": "print the version",
}
MODULES: Mapping[str, str] = {"import": "benchmarks"}
"""Commands whose module cannot have their name."""


def parser() -> argparse.ArgumentParser:
    """A parser with one sub-command per command and one flag per row of the settings table."""
    top = argparse.ArgumentParser(
        prog="app.py", description="Tachograph: the live speed of a GB10 cluster, and why it is what it is."
    )
    commands = top.add_subparsers(dest="command", required=True, metavar="COMMAND")
    for name, text in COMMANDS.items():
        _add_flags(commands.add_parser(name, help=text, description=text, allow_abbrev=False), name)
    return top


def _add_flags(command: argparse.ArgumentParser, name: str) -> None:
    rows = [row for row in TABLE if row.flag and name in row.commands]
    if name not in ("version", "agent"):
        command.add_argument("--config", metavar="FILE", help=f"settings file (default: {FILE} where you are)")
    for row in rows:
        assert row.flag is not None
        shape: dict[str, Any] = {"action": "append" if row.form.many else "store", "metavar": row.form.metavar}
        if row.form.switch:
            shape = {"action": argparse.BooleanOptionalAction}
        default = row.shown_default or row.default_text
        told = f"default: {default}; {row.environment}" if default else row.environment
        text = f"{row.help} ({told})".replace("%", "%%")
        command.add_argument(row.flag, dest=row.name, default=argparse.SUPPRESS, help=text, **shape)
        if (former := row.formerly) is not None:
            hidden = argparse.SUPPRESS
            command.add_argument(former.flag, dest=former.name, default=hidden, help=hidden, metavar="N")
    for option in OPTIONS.get(name, ()):
        option.add_to(command)


def joined(arguments: Sequence[str]) -> list[str]:
    """The arguments with each length before now tied to the flag that it follows; what follows “--” stays as it is.

    >>> joined(["export", "--start", "-2h", "--end", "now", "-o", "-"])
    ['export', '--start=-2h', '--end', 'now', '-o', '-']
    """
    tied: list[str] = []
    for place, one in enumerate(arguments):
        if one == "--":
            return [*tied, *arguments[place:]]
        if tied and BEFORE_NOW.fullmatch(one) and tied[-1].startswith("--") and "=" not in tied[-1]:
            tied[-1] += f"={one}"
        else:
            tied.append(one)
    return tied


def main(arguments: list[str]) -> int:
    """Run one command; its exit status. 2 means that the settings or the command line were refused."""
    try:
        try:
            return _run(arguments)
        finally:
            sys.stdout.flush()
    except BrokenPipeError:
        # Python tries once more at its end to write what is left: let it go nowhere.
        nowhere = os.open(os.devnull, os.O_WRONLY | os.O_CLOEXEC)
        os.dup2(nowhere, sys.stdout.fileno())
        os.close(nowhere)
        return UNREAD


def wrong_beside(given: Mapping[str, Any]) -> list[str]:
    """What is wrong with addresses and rules in settings of which something else is wrong, too. given: as written."""
    from cli import configs, destinations  # large: only where something is wrong

    tables = {name: one for name, one in destinations.tables(given.get("alerts")).items() if isinstance(one, Mapping)}
    return [*destinations.wrong_addresses(given), *(f"alerts: {one}" for one in configs.wrong_rules(tables))]


def _run(arguments: list[str]) -> int:
    given = vars(parser().parse_args(joined(arguments)))
    command, config = given.pop("command"), given.pop("config", None)
    own = {option.name: given.pop(option.name) for option in OPTIONS.get(command, ()) if option.name in given}
    try:
        settings = load(given, os.environ, Path.cwd(), config, wrong_beside)
        logs.configure(command, settings.log_level)
        name = MODULES.get(command, command.replace("-", "_"))
        module = importlib.import_module(f"cli.{name}")
        status: int = module.main(settings, own) if command in OPTIONS else module.main(settings)
    except SettingsError as error:
        say("These settings are wrong:", *(f"  {line}" for line in error.problems), error=True)
        return WRONG_SETTINGS
    except StoreTaken as error:
        say(*str(error).splitlines(), error=True)
        return WRONG_SETTINGS
    except KeyboardInterrupt:
        return INTERRUPTED
    return status
