"""A server on loopback that answers as it is told."""

from __future__ import annotations

import json
import threading
from collections.abc import Callable
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from typing import Any
from urllib.parse import parse_qs, urlsplit

Answer = Callable[[BaseHTTPRequestHandler], None]


class Server:
    """Answers each request as told, and remembers what it was asked."""

    def __init__(self) -> None:
        self.answer: Answer = said(200, {"status": "success", "data": {"result": []}})
        self.asked: list[tuple[str, dict[str, list[str]], dict[str, str]]] = []
        outer = self

        class Handler(BaseHTTPRequestHandler):
            def do_GET(self) -> None:
                parts = urlsplit(self.path)
                outer.asked.append((parts.path, parse_qs(parts.query), dict(self.headers)))
                outer.answer(self)

            def log_message(self, *arguments: Any) -> None:
                """Silence."""

        self.http = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
        self.http.daemon_threads = True
        self.url = f"http://127.0.0.1:{self.http.server_address[1]}"
        self.thread = threading.Thread(target=self.http.serve_forever, args=(0.01,))
        self.thread.start()

    def close(self) -> None:
        self.http.shutdown()
        self.thread.join()
        self.http.server_close()


def said(status: int, body: object, **headers: str) -> Answer:
    data = body if isinstance(body, bytes) else json.dumps(body).encode()

    def answer(handler: BaseHTTPRequestHandler) -> None:
        handler.send_response(status)
        for name, value in {"Content-Length": str(len(data)), **headers}.items():
            handler.send_header(name, value)
        handler.end_headers()
        handler.wfile.write(data)

    return answer


def result(*entries: object) -> Answer:
    return said(200, {"status": "success", "data": {"resultType": "matrix", "result": list(entries)}})
