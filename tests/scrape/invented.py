"""Pages made of numbers, for tests of the text reader."""

from __future__ import annotations

from collectors.scrape.page import Page
from collectors.scrape.text import PageReader


def engines(first: int, count: int, start: int = 0) -> bytes:
    lines = (
        f'vllm:num_requests_running{{engine="{number}",model_name="m"}} {start + number}'
        for number in range(first, first + count)
    )
    return ("\n".join(lines) + "\n").encode()


def page_of(reader: PageReader, *numbers: float) -> Page:
    return reader.read(
        "".join(f'vllm:num_requests_running{{engine="{e}"}} {n}\n' for e, n in enumerate(numbers)).encode()
    )
