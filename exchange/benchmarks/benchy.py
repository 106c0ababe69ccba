"""llama-benchy: `--format json`, and the rows of `--format csv`. Each of its tests is told apart by a name.

"pp2048 @ d4096 (c2)" is a prompt of 2,048 tokens on a context of 4,096, two requests at once; "tg32" the answer to it.
Its time is that of its start.
"""

from __future__ import annotations

import csv
import io
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Any

from exchange.benchmarks.fields import Fields
from exchange.benchmarks.record import Benchmark
from runs.entries import Entry, Number
from telemetry.model import Unit

TOOL = "llama-benchy"
NEEDED = ("model", "latency_mode", "benchmarks")
TPS = Unit.TOKENS_PER_SECOND
PREFILL = Number("prefill", "Prefill", TPS, "Prompt tokens ∕ estimated time of the prompt, all requests together.")
PREFILL_EACH = Number("prefill_each", "Prefill, per request", TPS, "The same of each request.")
DECODE = Number("decode", "Decode", TPS, "(Output tokens − 1) ∕ (last − first token), all requests together.")
DECODE_EACH = Number("decode_each", "Decode, per request", TPS, "The same of each request.")
PEAK = Number("peak_decode", "Decode, peak", TPS, "Most stream chunks in a second; one may hold several tokens.")
PEAK_EACH = Number("peak_decode_each", "Decode, peak per request", TPS, "The same of each request.")
FIRST = Number("first_response", "Time to first response", Unit.SECONDS, "Until any chunk came, empty ones too.")
PROMPT_TIME = Number(
    "prompt_time", "Estimated prompt time", Unit.SECONDS, "Time to first response less the latency that was measured."
)
FIRST_TOKEN = Number("first_token", "TTFT, mean", Unit.SECONDS, "From sending a request to its first text.")


@dataclass(frozen=True, slots=True)
class Column:
    """A number: key in JSON, beginning of the columns in CSV, what one of it is in the base unit, and which test's."""

    json: str
    csv: str
    number: Number
    prompt: bool
    scale: float = 1.0


COLUMNS = (
    Column("pp_throughput", "t_s", PREFILL, True),
    Column("pp_req_throughput", "t_s_req", PREFILL_EACH, True),
    Column("tg_throughput", "t_s", DECODE, False),
    Column("tg_req_throughput", "t_s_req", DECODE_EACH, False),
    Column("peak_throughput", "peak_ts", PEAK, False),
    Column("peak_req_throughput", "peak_ts_req", PEAK_EACH, False),
    Column("ttfr", "ttfr", FIRST, True, 0.001),
    Column("est_ppt", "est_ppt", PROMPT_TIME, True, 0.001),
    Column("e2e_ttft", "e2e_ttft", FIRST_TOKEN, True, 0.001),
)
SAID = {"version", "timestamp", "model", "benchmarks"}
MEAN, SPREAD = "_mean", "_std"


def fits(data: Any) -> bool:
    """Whether it looks like one of its results."""
    return isinstance(data, Mapping) and all(name in data for name in NEEDED)


def read(data: Mapping[str, Any], where: str) -> Benchmark:
    """A result; ValueError names the key that is wrong."""
    fields = Fields(data, where)
    tests = fields.objects("benchmarks")
    most = fields.number("max_concurrency") or 1
    return Benchmark(
        tool=TOOL,
        version=fields.text("version"),
        model=fields.text("model", needed=True),
        entries=tuple(entry for test in tests for entry in _of_test(test, many=most > 1)),
        start_ms=_started(fields),
        protocol={
            name.replace("_", " "): str(value)[:500]
            for name, value in data.items()
            if name not in SAID and value is not None and not isinstance(value, list | dict)
        },
    )


def _started(fields: Fields) -> int | None:
    """Where it names its zone; older versions do not."""
    given = fields.text("timestamp")
    if not given.endswith("Z"):
        return None
    try:
        return round(datetime.strptime(given, "%Y-%m-%d %H:%M:%SZ").replace(tzinfo=UTC).timestamp() * 1000)
    except ValueError:
        raise fields.wrong("timestamp", given, "a time like 2026-02-07 19:09:00Z") from None


def _of_test(test: Fields, *, many: bool) -> Iterable[Entry]:
    sizes = {
        name: int(test.number(name, needed=True) or 0)
        for name in ("prompt_size", "response_size", "context_size", "concurrency")
    }
    context = bool(test.data.get("is_context_prefill_phase"))
    depth = f" @ d{sizes['context_size']}" if sizes["context_size"] or context else ""
    end = depth + (f" (c{sizes['concurrency']})" if many else "")
    prompt = "ctx_pp" if context else f"pp{sizes['prompt_size']}"
    answer = "ctx_tg" if context else f"tg{sizes['response_size']}"
    for column in COLUMNS:
        measured = test.inner(column.json)
        if measured is not None:
            mean, spread = measured.number("mean", needed=True), measured.number("std")
            values = measured.numbers("values")
            name = (prompt if column.prompt else answer) + end
            yield _entry(column, name, mean or 0.0, spread, len(values) or None)


def _entry(column: Column, name: str, mean: float, spread: float | None, count: int | None) -> Entry:
    note = "" if spread is None else f"± {spread * column.scale:.3g} {_UNITS[column.number.unit]}"
    return column.number.entry(mean * column.scale, of=name, note=note, count=count)


_UNITS = {TPS: "tok/s", Unit.SECONDS: "s"}


def fits_csv(text: str) -> bool:
    """Whether a text looks like its CSV."""
    head = text.partition("\n")[0]
    return head.startswith("model,test_name,t_s_mean,")


def read_csv(text: str, where: str) -> Benchmark:
    """A result of `--format csv`; ValueError names the line and the column. It tells no time and no version."""
    rows = csv.DictReader(io.StringIO(text), strict=True)
    entries: list[Entry] = []
    models: list[str] = []
    try:
        for row in rows:
            at = f"{where}, line {rows.line_num}"
            if None in row or None in row.values():
                raise ValueError(f"{at}: it has not as many fields as the heading")
            models.append(row["model"])
            entries += _of_row(row, at)
    except csv.Error as error:
        raise ValueError(f"{where}, line {rows.line_num}: {error}") from None
    if not entries:
        raise ValueError(f"{where}: it has a heading and no results")
    if len(set(models)) != 1:
        raise ValueError(f"{where}: it tells of several models, expected one")
    return Benchmark(tool=TOOL, model=models[0], entries=tuple(entries))


def _of_row(row: Mapping[str, str], at: str) -> Iterable[Entry]:
    name = row["test_name"]
    prompt = name.startswith(("pp", "ctx_pp"))
    if not prompt and not name.startswith(("tg", "ctx_tg")):
        raise ValueError(f"{at}: “test_name” is {name!r:.40}, expected pp… or tg…")
    for column in COLUMNS:
        if column.prompt == prompt and row.get(column.csv + MEAN):
            spread = _number(row, column.csv + SPREAD, at) if row.get(column.csv + SPREAD) else None
            yield _entry(column, name, _number(row, column.csv + MEAN, at), spread, None)


def _number(row: Mapping[str, str], name: str, at: str) -> float:
    try:
        value = float(row[name])
    except ValueError:
        value = -1.0
    if not 0 <= value < float("inf"):
        raise ValueError(f"{at}: “{name}” is {row[name]!r:.40}, expected a number from 0 up")
    return value
