"""Random numbers that depend on the seed and on what they are for, never on who asked first."""

from __future__ import annotations

import hashlib
import random

import numpy as np


def stream(seed: int, *purpose: str) -> random.Random:
    """A generator of its own for one purpose."""
    return random.Random("/".join((str(seed), *purpose)))


def array_stream(seed: int, *purpose: str) -> np.random.Generator:
    """The same for arrays."""
    digest = hashlib.sha256("/".join((str(seed), *purpose)).encode()).digest()
    return np.random.default_rng(int.from_bytes(digest[:8], "big"))
