"""What can go wrong with a message."""

from __future__ import annotations


class UndeliveredError(Exception):
    """A message was not delivered; the text is the receiver's own sentence, or why there is none."""
