"""What a value is that reads nothing."""

from __future__ import annotations

import operator
from collections.abc import Callable, Mapping

from alerts import expression as ex

WORKED: Mapping[str, Callable[[float, float], float]] = {
    "+": operator.add,
    "-": operator.sub,
    "*": operator.mul,
    "/": operator.truediv,
}


def constant(value: ex.Value) -> ex.Number | None:
    """The number that a value is without any reading; None of one that has some."""
    if isinstance(value, ex.Number):
        return value
    if not isinstance(value, ex.Arithmetic):
        return None
    left, right = constant(value.left), constant(value.right)
    if left is None or right is None or (value.operator == "/" and right.value == 0):
        return None
    return ex.Number(WORKED[value.operator](left.value, right.value), left.unit or right.unit)
