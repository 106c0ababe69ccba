"""Transport: one message to one destination, once; the receiver's own sentence, and no secret in it."""

from __future__ import annotations

import json

from pipeline.notify.compose import Message
from pipeline.notify.destination import WEBHOOK, Destination, is_allowed, scrubbed, secrets_of
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.web import plain, request

LONGEST = 300
DEFECTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


def deliver(destination: Destination, message: Message) -> str:
    """Send it once. The receiver's own sentence; UndeliveredError with it where it did not take the message."""
    if not is_allowed(destination.url):
        raise UndeliveredError("the settings name no address that messages may go to")
    hidden = secrets_of(destination.url)
    try:
        said = _webhook(destination, message) if destination.scheme in WEBHOOK else _service(destination, message)
    except OSError as error:
        raise UndeliveredError(_shown(str(error.strerror or error) or type(error).__name__, hidden)) from None
    except UndeliveredError as error:
        raise UndeliveredError(_shown(str(error), hidden)) from None
    except DEFECTS as error:
        # Neither its text nor its trace: both may hold the address.
        raise UndeliveredError(f"a defect in sending ({type(error).__name__})") from None
    return _shown(said, hidden)


def _shown(text: str, hidden: list[str]) -> str:
    return plain(scrubbed(text, hidden), LONGEST)


def _webhook(destination: Destination, message: Message) -> str:
    _, _, rest = destination.url.partition("://")
    url = f"{'https' if destination.scheme == 'jsons' else 'http'}://{rest}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Tachograph",
        "X-Tachograph-Id": message.id,
    }
    body = json.dumps(message.payload, ensure_ascii=False).encode()
    answer = request("POST", url, body, headers, private=destination.private)
    if not answer.well:
        raise UndeliveredError(answer.sentence)
    return answer.sentence


def _service(destination: Destination, message: Message) -> str:
    from pipeline.notify import service

    return service.deliver(destination, message)


def heartbeat(url: str, *, private: bool) -> str:
    """Tell that we live. The receiver's own sentence; UndeliveredError with it where it was not taken."""
    hidden = secrets_of(url)
    try:
        answer = request("GET", url, None, {"User-Agent": "Tachograph"}, private=private)
    except OSError as error:
        raise UndeliveredError(_shown(str(error.strerror or error), hidden)) from None
    if not answer.well:
        raise UndeliveredError(_shown(answer.sentence, hidden))
    return _shown(answer.sentence, hidden)
