"""Pieces of PromQL with the labels they are by, put together so that Prometheus matches what belongs together."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass


class UntoldError(ValueError):
    """Why PromQL cannot say something."""


@dataclass(frozen=True, slots=True)
class Told:
    """text: an expression. labels: those of its series; None of a plain number."""

    text: str
    labels: tuple[str, ...] | None = None


def vector(fold: str, labels: tuple[str, ...], text: str) -> Told:
    """
    >>> vector("max", ("instance",), "a").text
    'max by (instance) (a)'
    """
    return Told(f"{fold} by ({', '.join(labels)}) ({text})", labels)


def joined(sign: str, left: Told, right: Told) -> Told:
    """Two values as one; where one has more labels than the other, each of its series meets the one it belongs to."""
    if left.labels is None or right.labels is None or left.labels == right.labels:
        return Told(f"({left.text} {sign} {right.text})", right.labels if left.labels is None else left.labels)
    if set(right.labels) < set(left.labels):
        return Told(f"({left.text} {sign} on ({', '.join(right.labels)}) group_left () {right.text})", left.labels)
    if set(left.labels) < set(right.labels):
        return Told(f"({left.text} {sign} on ({', '.join(left.labels)}) group_right () {right.text})", right.labels)
    raise UntoldError("it compares things that are not parts of each other")


def compared(sign: str, left: Told, right: Told) -> Told:
    """Series for which a comparison holds. Two numbers compare to nothing that has series."""
    if left.labels is None and right.labels is None:
        raise UntoldError("it compares two numbers")
    return joined(sign, left, right)


def all_of(asked: Sequence[Told], against: Sequence[Told]) -> Told:
    """Series for which everything asked holds, and nothing of what is against it."""
    if not asked:
        raise UntoldError("nothing is left but what only corroborates")
    most = max(asked, key=lambda one: len(one.labels or ()))
    text = most.text
    for one in asked:
        if one is not most:
            text += f" and on ({', '.join(one.labels or ())}) {one.text}"
    for one in against:
        if not set(one.labels or ()) <= set(most.labels or ()):
            raise UntoldError("what corroborates is about something else")
        text += f" unless on ({', '.join(one.labels or ())}) {one.text}"
    return Told(f"({text})", most.labels)


def any_of(found: Sequence[Told]) -> Told:
    """Series for which one of them holds."""
    most = max(found, key=lambda one: len(one.labels or ()))
    if any(one.labels != most.labels for one in found):
        raise UntoldError("it asks for one of several things that are about different ones")
    return Told(f"({' or '.join(one.text for one in found)})" if len(found) > 1 else found[0].text, most.labels)
