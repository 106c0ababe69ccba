"""`web`: the web page alone."""

from __future__ import annotations

import dataclasses
import os

from cli import configs, hub, tokens
from cli.beginning import tell
from cli.console import FAILED, said
from dashboard.server import run
from settings import Settings, SettingsError, state_directory


def main(settings: Settings) -> int:
    """The web process's exit status; 1, at once and with a sentence, where its address is taken."""
    try:
        settings = dataclasses.replace(settings, port=hub.free_port(settings.host, settings.port))
    except SettingsError as error:
        # Not as wrong settings: that of a supervisor starts anew, since what holds the address may be its own last.
        return said("\n".join(error.problems), FAILED)
    configs.make_store_directory(settings.store)
    token, made = tokens.web_token(tokens.web_token_file(settings, state_directory(os.environ)))
    if made:
        print(f"Open {configs.link(settings.host, settings.port, token)} once in each browser.", flush=True)
    line = f"The page is at {configs.link(settings.host, settings.port)}."
    return run(configs.web(settings, token), lambda: tell(line))
