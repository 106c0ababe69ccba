"""HTTP as far as this agent speaks it: GET and HEAD without a body."""

from __future__ import annotations

from typing import NamedTuple

LARGEST_HEAD = 8192
REASONS = {
    200: "OK",
    400: "Bad Request",
    401: "Unauthorized",
    404: "Not Found",
    405: "Method Not Allowed",
    431: "Request Header Fields Too Large",
    503: "Service Unavailable",
}


class BadRequestError(Exception):
    """A request this agent does not answer: status code and sentence."""

    def __init__(self, status: int, sentence: str) -> None:
        super().__init__(sentence)
        self.status, self.sentence = status, sentence


class Request(NamedTuple):
    """Method, path, query and lower-case headers; whether the connection is to stay open."""

    method: str
    path: str
    query: dict[str, str]
    headers: dict[str, str]
    keep_alive: bool


class Answer(NamedTuple):
    """Status, body and its type; further header lines."""

    status: int
    body: bytes
    content_type: str = "text/plain; charset=utf-8"
    headers: tuple[str, ...] = ()


def parse_query(text: str) -> dict[str, str]:
    """name=value pairs; nothing here is percent-encoded, since only numbers are asked for."""
    return {name: value for name, _, value in (pair.partition("=") for pair in text.split("&")) if name}


def parse_head(head: bytes) -> Request:
    """The request of everything before the empty line; BadRequestError when it is not one we answer."""
    lines = head.decode("latin-1").split("\r\n")
    words = lines[0].split(" ")
    if len(words) != 3 or not words[2].startswith("HTTP/1.") or not words[1].startswith("/"):
        raise BadRequestError(400, "This is not an HTTP/1 request.")
    headers = {}
    for line in lines[1:]:
        name, colon, value = line.partition(":")
        if not colon or name != name.strip() or not name:
            raise BadRequestError(400, "A header line has no name.")
        headers[name.lower()] = value.strip()
    if headers.get("content-length", "0") != "0" or "transfer-encoding" in headers:
        raise BadRequestError(400, "Requests with a body are not answered.")
    path, _, query = words[1].partition("?")
    connection = headers.get("connection", "").lower()
    keep_alive = connection != "close" and (words[2] != "HTTP/1.0" or connection == "keep-alive")
    return Request(words[0], path, parse_query(query), headers, keep_alive)


def encode(answer: Answer, keep_alive: bool, head_only: bool = False) -> bytes:
    """The answer as sent."""
    lines = (
        f"HTTP/1.1 {answer.status} {REASONS[answer.status]}",
        f"Content-Type: {answer.content_type}",
        f"Content-Length: {len(answer.body)}",
        f"Connection: {'keep-alive' if keep_alive else 'close'}",
        "X-Content-Type-Options: nosniff",
        *answer.headers,
    )
    return "\r\n".join(lines).encode("latin-1") + b"\r\n\r\n" + (b"" if head_only else answer.body)
