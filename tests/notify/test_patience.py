"""Receivers that never come to an end, and what is told of an answer: its status, never its words."""

from __future__ import annotations

import base64
import errno
import os
import socket
import ssl
import threading
import time
from dataclasses import replace

import pytest

from pipeline.notify import reasons, web
from pipeline.notify.addresses import AddressRefusedError
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.patience import Patience
from pipeline.notify.transport import Transport
from tests.notify.receivers import dripper, hook
from tests.notify.test_transport import hot, to

PASSWORD = "hunter2222hunter2222"
PAIR = base64.b64encode(f"ann:{PASSWORD}".encode()).decode()


@pytest.mark.parametrize("scheme", ["json", "ntfy"])
def test_an_answer_that_drips_has_failed_in_time(scheme: str) -> None:
    transport = Transport(deadline_s=0.3, service_deadline_s=0.3)
    with dripper() as port:
        began = time.monotonic()
        with pytest.raises(UndeliveredError, match=r"^no answer within 0\.3 s$"):
            transport.deliver(to(f"{scheme}://127.0.0.1:{port}/topic"), hot())
        assert time.monotonic() - began < 20, "it would drip for ever"
        before = _under_way()
        with pytest.raises(UndeliveredError, match=r"^an attempt before hangs still: "):
            transport.deliver(to(f"{scheme}://127.0.0.1:{port}/topic"), hot())
        assert _under_way() <= before
    _until_quiet()


def test_a_webhook_that_drips_is_hung_up_on() -> None:
    with dripper() as port, pytest.raises(OSError, match=r"^no whole answer within 0\.2 s$"):
        web.request("GET", f"http://127.0.0.1:{port}/", None, {}, private=False, whole_s=0.2)


def test_a_heart_beats_on_after_one_that_hung() -> None:
    transport = Transport()
    hasty = replace(transport, deadline_s=0.2)
    with dripper() as port, pytest.raises(UndeliveredError, match=r"^no answer within 0\.2 s$"):
        hasty.heartbeat(f"http://127.0.0.1:{port}/{PASSWORD}", private=False)
    _until_quiet()
    with hook() as receiver:
        assert transport.heartbeat(receiver.url("http"), private=False) == "HTTP 200 OK"
        receiver.status, receiver.answer = 404, PASSWORD.encode()
        with pytest.raises(UndeliveredError, match=r"^HTTP 404 Not Found$"):
            transport.heartbeat(receiver.url("http", f"/{PASSWORD}"), private=False)


def test_a_channel_goes_on_after_its_attempt_has_ended_and_others_meanwhile() -> None:
    patience, hold = Patience(), threading.Event()

    def hang() -> str:
        hold.wait(60)
        return "late"

    with pytest.raises(UndeliveredError, match=r"^no answer within 0\.05 s$"):
        patience.attempt("ops", hang, 0.05)
    with pytest.raises(UndeliveredError, match=r"^an attempt before hangs still: "):
        patience.attempt("ops", lambda: "taken", 60)
    assert patience.attempt("night", lambda: "taken", 60) == "taken"
    hold.set()
    _until_quiet()
    assert patience.attempt("ops", lambda: "taken", 60) == "taken"


def test_what_an_attempt_raises_is_raised() -> None:
    def wrong() -> str:
        raise UndeliveredError("HTTP 500")

    with pytest.raises(UndeliveredError, match=r"^HTTP 500$"):
        Patience().attempt("ops", wrong, 60)


@pytest.mark.parametrize(
    "answer",
    [
        f"Authorization: Basic {PAIR}",
        f"Authorization: Basic {PAIR.swapcase()}",
        PASSWORD.upper(),
        "x" * 195 + PASSWORD,
        "".join(f"%{ord(letter):02x}" for letter in PASSWORD),
    ],
)
@pytest.mark.parametrize("scheme", ["json", "ntfy"])
def test_a_receiver_that_echoes_what_it_was_sent(scheme: str, answer: str) -> None:
    with hook() as receiver:
        receiver.status, receiver.answer = 500, answer.encode()
        with pytest.raises(UndeliveredError, match=r"^HTTP 500 Internal Server Error$"):
            Transport().deliver(to(receiver.url(scheme, f"/{PASSWORD}", f"ann:{PASSWORD}@")), hot())


@pytest.mark.parametrize(
    ("error", "told"),
    [
        (ConnectionRefusedError(errno.ECONNREFUSED, "secret"), os.strerror(errno.ECONNREFUSED)),
        (OSError(errno.EHOSTUNREACH, "secret"), os.strerror(errno.EHOSTUNREACH)),
        (TimeoutError("secret"), "no answer in time"),
        (socket.gaierror(socket.EAI_NONAME, "secret"), "the host's name leads nowhere"),
        (ssl.SSLCertVerificationError("secret"), "the receiver's certificate is not trusted"),
        (ssl.SSLError(1, "secret"), "the receiver does not speak TLS as we do"),
        (OSError("secret"), "no answer (OSError)"),
        (AddressRefusedError("the host has no address"), "the host has no address"),
    ],
)
def test_an_error_is_told_in_our_words(error: OSError, told: str) -> None:
    assert reasons.of_error(error) == told


@pytest.mark.parametrize(
    ("line", "told"),
    [
        ("Failed to send: secret, error=401.", "HTTP 401 Unauthorized"),
        ("Failed to send: error=40123.", "HTTP 401 Unauthorized"),
        ("Failed to send: error=999 error=4012", reasons.UNKNOWN),
        ("SMTP Exception: {'a@b.c': (550, b'secret')}", "SMTP 550"),
        ("SMTP Exception: (535, b'secret authentication failed')", "SMTP 535"),
        ("Socket Exception: certificate verify failed: secret", "the receiver's certificate is not trusted"),
        ("Socket Exception: secret timed out", "no answer in time"),
        ("Socket Exception: [Errno -2] secret", "the host's name leads nowhere"),
        ("Socket Exception: [Errno 111] Connection refused", os.strerror(errno.ECONNREFUSED)),
        ("Socket Exception: Network is unreachable", os.strerror(errno.EHOSTUNREACH)),
        ("Authentication secret", "the service does not take our name and password"),
        ("A Connection error occurred sending ntfy:secret", "the connection failed"),
        ("secret", reasons.UNKNOWN),
    ],
)
def test_a_log_is_told_in_our_words(line: str, told: str) -> None:
    assert reasons.of_log([line]) == told


def _attempts() -> list[threading.Thread]:
    return [thread for thread in threading.enumerate() if thread.name.endswith("-attempt")]


def _under_way() -> int:
    return len(_attempts())


def _until_quiet() -> None:
    """Wait until no attempt is under way."""
    for thread in _attempts():
        thread.join(60)
        assert not thread.is_alive()
