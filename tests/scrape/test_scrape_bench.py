"""The bench of parsing compares every value with the parser's, and would notice a difference."""

from __future__ import annotations

import pytest

from bench.parse import agent_pages, cpu_ms, mismatches, recorded
from tests.scrape.recordings import pages


def test_no_mismatch_on_recorded_pages() -> None:
    vllm = recorded("vllm-0.32/lora-")
    assert vllm[1] == pages()["vllm-0.32/lora-1.prom"]
    assert mismatches(vllm) == 0
    assert mismatches(agent_pages()) == 0


def test_a_wrong_value_is_a_mismatch(monkeypatch: pytest.MonkeyPatch) -> None:
    page = b'vllm:num_requests_running{engine="0"} 3\n'
    monkeypatch.setattr("collectors.scrape.plain.float", lambda _: 4.0, raising=False)
    assert mismatches([page, page]) == 2


def test_cost_is_a_mean_per_page() -> None:
    read: list[bytes] = []
    assert cpu_ms(read.append, [b"a", b"b"], passes=3) >= 0
    assert read == [b"a", b"b"] * 3
