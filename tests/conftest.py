"""What holds for all tests."""

from __future__ import annotations

from hypothesis import settings

# A slow machine is no defect, and a failure must be the same failure on the next machine.
settings.register_profile("all", deadline=None, derandomize=True)
settings.load_profile("all")
