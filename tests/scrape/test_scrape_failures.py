"""What the failures of a connection are called."""

from __future__ import annotations

import asyncio
import socket
import ssl
import time
from pathlib import Path

import aiohttp
import pytest

from collectors.scrape.answers import classify
from collectors.scrape.http import Reply, TargetClient
from collectors.scrape.outcome import Outcome


def test_a_certificate_that_is_not_trusted_is_named() -> None:
    certificate = Path(__file__).parents[1] / "data" / "notify" / "loopback.pem"

    async def run() -> Reply:
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(certificate)
        server = await asyncio.start_server(lambda _, writer: writer.close(), "127.0.0.1", 0, ssl=context)
        async with (
            server,
            TargetClient(f"https://127.0.0.1:{server.sockets[0].getsockname()[1]}", clock=time.monotonic) as one,
        ):
            return await one.page()

    reply = asyncio.run(run())
    assert reply.outcome is Outcome.BAD_ANSWER
    assert reply.reason.startswith("its certificate is not trusted here (")
    assert "self" in reply.reason


KEY = aiohttp.client_reqrep.ConnectionKey("h", 1, False, True, None, None, None)


@pytest.mark.parametrize(
    ("error", "outcome"),
    [
        (aiohttp.ClientConnectorDNSError(KEY, OSError(-2, "unknown")), Outcome.UNREACHABLE),
        (aiohttp.ClientConnectorError(KEY, OSError(111, "refused")), Outcome.REFUSED),
        (aiohttp.ClientConnectorError(KEY, OSError(113, "no route")), Outcome.UNREACHABLE),
        (aiohttp.ClientConnectorError(KEY, OSError(110, "no answer")), Outcome.TIMED_OUT),
        (aiohttp.ClientOSError(104, "reset"), Outcome.CLOSED),
        (ConnectionResetError(104, "reset"), Outcome.CLOSED),
        (socket.gaierror(-2, "unknown"), Outcome.UNREACHABLE),
        (aiohttp.ServerDisconnectedError(), Outcome.CLOSED),
        (aiohttp.ClientPayloadError(), Outcome.BAD_ANSWER),
        (aiohttp.ClientConnectorSSLError(KEY, OSError(1, "tls")), Outcome.BAD_ANSWER),
        (aiohttp.InvalidURL("x"), Outcome.UNREACHABLE),
        (ValueError("x"), Outcome.UNREACHABLE),
    ],
)
def test_what_failures_are_called(error: Exception, outcome: Outcome) -> None:
    assert classify(error)[0] is outcome
    assert classify(error)[1]
