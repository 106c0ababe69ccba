"""Pages made of numbers, for tests of the text reader."""

from __future__ import annotations

from collectors.scrape.page import Page
from collectors.scrape.text import PageReader
from telemetry.model import Series


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


def read(*lines: str) -> Page:
    reader = PageReader("e")
    body = ("\n".join(lines) + "\n").encode()
    first, again = reader.read(body), reader.read(body)
    assert first.raw.tobytes() == again.raw.tobytes()
    return first


def series_of(page: Page, metric: str) -> list[Series]:
    return [series for series in page.layout.series if series.metric == metric]
