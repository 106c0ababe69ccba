"""The web process from outside: pages, API and security around one `WebProcess`, served by gunicorn."""

from __future__ import annotations

import logging
import os
import signal
import sys
import time
from collections.abc import Callable
from typing import Any

from flask import Blueprint, Flask
from gunicorn.app.base import BaseApplication

from dashboard import dispatch, security
from dashboard.api import (
    alerts,
    benchmarks,
    channels,
    compare,
    demo,
    download,
    health,
    notes,
    reports,
    routes,
    runs,
    stream,
    unknown_routes,
)
from dashboard.app import create_app
from dashboard.config import WebConfig
from dashboard.numbers import Number
from dashboard.process import WebProcess, wall_clock
from dashboard.strict_json import StrictJSON
from dashboard.worker import Worker
from storage.errors import StoreAway, StoreError, StoreNotReady
from storage.store import Store, open_store

THREADS = 64
GRACE_S = 5
WAIT_FOR_STORE_S = 60.0
WAIT_STEP_S = 0.1

log = logging.getLogger(__name__)


def create_server(config: WebConfig, clock: Callable[[], int] = wall_clock, *, follow: bool = True) -> Flask:
    """Everything but the sockets. Opens the store; StoreError when it cannot be.

    follow: start the thread that follows the store (tests call `follower.step` themselves).
    The process behind it is `server.extensions["tachograph"]`; close it when done.
    """
    process = WebProcess(config, open_store(config.store_url, writer=False, now_ms=clock()), clock)
    server = build(process)
    if follow:
        process.start()
    return server


def build(process: WebProcess, *, pages: bool = True) -> Flask:
    """A Flask server with security, API and (unless told otherwise) pages over a process."""
    server = Flask("dashboard", static_folder=None)
    server.url_map.converters["int"] = Number
    server.json = StrictJSON(server)
    server.extensions["tachograph"] = process
    security.install(server, process.config)
    api = Blueprint("api", __name__, url_prefix="/api/v1")
    routes.register_reading(api, process)
    routes.register_live(api, process)
    notes.register(api, process.sources)
    runs.register(api, process.sources, process.run_numbers)
    alerts.register(api, process.sources, process.config.alerts, tuple(one.channel for one in process.config.channels))
    channels.register(api, process.sources, process.config.channels)
    benchmarks.register(api, process.sources, process.run_numbers)
    reports.register(api, process)
    compare.register(api, process.sources.store, process.comparisons)
    download.register(api, process)
    routes.register_refusals(api)
    stream.register(api, process)
    if process.config.demo_control_url is not None:
        demo.register(api, process.config.demo_control_url)
    server.register_blueprint(api)
    unknown_routes.register(server)
    health.register(server, process)
    if pages:
        app = create_app(process, server=server)
        security.allow_scripts(server, app.csp_hashes())
        dispatch.install(server, app)
    return server


def wait_for_store(config: WebConfig, clock: Callable[[], int], patience_s: float = WAIT_FOR_STORE_S) -> Store:
    """Open the store, waiting for the collector to make it; StoreError when it does not come."""
    deadline = time.monotonic() + patience_s
    while True:
        try:
            return open_store(config.store_url, writer=False, now_ms=clock())
        except (StoreNotReady, StoreAway):
            if time.monotonic() > deadline:
                raise
            time.sleep(WAIT_STEP_S)


def look_at_store(config: WebConfig) -> None:
    """Say that one waits where the store is to come; StoreError for one that cannot be used.

    A store that is not there yet is no fault: the first `run` starts the collector, which makes it, at the same time.
    """
    try:
        open_store(config.store_url, writer=False, now_ms=wall_clock()).close()
    except StoreNotReady:
        log.info("waiting for the store, which the collector makes or brings forward when it starts")
    except StoreAway as error:
        log.warning("waiting for the store: %s", error)


class Application(BaseApplication):  # type: ignore[misc]
    """gunicorn without its command line. The store is opened in the worker, after the fork."""

    def __init__(self, config: WebConfig, ready: Callable[[], None]) -> None:
        self.web_config = config
        self.ready = ready
        self.process: WebProcess | None = None
        super().__init__()

    def load_config(self) -> None:
        """One worker, because state lives in it; many threads, because each stream holds one."""
        host = f"[{self.web_config.host}]" if ":" in self.web_config.host else self.web_config.host
        options = {
            "bind": f"{host}:{self.web_config.port}",
            "workers": 1,
            "threads": THREADS,
            "worker_class": f"{Worker.__module__}.{Worker.__name__}",
            "timeout": 120,
            "graceful_timeout": GRACE_S,
            "keepalive": 15,
            "sendfile": False,  # it would wait without end for a client that does not read
            "accesslog": None,
            "loglevel": "warning",
            "control_socket_disable": True,
            "worker_tmp_dir": None,
            "when_ready": lambda _: self.ready(),
            "worker_exit": _worker_exit,
            "limit_request_line": 8190,
            "proc_name": "tachograph-web",
        }
        for name, value in options.items():
            self.cfg.set(name, value)

    def load(self) -> Flask:
        """Called in the worker."""
        store = wait_for_store(self.web_config, wall_clock)
        self.process = WebProcess(self.web_config, store, renew=_end_worker)
        server = build(self.process)
        self.process.start()
        return server


def _end_worker() -> None:
    """Stop this worker in order; gunicorn starts the next, which opens what is there then."""
    os.kill(os.getpid(), signal.SIGTERM)


def _worker_exit(_arbiter: Any, worker: Any) -> None:
    process = getattr(worker.app, "process", None)
    if process is not None:
        process.close()


def run(config: WebConfig, ready: Callable[[], None] = lambda: None) -> int:
    """Serve until SIGTERM or SIGINT; exit status. Refuses, with a sentence, a store that cannot be used. ready: called
    once the address is ours."""
    try:
        look_at_store(config)
    except StoreError as error:
        sys.stderr.write(f"{error}\n")
        return 1
    try:
        Application(config, ready).run()
    except SystemExit as ended:
        return int(ended.code or 0)
    return 0
