"""`agent`: the node agent of this machine, in this process."""

from __future__ import annotations

import os
import sys

from cli.supervisor import ROOT
from settings import Settings


def main(settings: Settings) -> int:
    """Becomes `agent.py`, which needs neither the settings nor anything else of the hub, and is small without them."""
    os.execv(sys.executable, arguments(settings))


def arguments(settings: Settings) -> tuple[str, ...]:
    """Command line of the agent."""
    flags = {
        "--host": settings.agent_host,
        "--port": str(settings.agent_port),
        "--root": settings.agent_root,
        "--token-file": settings.agent_token_file,
    }
    given = [part for flag, value in flags.items() if value is not None for part in (flag, value)]
    return (sys.executable, str(ROOT / "agent.py"), *given)
