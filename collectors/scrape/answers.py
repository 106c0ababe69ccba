"""Which answers of a server are taken, and what each failure is called."""

from __future__ import annotations

import errno
import socket
import ssl
from urllib.parse import urljoin, urlsplit

import aiohttp

from collectors.scrape.outcome import Outcome

_STATUS = {
    401: Outcome.UNAUTHORISED,
    403: Outcome.UNAUTHORISED,
    404: Outcome.NOT_FOUND,
    405: Outcome.NOT_FOUND,
    501: Outcome.NOT_FOUND,
}


class AnswerError(Exception):
    """An answer that is not taken: its outcome and a sentence."""

    def __init__(self, outcome: Outcome, reason: str, status: int | None = None) -> None:
        super().__init__(reason)
        self.outcome, self.reason, self.status = outcome, reason, status


def same_server(url: str, location: str, status: int) -> str:
    """Where a redirect leads; refused when that is another scheme, host or port."""
    target = urljoin(url, location)
    here, there = urlsplit(url), urlsplit(target)
    if not location or (here.scheme, here.netloc) != (there.scheme, there.netloc):
        raise AnswerError(Outcome.BAD_ANSWER, "redirected to another server, which is not followed", status)
    return target


def check_status(status: int) -> None:
    """Refuse every answer that is not a 200."""
    if status != 200:
        raise AnswerError(_STATUS.get(status, Outcome.BAD_ANSWER), f"HTTP status {status}", status)


def content_type(header: str) -> str:
    """What a server calls its page, without parameters: short, printable, "" where it does not say."""
    return "".join(letter for letter in header.partition(";")[0].strip()[:60] if letter.isprintable())


def check_complete(answer: aiohttp.ClientResponse, body: bytes) -> None:
    """Refuse a page that may be cut off: without a length or chunks only its last line end tells that it is whole.

    JSON tells by itself.
    """
    encoding = answer.headers.get("Content-Encoding", "identity")
    if encoding != "identity":
        raise AnswerError(Outcome.BAD_ANSWER, f"encoded as {encoding[:50]!r} although not asked for", answer.status)
    bounded = "Content-Length" in answer.headers or "chunked" in answer.headers.get("Transfer-Encoding", "")
    if not bounded and answer.content_type != "application/json" and not body.endswith(b"\n"):
        cut = "the page ends in the middle of a line" if body else "the page is empty, or was cut off before it began"
        raise AnswerError(Outcome.BAD_ANSWER, cut, answer.status)


def classify(error: Exception) -> tuple[Outcome, str]:
    """Outcome and sentence for what aiohttp or the network raised."""
    if isinstance(error, aiohttp.ClientConnectorDNSError):
        return Outcome.UNREACHABLE, "its name could not be resolved"
    if isinstance(error, aiohttp.ClientConnectorCertificateError):
        return Outcome.BAD_ANSWER, f"its certificate is not trusted here{_complaint(error.certificate_error)}"
    if isinstance(error, (aiohttp.ClientSSLError, ssl.SSLError)):
        return Outcome.BAD_ANSWER, "no secure connection could be agreed on"
    if isinstance(error, aiohttp.ServerDisconnectedError):
        return Outcome.CLOSED, "the server closed the connection without an answer"
    if isinstance(error, (aiohttp.ClientPayloadError, aiohttp.ClientResponseError)):
        return Outcome.BAD_ANSWER, "the answer was broken off or is no HTTP"
    if isinstance(error, (aiohttp.InvalidURL, ValueError)):
        return Outcome.UNREACHABLE, "the address is not valid"
    return _by_number(error)


def _complaint(error: Exception) -> str:
    """What OpenSSL says of a certificate, such as "self-signed certificate", in brackets; "" where it says nothing."""
    said = error.verify_message if isinstance(error, ssl.SSLCertVerificationError) else ""
    return f" ({said.rstrip('.')})" if said else ""


def _by_number(error: Exception) -> tuple[Outcome, str]:
    number = error.errno if isinstance(error, OSError) else None
    if isinstance(error, ConnectionRefusedError) or number == errno.ECONNREFUSED:
        return Outcome.REFUSED, "nothing listens there"
    if number == errno.ETIMEDOUT:
        return Outcome.TIMED_OUT, "the connection was not answered"
    if isinstance(error, ConnectionError) or number in (errno.ECONNRESET, errno.EPIPE):
        return Outcome.CLOSED, "the server closed the connection"
    if isinstance(error, socket.gaierror):
        return Outcome.UNREACHABLE, "its name could not be resolved"
    return Outcome.UNREACHABLE, "no way to the machine"
