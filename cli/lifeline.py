"""Start a program that ends with the one that started it, however that one ends.

`python -m cli.lifeline PARENT PROGRAM ARGUMENTS…` asks the kernel for SIGTERM at the parent's death, which survives
exec, then becomes the program. So a killed supervisor leaves no collector behind that writes on unseen.
"""

from __future__ import annotations

import ctypes
import os
import signal
import sys
from collections.abc import Sequence

PR_SET_PDEATHSIG = 1
TIED_TO = "TIED_TO"
"""Variable of the environment with the process that a program was tied to."""


def command(arguments: Sequence[str]) -> tuple[str, ...]:
    """The command line that runs `arguments` tied to this process."""
    return (sys.executable, "-m", "cli.lifeline", str(os.getpid()), *arguments)


def is_tied() -> bool:
    """Whether this process was started so, by the one that is its parent now."""
    return os.environ.get(TIED_TO) == str(os.getppid())


def main(arguments: list[str]) -> None:
    parent, *program = arguments
    if sys.platform == "linux":
        ctypes.CDLL(None).prctl(PR_SET_PDEATHSIG, signal.SIGTERM)
    if os.getppid() != int(parent):  # it died before the kernel was asked
        sys.exit(128 + signal.SIGTERM)
    os.environ[TIED_TO] = parent
    os.execvp(program[0], program)


if __name__ == "__main__":
    main(sys.argv[1:])
