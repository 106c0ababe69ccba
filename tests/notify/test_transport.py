"""One message to one destination: what real receivers are told, what they answer, and that no secret is in that."""

from __future__ import annotations

import json
import logging
from http import HTTPStatus
from typing import Any

import pytest

from alerts.notices import Channel, Word
from alerts.outbox import Outgoing
from alerts.record import Alert
from pipeline.notify import reasons, service
from pipeline.notify.compose import Context, Message, message
from pipeline.notify.destination import Destination
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.transport import Transport
from tests.notify.receivers import CERTIFICATE, hook, post_office

HOT = Alert(
    7,
    "gpu_hot",
    "GPU hot",
    "gpu",
    ("spark-07", "0"),
    "warning",
    "kimi",
    1_790_000_000_000,
    1_790_000_060_000,
    "spark-07, GPU 0: GPU hot (GPU temperature 86.0 °C), for 1m 0s",
    ({"metric": "m", "label": "GPU temperature", "value": 86.0, "unit": "celsius", "text": "86.0 °C"},),
)
WEB = Context("http://hub:8050")
TRANSPORT = Transport()


def hot(most: int = 10_000) -> Message:
    found = message(Outgoing("abc", "ops", 1_790_000_065_000, ((7, Word.FIRING),)), {7: HOT}, WEB, most)
    assert found is not None
    return found


def to(url: str, **more: Any) -> Destination:
    return Destination(Channel("ops"), url, **more)


def test_a_webhook_is_told_exactly_this() -> None:
    with hook() as receiver:
        said = TRANSPORT.deliver(to(receiver.url(user="ann:p%40ss@")), hot())
    assert said == "HTTP 200 OK"
    ((path, headers, body),) = receiver.got
    assert path == "/in/s3cr3t-token"
    assert headers["Authorization"] == "Basic YW5uOnBAc3M="
    assert (headers["Content-Type"], headers["X-Tachograph-Id"]) == ("application/json", "abc")
    assert json.loads(body) == {
        "version": 1,
        "id": "abc",
        "channel": "ops",
        "at": 1_790_000_065_000,
        "test": False,
        "alerts": [
            {
                "id": 7,
                "rule": "gpu_hot",
                "title": "GPU hot",
                "severity": "warning",
                "word": "firing",
                "place": "gpu",
                "labels": {"node": "spark-07", "gpu": "0", "deployment": "kimi"},
                "values": [
                    {"metric": "m", "label": "GPU temperature", "value": 86.0, "unit": "celsius", "text": "86.0 °C"}
                ],
                "since": 1_790_000_000_000,
                "fired": 1_790_000_060_000,
                "resolved": None,
                "why_resolved": "",
                "message": "spark-07, GPU 0: GPU hot (GPU temperature 86.0 °C), for 1m 0s",
                "runbook": "",
                "link": "http://hub:8050/alerts/7",
            }
        ],
    }


def test_a_mail_can_be_read() -> None:
    with post_office() as office:
        url = f"mailto://127.0.0.1:{office.port}?smtp=127.0.0.1&from=hub@example.org&to=ops@example.org"
        assert TRANSPORT.deliver(to(url), hot()) == "delivered"
    (mail,) = office.got
    assert mail["Subject"] == "Firing: GPU hot on spark-07 (warning)"
    assert mail["To"] == "ops@example.org"
    assert mail.get_content_type() == "text/plain"
    text = mail.get_payload(decode=True).decode()  # type: ignore[union-attr]
    assert text.replace("\r\n", "\n").strip() == (
        "FIRING (warning): spark-07, GPU 0: GPU hot (GPU temperature 86.0 °C), for 1m 0s\n"
        "since 2026-09-21 14:13:20 UTC, fired 2026-09-21 14:14:20 UTC\n"
        "http://hub:8050/alerts/7"
    )


@pytest.mark.parametrize("status", [400, 404, 500, 503])
def test_no_word_of_a_webhook_is_told(status: int, caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with hook() as receiver:
        receiver.status, receiver.answer = status, b"no hook S3CR3T-TOKEN\r\nof password hunter2222"
        with pytest.raises(UndeliveredError) as caught:
            TRANSPORT.deliver(to(receiver.url(user="ann:hunter2222@")), hot())
    assert str(caught.value) == f"HTTP {status} {HTTPStatus(status).phrase}"
    assert "hunter2222" not in caplog.text
    assert caught.value.__cause__ is None


def test_a_mail_server_says_why(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with post_office() as office:
        office.refuses = "550 no such mailbox"
        url = f"mailto://127.0.0.1:{office.port}?smtp=127.0.0.1&from=hub@example.org&to=ops@example.org"
        with pytest.raises(UndeliveredError) as caught:
            TRANSPORT.deliver(to(url), hot())
    assert str(caught.value) == "SMTP 550"


def test_a_mail_server_that_takes_no_password(caplog: pytest.LogCaptureFixture) -> None:
    caplog.set_level(logging.DEBUG)
    with post_office() as office:
        url = f"mailto://ann:hunter2222@127.0.0.1:{office.port}?smtp=127.0.0.1&from=hub@example.org&to=ops@example.org"
        with pytest.raises(UndeliveredError) as caught:
            TRANSPORT.deliver(to(url), hot())
    assert str(caught.value).startswith("the mail server takes no name and password")
    assert office.got == []
    assert "hunter2222" not in caplog.text


def test_a_mail_server_without_tls() -> None:
    with post_office() as office:
        url = f"mailtos://127.0.0.1:{office.port}?smtp=127.0.0.1&from=hub@example.org&to=ops@example.org&mode=starttls"
        with pytest.raises(UndeliveredError, match=r"^the mail server speaks no TLS"):
            TRANSPORT.deliver(to(url), hot())


def test_why_a_mail_server_takes_nothing() -> None:
    """As the standard library says it, whatever stands before: in words of ours, and no other."""
    for said, told in (
        ("Socket Exception: SMTP AUTH extension not supported by server.", "the mail server takes no name and"),
        ("Socket Exception: No suitable authentication method found.", "the mail server takes a name and password in"),
        ("Socket Exception: STARTTLS extension not supported by server.", "the mail server speaks no TLS"),
        ("Socket Exception: Connection unexpectedly closed", "the connection failed"),
    ):
        lines = ['Connection error while submitting email to "ann:hunter2222"', said]
        assert reasons.of_log(lines).startswith(told)


def test_nobody_there() -> None:
    with hook() as receiver:
        url = receiver.url()
    with pytest.raises(UndeliveredError, match=r"^Connection refused$"):
        TRANSPORT.deliver(to(url), hot())


def test_a_redirect_is_not_followed() -> None:
    with hook() as first, hook() as second:
        first.status, first.location = 307, f"http://127.0.0.1:{second.port}/"
        with pytest.raises(UndeliveredError, match="HTTP 307"):
            TRANSPORT.deliver(to(first.url()), hot())
        assert second.got == []


@pytest.mark.parametrize("url", ["xml://host/", "http://host/", "file:///etc/passwd", "host", "exec://x", "json://a b"])
def test_other_schemes_are_no_way_out(url: str) -> None:
    assert service.plugin_of(url) is None
    with pytest.raises(UndeliveredError, match="no address that messages may go to"):
        TRANSPORT.deliver(to(url), hot())


def test_an_ntfy_server_of_ones_own() -> None:
    with hook() as receiver:
        receiver.answer = b'{"id": "x"}'
        assert TRANSPORT.deliver(to(receiver.url("ntfy", "/alerts")), hot()) == "delivered"
        receiver.status, receiver.answer = 403, b'{"code": 40301, "error": "forbidden"}'
        with pytest.raises(UndeliveredError) as caught:
            TRANSPORT.deliver(to(receiver.url("ntfy", "/geheimthema")), hot())
    body = receiver.bodies()[0]
    assert (body["topic"], body["title"]) == ("alerts", "Firing: GPU hot on spark-07 (warning)")
    assert body["message"].startswith("FIRING (warning): spark-07, GPU 0")
    assert str(caught.value) == "HTTP 403 Forbidden"


def test_names_of_machines_call_nobody() -> None:
    with hook() as receiver:
        receiver.answer = b"{}"
        made = Message("x", "a", "@everyone look", {}, bad=True)
        TRANSPORT.deliver(to(receiver.url("ntfy", "/alerts")), made)
    assert receiver.bodies()[0]["message"] == "@\u200beveryone look"


@pytest.mark.parametrize(
    "url",
    [
        "discord://123456789012345678/AbCdEfGhIjKlMnOpQrStUvWxYz0123456789AbCdEfGhIjKlMnOpQrStUvWxYz012345",
        "slack://T1JJ3T3L2/A1BRTD4JD/TIiajkdnlazkcOXrIdevi7FQ/#general",
        "tgram://123456789:abcdefg_hijklmnop/12315544/",
        "ntfys://topic",
        "mailtos://ann:secret@example.org",
    ],
)
def test_every_scheme_is_known(url: str) -> None:
    assert service.plugin_of(url) is not None


def test_an_encrypted_webhook(monkeypatch: pytest.MonkeyPatch) -> None:
    with hook(secure=True) as receiver:
        with pytest.raises(UndeliveredError, match=r"^the receiver's certificate is not trusted$"):
            TRANSPORT.deliver(to(receiver.url("jsons")), hot())
        assert receiver.got == []
        monkeypatch.setenv("SSL_CERT_FILE", str(CERTIFICATE))
        assert TRANSPORT.deliver(to(receiver.url("jsons")), hot()) == "HTTP 200 OK"
    assert receiver.bodies()[0]["id"] == "abc"


def test_a_receiver_that_speaks_another_language() -> None:
    with hook() as receiver, pytest.raises(UndeliveredError) as caught:
        TRANSPORT.deliver(to(receiver.url("jsons")), hot())
    assert str(caught.value) == "the receiver does not speak TLS as we do"
    with post_office() as office, pytest.raises(UndeliveredError, match=r"^no HTTP answer \(BadStatusLine\)$"):
        TRANSPORT.deliver(to(f"json://127.0.0.1:{office.port}/x"), hot())


@pytest.mark.parametrize("url", ["json://host:99999/hunter22", "json://[::1/hunter22", "json://host:port/hunter22"])
def test_an_address_that_is_none_is_not_told(url: str) -> None:
    with pytest.raises(UndeliveredError) as caught:
        TRANSPORT.deliver(to(url), hot())
    assert "hunter22" not in str(caught.value)


def test_a_name_that_leads_inside_is_refused_before_anything_is_sent() -> None:
    with hook() as receiver, pytest.raises(UndeliveredError) as caught:
        TRANSPORT.deliver(to(f"json://localhost.localdomain:{receiver.port}/x"), hot())
    assert receiver.got == []
    assert str(caught.value)
