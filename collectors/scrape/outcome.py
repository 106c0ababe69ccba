"""How a request to a target went."""

from enum import Enum


class Outcome(Enum):
    """The value is what the Status page calls it."""

    OK = "ok"
    REFUSED = "refused"
    TIMED_OUT = "timed out"
    UNREACHABLE = "unreachable"
    NOT_FOUND = "not found"
    UNAUTHORISED = "unauthorised"
    BAD_ANSWER = "bad answer"
    CLOSED = "closed"
