"""A page written from numbers, and what ingest makes of it."""

from __future__ import annotations

import numpy as np

from collectors.scrape.text import PageReader
from pipeline.ingest import Ingest, Reading
from telemetry.model import Series

GENERATED = Series("head", "generation_tokens_total", (("engine", "0"), ("model", "m")))
RUNNING = Series("head", "requests_running", (("engine", "0"), ("model", "m")))


class Source:
    """A page written from numbers: {process id or "": tokens}; several lines fold into one stored series."""

    def __init__(self, **ingest: object) -> None:
        self.reader = PageReader("head")
        self.ingest = Ingest("head", **ingest)  # type: ignore[arg-type]
        self.tick = 0

    def page(self, lines: dict[str, object], started: float | None = None) -> Reading:
        self.tick += 1000
        text = ['vllm:num_requests_running{engine="0",model_name="m"} 1']
        for pid, value in lines.items():
            label = f',pid="{pid}"' if pid else ""
            text.append(f'vllm:generation_tokens_total{{engine="0",model_name="m"{label}}} {value}')
        if started is not None:
            text.append(f"process_start_time_seconds {started}")
        return self.body("\n".join(text))

    def body(self, text: str) -> Reading:
        page = self.reader.read(text.encode())
        self.layout = page.layout
        return self.ingest.take(page, self.tick)

    def tokens(self, lines: dict[str, object], started: float | None = None) -> tuple[float | None, list[str]]:
        """Stored total after this page (None: not on it or unknown), and what was told of the step."""
        reading = self.page(lines, started)
        told = [offset.reason for offset in reading.offsets]
        return self.total(reading), told

    def total(self, reading: Reading) -> float | None:
        if GENERATED not in self.layout.series:
            return None
        value = float(reading.values[self.layout.series.index(GENERATED)])
        return None if np.isnan(value) else value
