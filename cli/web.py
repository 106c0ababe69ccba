"""`web`: the web page alone."""

from __future__ import annotations

import os

from cli import configs, tokens
from dashboard.server import run
from settings import Settings, state_directory


def main(settings: Settings) -> int:
    """The web process's exit status."""
    configs.make_store_directory(settings.store)
    token, made = tokens.web_token(tokens.web_token_file(settings, state_directory(os.environ)))
    if made:
        print(f"Open {configs.link(settings.host, settings.port, token)} once in each browser.", flush=True)
    return run(configs.web(settings, token))
