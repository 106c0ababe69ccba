"""A thin adapter around prometheus-api-client: its traps are handled here, and nowhere else.

It has no timeout of its own, retries for many seconds, rounds the ends of a range to seconds, speaks of HTTP errors in
bytes, and takes whatever the server sends for an answer.
"""

from __future__ import annotations

import ast
import json
import re
from collections.abc import Callable, Collection, Iterator, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial
from typing import Any
from urllib.parse import urlsplit

import numpy as np
import requests
from prometheus_api_client.exceptions import PrometheusApiClientException
from prometheus_api_client.prometheus_connect import PrometheusConnect
from urllib3.exceptions import ReadTimeoutError
from urllib3.util.retry import Retry

from exchange.prometheus.transport import Adapter, SourceError
from telemetry.frame import Floats, Ints

MOST_POINTS = 11_000
"""Points per series that a server gives in one answer."""
SLICE_MS = 900_000
"""Raw samples asked for at once: below MOST_POINTS up to twelve scrapes a second."""
TIMEOUT_S = 30
WHOLE_S = 300.0
"""How long the server may be silent, and how long one whole answer may take."""
_STATUS = re.compile(r"HTTP Status Code (\d+) \((b['\"].*['\"])\)", re.DOTALL)
_REASONS = {
    401: "it wants a password or a token",
    403: "it does not let us read",
    404: "there is no Prometheus at this address; the path may be missing",
}


@dataclass(frozen=True, eq=False)
class Samples:
    """Samples of one source series, oldest first. labels: the metric's name as `__name__`. t_ms: int64[n]; values:
    float64[n], NaN where the source says so."""

    labels: Mapping[str, str]
    t_ms: Ints
    values: Floats


class Source:
    """One server. url: its address, with the path below which its API stands (`/select/0/prometheus`, …).

    token: sent as a bearer token. Only this server is spoken to: neither redirects nor proxies of the environment.
    Every method raises SourceError, with a sentence.
    """

    def __init__(
        self, url: str, token: str | None = None, timeout_s: int = TIMEOUT_S, whole_s: float = WHOLE_S
    ) -> None:
        parts = urlsplit(url)
        if parts.scheme not in ("http", "https") or not parts.hostname or parts.query or parts.fragment:
            raise SourceError("the address must be like http://prometheus.example:9090")
        self._url = url.rstrip("/")
        self.name = f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path.rstrip('/')}"
        self._session = requests.Session()
        self._session.trust_env = False
        headers = {} if token is None else {"Authorization": f"Bearer {token}"}
        self._client = PrometheusConnect(
            self._url, headers, retry=Retry(total=0), session=self._session, timeout=timeout_s
        )
        self._session.mount(self._url, Adapter(whole_s))

    def close(self) -> None:
        """Close its connections."""
        self._session.close()

    def series(self, matcher: str, start_ms: int, end_ms: int) -> list[dict[str, str]]:
        """Label sets of the series that have samples in the range, as far as the server's index tells."""
        found = self._ask(lambda: self._client.get_series(_date(start_ms), _date(end_ms), params={"match[]": matcher}))
        if not all(map(_are_labels, found)):
            raise self._no_answer()
        return found

    def raw(self, selector: str, start_ms: int, end_ms: int) -> list[Samples]:
        """Samples of start ≤ t < end as they were scraped, with their own times; a range of at most SLICE_MS.

        Servers differ in whether a range holds its first instant: a second more is asked for, and cut off here.
        """
        seconds = -(-(end_ms - start_ms) // 1000) + 1
        query, at = f"{selector}[{seconds}s]", f"{end_ms / 1000:.3f}"
        result = self._ask(lambda: self._client.custom_query(query, params={"time": at}))
        return [one for one in (_cut(_samples(entry), start_ms, end_ms) for entry in result) if len(one.t_ms)]

    def stepped(self, query: str, start_ms: int, end_ms: int, step_s: int) -> Iterator[Samples]:
        """An expression at start, start + step … ≤ end (whole seconds), in as many questions as the limit of points
        needs; a series may come several times, once for each."""
        for low, high in spans(start_ms, end_ms, step_s * 1000):
            found = self._ask(partial(self._client.custom_query_range, query, _date(low), _date(high), str(step_s)))
            yield from map(_samples, found)

    def _ask(self, question: Callable[[], Any]) -> list[Any]:
        try:
            found = question()
        except SourceError as error:
            raise SourceError(f"{self.name}: {error}") from error
        except PrometheusApiClientException as error:
            raise SourceError(f"{self.name}: {_sentence(str(error))}") from None
        except requests.JSONDecodeError:
            raise self._no_answer() from None
        except requests.RequestException as error:
            raise SourceError(f"{self.name}: {_cause(error)}") from None
        except (KeyError, TypeError, ValueError, RecursionError):
            raise self._no_answer() from None
        if not isinstance(found, list):
            raise self._no_answer()
        return found

    def _no_answer(self) -> SourceError:
        return SourceError(f"{self.name}: this is no answer of a Prometheus")


def spans(start_ms: int, end_ms: int, step_ms: int) -> Iterator[tuple[int, int]]:
    """Closed ranges of at most MOST_POINTS steps that hold every instant start, start + step … ≤ end, once."""
    while start_ms <= end_ms:
        last = min(start_ms + (MOST_POINTS - 1) * step_ms, end_ms)
        yield start_ms, last
        start_ms += MOST_POINTS * step_ms


def quoted(text: str) -> str:
    """Text as a PromQL string."""
    return json.dumps(text, ensure_ascii=False)


def selector(names: Collection[str], **labels: str) -> str:
    """Selector of series of these names with exactly these labels; an empty value means that the label is absent."""
    parts = [
        f"__name__=~{quoted('|'.join(sorted(names)))}",
        *(f"{label}={quoted(value)}" for label, value in labels.items()),
    ]
    return "{" + ",".join(parts) + "}"


def _date(t_ms: int) -> datetime:
    """UTC, whole seconds: the client would round, and half a second decides which sample is in the range."""
    return datetime.fromtimestamp(t_ms // 1000, UTC)


def _are_labels(entry: Any) -> bool:
    return isinstance(entry, dict) and all(isinstance(value, str) for value in entry.values())


def _samples(entry: Any) -> Samples:
    try:
        pairs = entry["values"]
        labels = dict(entry["metric"])
        if not _are_labels(labels):
            raise TypeError
        t_ms = np.array([round(float(at) * 1000) for at, _ in pairs], dtype=np.int64)
        values = np.array([np.nan if value is None else float(value) for _, value in pairs], dtype=np.float64)
    except (KeyError, TypeError, ValueError, AttributeError, OverflowError):
        raise SourceError("the answer holds something that is no sample") from None
    return Samples(labels, t_ms, values)


def _cut(samples: Samples, start_ms: int, end_ms: int) -> Samples:
    inside = (samples.t_ms >= start_ms) & (samples.t_ms < end_ms)
    return Samples(samples.labels, samples.t_ms[inside], samples.values[inside])


def _sentence(text: str) -> str:
    """What an HTTP error of the client, which quotes the body as Python would, says for people."""
    match = _STATUS.match(text)
    if match is None:
        return text[:300]
    status = int(match[1])
    told = _REASONS.get(status) or _told(match[2])
    return f"status {status}" + (f": {told[:300]}" if told else "")


def _told(quoted_body: str) -> str:
    """The error that a body states, if it is Prometheus's JSON."""
    try:
        body = json.loads(ast.literal_eval(quoted_body))
        return str(body["error"])
    except (ValueError, SyntaxError, KeyError, TypeError, RecursionError, MemoryError):
        return ""


def _cause(error: Exception) -> str:
    """The innermost reason, without the address, which may hold a password."""
    reason: Any = error.args[0] if error.args else error
    reason = getattr(reason, "reason", reason)
    if isinstance(error, requests.Timeout) or isinstance(reason, ReadTimeoutError):
        return "no answer in time"
    text = str(reason).rpartition(": ")[2][:200]
    return f"cannot be reached ({text or type(error).__name__})"
