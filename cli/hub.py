"""Collector and web page as children of one supervisor: what `run` and `demo` have in common."""

from __future__ import annotations

import dataclasses
import os
import socket
import sys
from dataclasses import dataclass

from cli import configs, destinations, tokens
from cli.supervisor import ROOT, Child, Supervisor
from settings import Settings, SettingsError, state_directory, to_environment
from storage.store import refuse_claimed


@dataclass(frozen=True, slots=True)
class Hub:
    """A hub whose settings are checked and whose token exists, ready to be started. `link` opens its page."""

    settings: Settings
    link: str
    token_file: str | None


def prepare(settings: Settings) -> Hub:
    """Make what must exist before the children start. SettingsError for what would only fail inside them, StoreTaken
    for the store of another hub that runs."""
    refuse_claimed(settings.store)
    configs.make_store_directory(settings.store)
    configs.at_once(lambda: configs.collector(settings), lambda: destinations.heartbeat(settings))
    path = tokens.web_token_file(settings, state_directory(os.environ))
    token, made = tokens.web_token(path)
    settings = dataclasses.replace(
        settings, port=free_port(settings.host, settings.port), token_file=None if path is None else str(path)
    )
    shown = configs.link(settings.host, settings.port, token if made else None)
    return Hub(settings, shown, settings.token_file)


def free_port(host: str, port: int) -> int:
    """The port itself, or a free one for 0. SettingsError when somebody listens there already."""
    try:
        family, kind, protocol, _, address = socket.getaddrinfo(host, port, type=socket.SOCK_STREAM)[0]
        with socket.socket(family, kind, protocol) as probe:
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(address)
            chosen: int = probe.getsockname()[1]
    except socket.gaierror as error:
        raise SettingsError(
            [f"host: {host!r} is wrong, expected an address of this machine ({error.strerror})"]
        ) from error
    except OSError as error:
        shown = error.strerror or str(error)
        raise SettingsError(
            [f"port: {host}:{port} is wrong, expected an address nobody listens on ({shown})"]
        ) from error
    return chosen


def command(name: str) -> tuple[str, ...]:
    """Command line of one of our own commands."""
    return (sys.executable, str(ROOT / "app.py"), name)


def start(supervisor: Supervisor, hub: Hub) -> None:
    """Start collector and web page, and what delivers notifications where there is anybody to tell."""
    environment = to_environment(hub.settings)
    supervisor.keep(Child("collector", command("collect"), environment))
    supervisor.keep(Child("web", command("web"), environment))
    if destinations.wanted(hub.settings):
        supervisor.keep(Child("notify", command("notify"), environment))


async def welcome(supervisor: Supervisor, hub: Hub) -> None:
    """Once the web page answers, say where."""
    host = {"0.0.0.0": "127.0.0.1", "::": "::1"}.get(hub.settings.host, hub.settings.host)
    if not await supervisor.listening(host, hub.settings.port):
        return
    print(f"Open {hub.link} in a browser. Ctrl-C stops.", flush=True)
    if hub.token_file:
        print(
            f"The token is kept in {hub.token_file}; the link with the token is shown only when it is made.", flush=True
        )
