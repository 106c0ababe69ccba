"""Figures of a model, by deployment: a small table inside the table of settings."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from settings.forms import Form, RefusedError, entry_name, named_table, number

EXPECTED = "NAME=active_bytes:BYTES and, as far as known, the other figures"
FIGURES: Mapping[str, Form] = {
    "active_bytes": number(1e6, 1e15),
    "expert_bytes": number(1e6, 1e15),
    "experts": number(2, 1_000_000, whole=True),
    "experts_per_token": number(1, 1_000_000, whole=True),
    "bandwidth": number(1e9, 1e15),
    "nodes": number(1, 100_000, whole=True),
}
"""What may be told of a deployment; what each means is said in docs/roofline.md."""
MIXTURE = ("expert_bytes", "experts", "experts_per_token")
Figures = Mapping[str, float]


def _entries(raw: object) -> Mapping[str, Any]:
    """A TOML table as it is; of text, `figure:value` between commas."""
    if isinstance(raw, Mapping):
        return raw
    if not isinstance(raw, str):
        raise RefusedError((raw, EXPECTED))
    pairs = [entry.partition(":") for entry in raw.split(",")]
    return {name.strip(): value.strip() for name, _, value in pairs}


def _figures(name: str | None, raw: Any) -> tuple[str, Figures]:
    if name is None:
        raise RefusedError((raw, EXPECTED))
    found: dict[str, float] = {}
    wrong: list[tuple[object, str]] = []
    for figure, value in _entries(raw).items():
        if figure not in FIGURES:
            wrong.append((figure, f"one of {', '.join(FIGURES)}"))
            continue
        try:
            found[figure] = FIGURES[figure].parse(value)
        except RefusedError as refused:
            wrong += [(f"{figure}:{bad}", expected) for bad, expected in refused.wrong]
    contradiction = "" if wrong else _contradiction(found)
    if contradiction:
        wrong.append((name, contradiction))
    if wrong:
        raise RefusedError(*wrong)
    return entry_name(name), found


def _contradiction(found: Figures) -> str:
    """What figures that are right one by one must be together; "" where they are."""
    given = [figure for figure in MIXTURE if figure in found]
    if "active_bytes" not in found:
        return "active_bytes: what one token alone reads"
    if given and len(given) < len(MIXTURE):
        return f"all of {', '.join(MIXTURE)}, or none"
    if not given:
        return ""
    part = found["experts_per_token"] / found["experts"]
    if part > 1:
        return "at most as many experts_per_token as experts"
    if part * found["expert_bytes"] > found["active_bytes"]:
        return "active_bytes that contain the experts of one token"
    return ""


def _render(table: Mapping[str, Figures]) -> str:
    told = {name: ",".join(f"{figure}:{value!r}" for figure, value in found.items()) for name, found in table.items()}
    return " ".join(f"{name}={figures}" for name, figures in told.items())


ROOFLINE = Form(
    named_table(EXPECTED, _figures),
    _render,
    many=True,
    shown=f"NAME=FIGURE:VALUE,…; figures are {', '.join(FIGURES)}",
    metavar="NAME=active_bytes:BYTES,…",
)
