"""Reasons: what is told of a receiver's answer. Its status, in words of our own; never a word of the receiver.

A receiver may say back what it was sent: an address, a token, a password, each in any coding. What is not repeated
cannot be searched for these, and need not be.
"""

from __future__ import annotations

import errno
import http
import os
import re
import socket
import ssl
from collections.abc import Iterable

from pipeline.notify.addresses import AddressRefusedError

NOT_TRUSTED = "the receiver's certificate is not trusted"
NO_NAME = "the host's name leads nowhere"
TOO_LATE = "no answer in time"
UNKNOWN = "not taken, and no reason is known"

STATUS = re.compile(r"\berror=([1-5]\d\d)(?:\d\d)?\b")
"""Where Apprise names the status of an HTTP answer, with the two digits that ntfy adds."""
MAIL_STATUS = re.compile(r"\((\d{3}), ")
"""Where Apprise names the status of a mail server's answer."""
CAUSES = (
    (
        re.compile(r"AUTH extension not supported"),
        "the mail server takes no name and password: leave them out of the address, or let it offer AUTH",
    ),
    (
        re.compile(r"No suitable authentication method"),
        "the mail server takes a name and password in no way that we know",
    ),
    (re.compile(r"STARTTLS extension not supported"), "the mail server speaks no TLS: see the address's scheme"),
    (re.compile(r"certificate", re.I), NOT_TRUSTED),
    (re.compile(r"timed? ?out", re.I), TOO_LATE),
    (re.compile(r"getaddrinfo|resolve|name or service|Errno -[2358]\b", re.I), NO_NAME),
    (re.compile(r"refused", re.I), os.strerror(errno.ECONNREFUSED)),
    (re.compile(r"unreachable|no route", re.I), os.strerror(errno.EHOSTUNREACH)),
    (re.compile(r"authenticat", re.I), "the service does not take our name and password"),
    (re.compile(r"connection|socket", re.I), "the connection failed"),
)
"""What of a service's log tells why there was no answer, the closest first."""


def of_status(status: int) -> str:
    """
    >>> of_status(503), of_status(799)
    ('HTTP 503 Service Unavailable', 'HTTP 799')
    """
    try:
        return f"HTTP {status} {http.HTTPStatus(status).phrase}"
    except ValueError:
        return f"HTTP {status}"


def of_error(error: OSError) -> str:
    """Why there is no answer: the system's words for a number, or ours for a kind; never the error's own text."""
    if isinstance(error, AddressRefusedError | NoAnswerError):
        return str(error)
    if isinstance(error, ssl.SSLCertVerificationError):
        return NOT_TRUSTED
    if isinstance(error, ssl.SSLError):
        return "the receiver does not speak TLS as we do"
    if isinstance(error, TimeoutError):
        return TOO_LATE
    if isinstance(error, socket.gaierror):
        return NO_NAME
    return os.strerror(error.errno) if error.errno else f"no answer ({type(error).__name__})"


def of_log(lines: Iterable[str]) -> str:
    """Why a service did not take a message, from what Apprise logged: numbers, and words out of a list of ours."""
    text = "\n".join(lines)
    if found := STATUS.search(text):
        return of_status(int(found[1]))
    if found := MAIL_STATUS.search(text):
        return f"SMTP {found[1]}"
    return next((words for pattern, words in CAUSES if pattern.search(text)), UNKNOWN)


class NoAnswerError(OSError):
    """There is no answer; the text, which is ours, says why."""
