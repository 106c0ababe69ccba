"""A file of results, of whatever tool: told apart by its keys, read within limits, refused with a sentence."""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import replace
from pathlib import PurePath
from typing import Any

from exchange.benchmarks import benchy, guidellm, vllm
from exchange.benchmarks.record import Benchmark, out_of_time

MOST_BYTES = 256 << 20
MOST_RESULTS = 1_000
PACKED = b"\x1f\x8b"
TOOLS = "vllm bench serve (--save-result), llama-benchy (--format json or csv) and guidellm (benchmarks.json)"


def read(data: bytes, name: str) -> list[Benchmark]:
    """The results in a file, in its order; ValueError with a sentence that names the line, the result or the key.

    name: the file's; its folder is never kept.
    """
    file = PurePath(name.replace("\\", "/")).name[:160]
    if len(data) > MOST_BYTES:
        raise ValueError(f"{file}: larger than {MOST_BYTES >> 20} MiB")
    if data.startswith(PACKED):
        raise ValueError(f"{file}: it is packed; a run of another Tachograph is imported with “runs import”")
    try:
        text = data.decode("utf-8-sig")
    except UnicodeDecodeError as error:
        line = data[: error.start].count(b"\n") + 1
        raise ValueError(f"{file}, line {line}: no text in UTF-8") from None
    if benchy.fits_csv(text):
        found = [benchy.read_csv(text, file)]
    else:
        found = [one for place, value in enumerate(_values(text, file), 1) for one in _result(value, file, place)]
    if not found:
        raise ValueError(f"{file}: there is no result in it")
    if problem := next(filter(None, map(out_of_time, found)), ""):
        raise ValueError(f"{file}: {problem}")
    return [replace(one, file=file) for one in found]


def _result(value: Any, file: str, place: int) -> list[Benchmark]:
    where = file if place == 1 else f"{file}, result {place}"
    if vllm.fits(value):
        return [vllm.read(value, where)]
    if benchy.fits(value):
        return [benchy.read(value, where)]
    if guidellm.fits(value):
        return guidellm.read(value, where)
    lacking = [name for name in vllm.NEEDED if isinstance(value, dict) and name not in value]
    if 0 < len(lacking) < len(vllm.NEEDED):
        raise ValueError(f"{where}: “{lacking[0]}” is missing, expected in a result of {vllm.TOOL}")
    raise ValueError(f"{where}: not a result of a tool that is known here: {TOOLS}")


def _values(text: str, file: str) -> Iterator[Any]:
    """JSON values that stand one after the other, on lines of their own or not; a list is its members."""
    decoder, at, count = json.JSONDecoder(parse_constant=lambda _: None), 0, 0
    while (at := _next(text, at)) < len(text):
        try:
            value, at = decoder.raw_decode(text, at)
        except json.JSONDecodeError as error:
            if error.pos == at and not count:
                raise ValueError(f"{file}: no JSON, and no CSV; known are {TOOLS}") from None
            raise ValueError(f"{file}, line {error.lineno}, column {error.colno}: {error.msg}") from None
        except (RecursionError, ValueError):
            raise ValueError(f"{file}: not JSON that can be read") from None
        for one in value if isinstance(value, list) else [value]:
            count += 1
            if count > MOST_RESULTS:
                raise ValueError(f"{file}: more than {MOST_RESULTS} results")
            yield one


def _next(text: str, at: int) -> int:
    """The next sign that is no space and no comma between two values."""
    while at < len(text) and text[at] in " \t\r\n,\x1e":
        at += 1
    return at
