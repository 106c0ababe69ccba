"""The store is deleted under a running hub: the page names it, and shows the next store without being loaded again."""

from __future__ import annotations

import json
import re
import subprocess
import sys
import threading
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path

from playwright.sync_api import expect

from tests.browser.conftest import Complaints, Open, wait_for_charts, wait_until
from tests.browser.test_processes import free_port, line_with, running, wait_for
from tests.cli.test_end_to_end import children


def health(port: int) -> tuple[int, str]:
    try:
        with urllib.request.urlopen(f"http://127.0.0.1:{port}/healthz", timeout=20) as answer:
            return answer.status, answer.read().decode()
    except urllib.error.HTTPError as error:
        with error:
            return error.code, error.read().decode()


Answers = list[tuple[int, str]]


@contextmanager
def asked_again_and_again(port: int) -> Iterator[Answers]:
    """What /healthz answers while the block runs; when the next worker comes it may answer nothing for a moment."""
    answers, over = Answers(), threading.Event()

    def ask() -> None:
        while not over.wait(0.05):
            with suppress(OSError):
                answers.append(health(port))

    thread = threading.Thread(target=ask)
    thread.start()
    try:
        yield answers
    finally:
        over.set()
        thread.join()


GATHER = """(place) => {
  window.said = [];
  const changes = { childList: true, characterData: true, subtree: true };
  new MutationObserver(() => said.push(place.textContent)).observe(place, changes);
}"""
"""Sentences as they come: until the next collector is there, which is soon, the page says that the store is gone."""


def test_a_deleted_store_is_named_and_its_successor_shown(
    tmp_path: Path, open_page: Open, complaints: Complaints
) -> None:
    complaints.allowed = ("500", "503", "ERR_INCOMPLETE_CHUNKED_ENCODING", "ERR_EMPTY_RESPONSE", "ERR_CONNECTION")
    path = tmp_path / "store.db"
    with ExitStack() as stack:
        simulator = stack.enter_context(running("-m", "simulator", "--nodes", "2"))
        told = json.loads(line_with(simulator, r"\{.*\}"))
        nodes = [part for name, url in told["nodes"].items() for part in ("--node", f"{name}={url}")]
        port = free_port()
        command = ["app.py", "run", "--config", "", "--store", str(path), "--port", str(port), *nodes]
        with (tmp_path / "log").open("w") as log:
            hub = subprocess.Popen([sys.executable, *command, "--engine", f"head={told['engine']}"], stderr=log)
        stack.callback(hub.wait, 60)
        stack.callback(hub.terminate)
        wait_for(f"http://127.0.0.1:{port}/")
        page = open_page(f"http://127.0.0.1:{port}/")
        wait_for_charts(page)
        before = children(hub.pid)
        sentence = page.locator("#react-entry-point .sentence .words")
        sentence.evaluate(GATHER)
        with asked_again_and_again(port) as answers:
            path.unlink()
            page.wait_for_function(
                "() => said.some((one) => /The store .*store\\.db was deleted while it was open/.test(one))"
            )
            wait_until(page, lambda: (503, f"the store {path} was deleted while it was open\n") in answers)
            expect(sentence).to_have_text(re.compile("on 2 nodes"))
            expect(page.locator("#react-entry-point [data-age]")).to_have_text("live")
            wait_until(page, lambda: answers[-1] == (200, "ok\n"))
        after = children(hub.pid)
    assert after["web"] == before["web"], "the same server, with another worker"
    assert after["collect"] != before["collect"]
    lines = (tmp_path / "log").read_text().splitlines()
    assert sum("collector ended with status 1; starting it again in 0.5 s" in line for line in lines) == 1
    assert f"the store {path} was deleted while it was open" in lines
    assert not [line for line in lines if "Traceback" in line]
