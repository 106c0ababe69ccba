"""What can go wrong with a message."""

from __future__ import annotations


class UndeliveredError(Exception):
    """A message was not delivered; the text, which holds no word of the receiver, says why."""
