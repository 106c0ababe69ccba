"""What a process that goes on says when it begins. Children of `run` and `demo` say nothing: these speak for them."""

from __future__ import annotations

from collections.abc import Sized

from cli import lifeline
from cli.words import say

ENDING = "Ctrl-C stops."


def tell(line: str) -> None:
    """One line, and how to end it."""
    if not lifeline.is_tied():
        say(f"{line} {ENDING}")


def counted(things: Sized, name: str) -> str:
    """
    >>> counted("a", "node"), counted("", "node")
    ('1 node', '0 nodes')
    """
    return f"{len(things)} {name}" + ("" if len(things) == 1 else "s")
