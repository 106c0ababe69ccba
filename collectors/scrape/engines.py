"""Which engine wrote a page, and why a page of an engine may hold no statistics."""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable

from collectors.scrape.aliases import dialect_of

UNKNOWN_ENGINE = "unknown"
AGENT = "agent"
HUB_LINE = b"# TYPE tachograph_target_up "
"""Beginning of a line that only a hub's own page has."""
NOT_YET = "not yet"
LONG_LABELS = "long labels"
UNREADABLE = "unreadable"
STATISTICS = {
    "off": "the engine answers, but was started with --disable-log-stats",
    NOT_YET: "the engine answers and has served no request since its start",
    LONG_LABELS: "the engine answers, but its labels are too long: a model's name has at most 1,024 signs here",
    UNREADABLE: "the engine answers, but no line of its page can be read: not in the text format, or not UTF-8",
    "elsewhere": "this is TensorRT-LLM's JSON list, which its readers empty, and there is no /prometheus/metrics",
}
"""Value of the fact `statistics` → a sentence that says why the page has no numbers."""

_TRTLLM_PAGE = "/prometheus/metrics"
_DECLARED = re.compile(rb"^# (?:TYPE|HELP) ([A-Za-z_:][\w:]*)", re.MULTILINE)
_API_SERVER = b"http_request_duration_highr_seconds"
_TRTLLM_JSON = re.compile(rb"\s*\[\s*(?:\]|\{)")


def recognise(engines: Iterable[str], body: bytes) -> tuple[str, dict[str, str]]:
    """Engine of a page and the facts that explain missing statistics.

    engines: the engine whose dialect each line that means something is written in; most lines decide.
    body: searched only when there is no such line.
    """
    counted = Counter(engines)
    if counted:
        return max(counted, key=lambda engine: counted[engine]), {}
    declared = next(filter(None, (dialect_of(name.decode("ascii")) for name in _DECLARED.findall(body))), None)
    if declared is not None:
        return declared.engine, {"statistics": NOT_YET}
    if _API_SERVER in body:
        return "vllm", {"statistics": "off"}
    if _TRTLLM_JSON.match(body):
        return "trtllm", {"statistics": "elsewhere"}
    return UNKNOWN_ENGINE, {}


def other_page(body: bytes) -> str | None:
    """Path of the page to read instead of this one, None where this one is right."""
    return _TRTLLM_PAGE if _TRTLLM_JSON.match(body) else None


def stranger(writer: str, body: bytes, content_type: str, *, agent: bool) -> str | None:
    """What a page is instead of that of an engine (or of an agent), as a predicate; None where it is right.

    writer: whose page it is (`Layout.engine`).
    """
    if HUB_LINE in body:
        return "answers, but this is the page of a hub"
    if writer == AGENT and not agent:
        return "answers, but this is an agent's metrics page"
    if writer not in (AGENT, UNKNOWN_ENGINE) and agent:
        return "answers, but this is an engine's metrics page"
    if writer != UNKNOWN_ENGINE:
        return None
    named = f" ({content_type})" if content_type else ""
    if not body.strip():
        return f"answers, but with an empty page{named}"
    return f"answers, but this is no {'agent' if agent else 'engine'}'s metrics page{named}"
