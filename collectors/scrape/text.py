"""PageReader: from the bytes of a metrics page to a Page, fast where a line looks as it did last time.

A line splits into series text (name and labels) and rest. Series text seen before skips the parser only when the
rest is exactly one plain number, by itself or before a timestamp in whole milliseconds, or a word for no number;
every other line goes through prometheus_client's parser, by itself.
The page is untrusted: lines, labels, the number of lines and the memory of seen lines are bounded.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Mapping
from dataclasses import replace
from functools import lru_cache

import numpy as np
import numpy.typing as npt
from prometheus_client.parser import text_string_to_metric_families

from collectors.scrape.engines import LONG_LABELS, NOT_YET, UNREADABLE
from collectors.scrape.layout import Admission, Plan, build, page_of
from collectors.scrape.lines import Line, family_of, is_known, scope_of, understand
from collectors.scrape.page import Layout, Page
from collectors.scrape.plain import plain, unstamped
from collectors.scrape.stencil import LastPage
from telemetry.frame import Floats
from telemetry.model import UNKNOWN, Scope

MAX_LINE = 16_384
MAX_LABELS = 128
MAX_LABEL_VALUE = 1024
LINES_PER_SERIES = 2
"""Lines that the reader knows at most, as a multiple of the cap on stored series."""
MAX_SEEN_BYTES = 8_000_000
"""Series text that is remembered at most."""
MAX_SHARED = 512
"""Bytes of a line's name and labels that all readers of the process remember together, at most 8,192 of them."""
MAX_DROPPED_BYTES = 500_000
MAX_DROPPED_FAMILIES = 500

MAX_IN_VAIN = 2_000
"""Lines of one reading that go through the parser without making the next reading faster; what is more is bad."""

_HASH = ord("#")
_NAME = re.compile(rb"[A-Za-z_:][A-Za-z0-9_:]*")
Sample = tuple[str, Mapping[str, str], float, bool]
"""Name, labels, value, and whether nothing follows the value."""
_COMMENT = 0
"""Slot of everything that is no sample."""


class PageReader:
    """Reads one target's page again and again; one per target.

    >>> page = PageReader("head").read(b'vllm:num_requests_running{engine="0",model_name="m"} 3')
    >>> page.layout.engine, page.layout.series[0].metric, float(page.raw[0])
    ('vllm', 'requests_running', 3.0)
    """

    def __init__(
        self,
        target: str,
        cap_series: int = 4000,
        max_seen_bytes: int = MAX_SEEN_BYTES,
        scopes: Collection[Scope] = (Scope.ENGINE, Scope.NODE),
    ) -> None:
        """scopes: what the target may speak of; families of others are dropped."""
        self._target = target
        self._scopes = frozenset(scopes)
        self._admission = Admission(cap_series)
        self._cap_lines = cap_series * LINES_PER_SERIES
        self._max_seen_bytes = max_seen_bytes
        self._families = 0
        self._table: list[Line] = [Line("")]
        self._slots: dict[str, int] = {}
        self._seen: dict[bytes, int] = {}
        self._seen_bytes = self._dropped_bytes = 0
        self._last = LastPage()
        self._values: list[float] = []
        self._numbers: Floats = np.zeros(0)
        self._contradicted: frozenset[int] = frozenset()
        self._bad = self._refused = self._refused_before = self._parses = self._in_vain = self._reads = 0
        self._long = ""
        """The engine whose lines were refused for the length of their labels."""
        self._present: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._plan: Plan | None = None

    def read(self, body: bytes) -> Page:
        """The page that these bytes are. Never raises; what cannot be read is counted."""
        page = self.again(body)
        if page is None:
            self._reads += 1
            self._make_room()
            slots, told = self._walk(body)
            self._contradicted = self._contradictions(slots, told)
            self._numbers = np.array(self._values)
            self._settle(slots, body)
            page = self._page()
        return page

    def again(self, body: bytes) -> Page | None:
        """The page, where it differs from the last one in plain numbers only: done in a moment. None where it needs
        reading, which may take seconds: nothing has changed then."""
        if self._plan is None or not self._last.patch(body, self._numbers):
            return None
        self._reads += 1
        return self._page()

    # One reading ------------------------------------------------------------------------------------------------

    def _walk(self, body: bytes) -> tuple[list[int], list[float]]:
        """Read every line; the slots of the samples and their numbers, in page order."""
        keys: list[bytes | None] = []
        slots: list[int] = []
        told: list[float] = []
        self._values = values = [UNKNOWN] * len(self._table)
        self._bad = self._refused = self._parses = self._in_vain = 0
        self._long = ""
        seen = self._seen
        for line in body.split(b"\n"):
            if not line or line[0] == _HASH:
                keys.append(None)
                slots.append(_COMMENT)
                told.append(UNKNOWN)
                continue
            key, _, rest = line.rpartition(b" ")
            slot = seen.get(key)
            if slot is None:
                stated, number = unstamped(key, rest)
                if (slot := seen.get(stated)) is not None:
                    key, rest = stated, number
            if slot is not None and (value := plain(rest)) is not None:
                values[slot] = value
            else:
                slot = self._read_slowly(line)
            keys.append(key if seen.get(key) == slot else None)
            slots.append(slot)
            told.append(values[slot])
        self._last.become(body, keys, slots)
        return slots, told

    def _page(self) -> Page:
        plan = self._plan
        assert plan is not None, "a page has been read"
        return page_of(plan, self._numbers, self._bad, self._contradicted)

    # What is seen for the first time, or is no plain number -------------------------------------------------------

    def _read_slowly(self, line: bytes) -> int:
        """Slot of a line, its value put into the table; the comment's slot when it cannot be read."""
        key, _, rest = line.rpartition(b" ")
        text = line.strip()
        match = _NAME.match(text)
        if not text or text[0] == _HASH:
            return _COMMENT
        if match is not None and not self._admits(match.group().decode("ascii")):
            return self._drop(match.group().decode("ascii"), key)
        sample = self._parse(text)
        if sample is None:
            self._bad += 1
            return _COMMENT
        name, labels, value, bare = sample
        if max(map(len, labels.values()), default=0) > MAX_LABEL_VALUE:
            self._refused += 1
            self._long = self._long or _writer(name, labels)
            return _COMMENT
        slot = self._slot(name, labels)
        if not bare:
            key, rest = unstamped(key, rest)
        learned = slot != _COMMENT and plain(rest) is not None and key not in self._seen
        if slot != _COMMENT:
            self._values[slot] = value
        if learned and (bare or self._parse(key.strip() + b" 1") == (name, labels, 1.0, True)):
            self._remember(key, slot)
        else:
            self._in_vain += 1
        return slot

    def _parse(self, text: bytes) -> Sample | None:
        """Name, labels, value and whether nothing follows the value; None when the line is none or is too much."""
        self._parses += 1
        if len(text) > MAX_LINE or self._parses > 3 * self._cap_lines or self._in_vain >= MAX_IN_VAIN:
            return None
        sample = _sampled(text)
        return None if sample is None or len(sample[1]) > MAX_LABELS else sample

    def _admits(self, name: str) -> bool:
        """Whether a sample of this name is worth reading: a node may not speak for an engine, nor the other way."""
        return is_known(name) and scope_of(name) in (None, *self._scopes)

    def _slot(self, name: str, labels: Mapping[str, str]) -> int:
        if not self._admits(name):
            return self._family(family_of(name))
        line = understand(name, labels)
        if line is None:
            self._bad += 1
            return _COMMENT
        return self._place(line)

    def _place(self, line: Line) -> int:
        slot = self._slots.get(line.identity)
        if slot is None:
            if line.dropped is None and len(self._table) > self._cap_lines + self._families:
                self._refused += 1
                return _COMMENT
            slot = self._slots[line.identity] = len(self._table)
            self._table.append(line)
            self._values.append(UNKNOWN)
        return slot

    def _drop(self, name: str, key: bytes) -> int:
        slot = self._family(family_of(name))
        if key.strip() and self._dropped_bytes < MAX_DROPPED_BYTES:
            self._dropped_bytes += len(key)
            self._seen[key] = slot
        return slot

    def _family(self, family: str) -> int:
        identity = f"dropped {family}"
        if identity not in self._slots and self._families >= MAX_DROPPED_FAMILIES:
            identity, family = "dropped others", "others"
        self._families += identity not in self._slots
        return self._place(Line(identity, dropped=family))

    def _remember(self, key: bytes, slot: int) -> None:
        self._seen_bytes += len(key)
        self._seen[key] = slot

    def _contradictions(self, slots: list[int], told: list[float]) -> frozenset[int]:
        """Slots of lines that the page gives more than once, with different numbers: they have none then.

        Such a page is against the format, and nothing says which of the numbers is meant. Two lines that say the same
        do no harm.
        """
        counts = np.bincount(slots, minlength=len(self._table))
        repeated = {slot for slot in np.flatnonzero(counts > 1).tolist() if slot != _COMMENT}
        repeated = {slot for slot in repeated if self._table[slot].dropped is None}
        if not repeated:
            return frozenset()
        self._last.forget()  # a single one of equal lines may not be patched
        numbers: dict[int, set[str]] = {}
        for slot, number in zip(slots, told, strict=True):
            if slot in repeated:
                numbers.setdefault(slot, set()).add(repr(number + 0.0))  # 0 and −0 are equal, NaN and NaN too
        found = frozenset(slot for slot, several in numbers.items() if len(several) > 1)
        for slot in found:
            self._values[slot] = UNKNOWN
        return found

    # Shape and memory ---------------------------------------------------------------------------------------------

    def _settle(self, slots: list[int], body: bytes) -> None:
        """Keep the plan while the page has the same set of lines, else make a new one."""
        counts = np.bincount(slots, minlength=len(self._table))
        present = np.flatnonzero(counts[1:]) + 1
        same = np.array_equal(present, self._present) and self._refused == self._refused_before
        if self._plan is not None and self._plan.layout.series and same:
            return  # why there are no series also follows from lines that are not in the table
        if self._plan is not None:
            self._admission.touch(self._plan.layout.series, self._reads)
        order = tuple(dict.fromkeys(slot for slot in slots if slot != _COMMENT))
        plan = build(self._target, order, self._table, body, self._admission, self._reads, self._refused)
        plan = _explained(plan, self._long, self._bad)
        self._plan = _keeping(self._plan, plan)
        self._present, self._refused_before = present, self._refused

    def _make_room(self) -> None:
        """Forget lines that are no longer on the page once the table or the memory of series text is full."""
        full = len(self._table) > self._cap_lines + self._families
        if not full and self._seen_bytes + self._dropped_bytes <= self._max_seen_bytes:
            return
        kept = self._present.tolist()
        renumbered = {slot: position for position, slot in enumerate(kept, start=1)}
        self._table = [Line(""), *(self._table[slot] for slot in kept)]
        self._slots = {line.identity: position for position, line in enumerate(self._table[1:], start=1)}
        self._seen = {key: renumbered[slot] for key, slot in self._seen.items() if slot in renumbered}
        self._dropped_bytes = sum(len(key) for key, slot in self._seen.items() if self._table[slot].dropped)
        self._seen_bytes = sum(map(len, self._seen)) - self._dropped_bytes
        self._families = sum(1 for line in self._table if line.dropped is not None)
        if self._seen_bytes + self._dropped_bytes > self._max_seen_bytes:
            self._seen, self._seen_bytes, self._dropped_bytes = {}, 0, 0
        self._present = np.zeros(0, dtype=np.intp)


def _sampled(text: bytes) -> Sample | None:
    """What the parser makes of one line; None when it is no sample, or several."""
    head, _, rest = text.rpartition(b" ")
    value = plain(rest)
    if value is not None and len(head) <= MAX_SHARED and (known := _of_head(head)) is not None:
        return known[0], known[1], value, True
    return _parsed(text)


@lru_cache(maxsize=8192)
def _of_head(head: bytes) -> Sample | None:
    """What the parser makes of a name and its labels, when nothing but a number follows; the nodes of a cluster send
    the same few hundred, so that all but the first are read at once."""
    sample = _parsed(head + b" 1")
    return sample if sample is not None and sample[2:] == (1.0, True) else None


def _parsed(text: bytes) -> Sample | None:
    try:
        families = list(text_string_to_metric_families(text.decode("utf-8")))
        (sample,) = (sample for family in families for sample in family.samples)
    except (ValueError, IndexError):
        return None
    return sample.name, sample.labels, _float(sample.value), sample.timestamp is None


def _float(value: float) -> float:
    """The parser hands out whole numbers as they are; one too large for a float is as unknown as infinity."""
    try:
        return float(value)
    except OverflowError:
        return UNKNOWN


def _writer(name: str, labels: Mapping[str, str]) -> str:
    """The engine that writes lines of this name, "" where none does."""
    line = understand(name, {key: value[:MAX_LABEL_VALUE] for key, value in labels.items()})
    return line.engine or "" if line is not None else ""


def _explained(plan: Plan, long: str, bad_lines: int) -> Plan:
    """Says of a page whose engine's lines have labels that are too long, or cannot be read, why it has no numbers."""
    layout = plan.layout
    if layout.series:
        return plan
    if long:
        layout = replace(layout, engine=long, facts={**layout.facts, "statistics": LONG_LABELS})
    elif bad_lines and layout.facts.get("statistics") == NOT_YET:
        layout = replace(layout, facts={**layout.facts, "statistics": UNREADABLE})
    return replace(plan, layout=layout)


def _keeping(old: Plan | None, new: Plan) -> Plan:
    """The new plan, with the old layout object where nothing about it has changed."""
    if old is None or not _same(old.layout, new.layout):
        return new
    return Plan(old.layout, new.gather, new.flags, new.numbers, new.process, new.created)


def _same(old: Layout, new: Layout) -> bool:
    return (
        old.lines == new.lines
        and old.series == new.series
        and old.engine == new.engine
        and old.facts == new.facts
        and old.dropped_families == new.dropped_families
        and old.refused_series == new.refused_series
    )
