"""Transport: one message to one destination, once, within a limited time; what is told of it is in our own words."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import dataclass, field

from pipeline.notify import reasons
from pipeline.notify.compose import Message
from pipeline.notify.destination import WEBHOOK, Destination, is_allowed
from pipeline.notify.errors import UndeliveredError
from pipeline.notify.patience import Patience
from pipeline.notify.web import request

DEADLINE_S = 30.0
"""For a webhook or a heartbeat, from the look-up of the name on."""
SERVICE_DEADLINE_S = 60.0
"""For what Apprise sends: a mail server may take its time for each line."""
HEART = "heartbeat"
DEFECTS = (ArithmeticError, AttributeError, LookupError, RuntimeError, TypeError, ValueError)


@dataclass(frozen=True)
class Transport:
    """Delivers, and leaves behind what hangs. One for all that deliver in a process."""

    deadline_s: float = DEADLINE_S
    service_deadline_s: float = SERVICE_DEADLINE_S
    patience: Patience = field(default_factory=Patience)

    def deliver(self, destination: Destination, message: Message) -> str:
        """Send it once. What came of it; UndeliveredError with the reason where it was not taken, or not in time."""
        within = self.deadline_s if destination.scheme in WEBHOOK else self.service_deadline_s
        return self.patience.attempt(
            f"channel {destination.channel.name}",
            lambda: _guarded(lambda: _sent(destination, message)),
            within,
        )

    def heartbeat(self, url: str, *, private: bool) -> str:
        """Tell that we live. What came of it; UndeliveredError with the reason where it was not taken."""
        return self.patience.attempt(HEART, lambda: _guarded(lambda: _beaten(url, private)), self.deadline_s)


def _guarded(work: Callable[[], str]) -> str:
    """What it says, and UndeliveredError for whatever goes wrong, in words of ours."""
    try:
        return work()
    except OSError as error:
        raise UndeliveredError(reasons.of_error(error)) from None
    except DEFECTS as error:
        # Neither its text nor its trace: both may hold the address.
        raise UndeliveredError(f"a defect in sending ({type(error).__name__})") from None


def _sent(destination: Destination, message: Message) -> str:
    if not is_allowed(destination.url):
        raise UndeliveredError("the settings name no address that messages may go to")
    if destination.scheme in WEBHOOK:
        return _webhook(destination, message)
    from pipeline.notify import service

    return service.deliver(destination, message)


def _webhook(destination: Destination, message: Message) -> str:
    _, _, rest = destination.url.partition("://")
    url = f"{'https' if destination.scheme == 'jsons' else 'http'}://{rest}"
    headers = {
        "Content-Type": "application/json",
        "User-Agent": "Tachograph",
        "X-Tachograph-Id": message.id,
    }
    body = json.dumps(message.payload, ensure_ascii=False).encode()
    return _asked("POST", url, body, headers, private=destination.private)


def _beaten(url: str, private: bool) -> str:
    return _asked("GET", url, None, {"User-Agent": "Tachograph"}, private=private)


def _asked(method: str, url: str, body: bytes | None, headers: dict[str, str], *, private: bool) -> str:
    answer = request(method, url, body, headers, private=private)
    if not answer.well:
        raise UndeliveredError(answer.sentence)
    return answer.sentence
