"""The agent's command line, and its life from start to goodbye."""

from __future__ import annotations

import argparse
import os
import signal
import sys
import threading
from collections.abc import Sequence

from collectors.node import process_memory
from collectors.node.answers import Answers
from collectors.node.figures import count
from collectors.node.lowest import INTERVAL_S, Trailing, sample
from collectors.node.machine import Machine
from collectors.node.rounds import Rounds
from collectors.node.scrapers import Scrapers
from collectors.node.server import AgentServer
from collectors.node.tree import Tree
from collectors.node.version import VERSION

PORT = 9810
LAST_PORT = 65535
GOODBYE_S = 3.0
WIDTH = 100
"""Of the help, in columns; to ask the terminal, argparse would load 5 ms of modules at each start, help or not."""
LOOPBACK = ("127.", "::1", "localhost")


def port(text: str) -> int:
    """The port that the text names; 0 stands for a free one."""
    number = count(text)
    if number is None or number > LAST_PORT:
        raise argparse.ArgumentTypeError(f"a port is a whole number from 0 to {LAST_PORT}, which {text[:20]!r} is not")
    return number


def parser() -> argparse.ArgumentParser:
    """All options."""
    options = argparse.ArgumentParser(
        prog="tachograph-agent",
        description="Serves the measurements of this node.",
        formatter_class=lambda prog: argparse.HelpFormatter(prog, width=WIDTH),
    )
    options.add_argument("--host", default="127.0.0.1", help="address to listen at (%(default)s)")
    options.add_argument("--port", type=port, default=PORT, help="port to listen at (%(default)s)")
    options.add_argument("--token-file", help="file with the token that /metrics and /state ask for")
    options.add_argument("--root", default="/", help="read /proc, /sys and /etc below this directory (%(default)s)")
    options.add_argument("--lock-memory", action="store_true", help="keep the agent's pages in memory (mlockall)")
    options.add_argument("--version", action="version", version=f"tachograph-agent {VERSION}")
    return options


def read_token(path: str | None) -> str | None:
    """The token in the file; SystemExit with a sentence when there is none in it."""
    if path is None:
        return None
    try:
        with open(path, encoding="utf-8") as file:
            token = file.read().strip()
    except OSError as error:
        raise SystemExit(f"--token-file {path}: {error.strerror}") from error
    except UnicodeDecodeError as error:
        raise SystemExit(f"--token-file {path}: the file is not UTF-8 text") from error
    if not token:
        raise SystemExit(f"--token-file {path}: the file is empty")
    return token


def say(sentence: str) -> None:
    """One line for the journal."""
    sys.stderr.write(f"tachograph-agent: {sentence}\n")
    sys.stderr.flush()


def serve(machine: Machine, trailing: Trailing, options: argparse.Namespace, token: str | None) -> None:
    """Serve until a signal, then say goodbye."""
    rounds, scrapers, stop = Rounds(machine), Scrapers(), threading.Event()
    try:
        server = AgentServer(options.host, options.port, Answers(rounds, scrapers, token))
    except OSError as error:
        raise SystemExit(f"cannot listen at {options.host} port {options.port}: {error.strerror}") from error
    for number in (signal.SIGTERM, signal.SIGINT):
        signal.signal(number, lambda *_: stop.set())
    threading.Thread(target=server.serve_forever, name="accept", daemon=True).start()
    say(f"version {VERSION}, listening at {options.host} port {server.server_address[1]}")
    rounds.snapshot()
    process_memory.shrink()
    while not stop.wait(INTERVAL_S):
        sample(machine.tree, trailing, machine.monotonic())
    rounds.say_goodbye()
    scrapers.wait_until_told(machine.monotonic(), GOODBYE_S)
    server.shutdown()
    server.close_all()


def main(arguments: Sequence[str] | None = None) -> int:
    """The agent: 0 after a goodbye; SystemExit with a sentence when it cannot start."""
    options = parser().parse_args(arguments)
    if not os.path.isdir(options.root):
        raise SystemExit(f"--root {options.root}: there is no such directory")
    token = read_token(options.token_file)
    process_memory.prepare()
    why_not = process_memory.lock() if options.lock_memory else None
    if why_not:
        say(why_not)
    if token is None and not options.host.startswith(LOOPBACK):
        say(f"listening at {options.host} without --token-file: everybody who reaches this port can read the node")
    trailing = Trailing()
    serve(Machine(Tree(options.root), lowest_available=trailing.lowest), trailing, options, token)
    return 0
