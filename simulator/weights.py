"""What the imaginary model weighs: Kimi K3 by the shapes of its layers, as far as they are public.

Nobody has measured what a step reads. Published counts of the active parameters differ by a factor of two (50 and
104 billion); the smaller one fits the routed experts alone, so the larger one is taken: 49 billion in routed experts at
4.25 bits (MXFP4 and its scales) and 53 billion in two bytes. All routed experts together are 2.72 trillion.
"""

from __future__ import annotations

WEIGHTS: dict[str, float] = {
    "active_bytes": 132e9,
    "expert_bytes": 1.445e12,
    "experts": 896,
    "experts_per_token": 16,
}
"""As the setting `roofline` of whoever watches takes them."""
