"""Slide: a frame of a window that goes on from tick to tick, where nothing but rows came that fit into it.

A target that says nothing at a tick, or is not asked, has an empty column there; one that answers late is written into
the column of its tick. For whatever else happens (another layout, a target that comes or is forgotten, a tick between
two others) the window puts everything together anew, see `Window.slide`.
"""

from __future__ import annotations

from collections.abc import Collection, Sequence
from dataclasses import dataclass, field

import numpy as np
import numpy.typing as npt

from pipeline.block import Block
from pipeline.strip import Tape
from telemetry.frame import Frame
from telemetry.model import Series

Rows = Sequence[tuple[str, list[Block]]]
"""Blocks of targets."""


@dataclass(frozen=True, slots=True)
class State:
    """What else a window knows than rows, at a tick. edition: of what must not change; disturbed: targets that have
    gaps of their own in a frame up to it."""

    edition: int
    tick: int
    disturbed: Collection[str]


@dataclass(eq=False)
class Part:
    """A target. places: of what is wanted, in its layout; rows: of the frame; seen: rows of its blocks that are in it;
    last_tick: of its newest row."""

    target: str
    layout: tuple[Series, ...]
    places: npt.NDArray[np.intp]
    rows: slice
    last_tick: int
    seen: dict[Block, int] = field(default_factory=dict)


Fresh = dict[int, list[tuple[Part, Block, int]]]
"""New rows by tick."""


class Slide:
    """The wanted metrics of some targets, None is all, from so many milliseconds before the present tick on."""

    def __init__(self, metrics: frozenset[str], back_ms: int, targets: frozenset[str] | None = None) -> None:
        self.metrics, self.back_ms, self.targets = metrics, back_ms, targets
        self._tape: Tape | None = None
        self._edition = self._tick = -1
        self._parts: list[Part] = []
        self._wanted: list[Part] = []
        self._counts: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)
        self._places: npt.NDArray[np.intp] = np.zeros(0, dtype=np.intp)

    def wants(self, target: str) -> bool:
        """Whether a target is in it."""
        return self.targets is None or target in self.targets

    def stop(self) -> None:
        """Do not go on from what there is."""
        self._tape = None

    def begin(self, frame: Frame, rows: Rows, state: State) -> None:
        """Go on from a frame of these rows, up to a tick, if each target has one layout and one interval in it."""
        self._edition, self._tick = state.edition, state.tick
        self._parts, first = [], 0
        for target, own in rows:
            part = self._part(target, own, state.tick, first)
            self._parts.append(part)
            first = part.rows.stop
        self._wanted = [part for part in self._parts if part.rows.stop > part.rows.start]
        series = tuple(part.layout[place] for part in self._wanted for place in part.places.tolist())
        even = len(frame.ticks) and series == frame.series
        self._tape = Tape(frame) if even and not self._is_disturbed(state) else None
        self._counts = np.array([len(part.places) for part in self._wanted], dtype=np.intp)
        begins = np.cumsum([0, *(len(part.layout) for part in self._wanted)])
        some = [part.places + begin for part, begin in zip(self._wanted, begins.tolist(), strict=False)]
        self._places = np.concatenate([np.zeros(0, dtype=np.intp), *some])

    def _part(self, target: str, own: Sequence[Block], tick: int, first: int) -> Part:
        newest = max(own, key=lambda block: block.last_tick)
        wanted = [place for place, one in enumerate(newest.series) if one.metric in self.metrics]
        count = len(wanted) if newest.last_tick >= tick - self.back_ms else 0
        rows, seen = slice(first, first + count), {block: block.used for block in own}
        return Part(target, newest.series, np.array(wanted, dtype=np.intp), rows, newest.last_tick, seen)

    def next(self, rows: Rows, state: State) -> Frame | None:
        """With what came since; it holds until the next is asked for. None where that does not simply fit in."""
        if self._tape is None or state.edition != self._edition or state.tick < self._tick or self._is_disturbed(state):
            return None
        fresh, start_ms = self._fresh(rows), state.tick - self.back_ms
        if fresh is None or not self._take(self._tape, fresh, start_ms):
            return None
        if any(part.last_tick < start_ms for part in self._wanted):
            return None
        self._tick = state.tick
        self._tape.begin(start_ms)
        return self._tape.frame()

    def _is_disturbed(self, state: State) -> bool:
        return any(part.target in state.disturbed for part in self._wanted)

    def _fresh(self, rows: Rows) -> Fresh | None:
        """New rows; None where there is another target, or another layout."""
        if len(rows) != len(self._parts):
            return None
        fresh: Fresh = {}
        for part, (_, own) in zip(self._parts, rows, strict=True):
            for block in own:
                done = part.seen.get(block, 0)
                if done == block.used:
                    continue
                if block.series is not part.layout:  # nor has another target this one
                    return None
                for row in range(done, block.used):
                    fresh.setdefault(int(block.ticks[row]), []).append((part, block, row))
                part.seen[block] = block.used
            if len(part.seen) > len(own):
                part.seen = {block: block.used for block in own}
        return fresh

    def _take(self, tape: Tape, fresh: Fresh, start_ms: int) -> bool:
        """Write new rows into their columns; False where one of them has none."""
        for tick in sorted(fresh):
            came = fresh[tick]
            for part, _, _ in came:
                part.last_tick = max(part.last_tick, tick)
            if tick < start_ms:
                continue
            mine = [one for one in came if len(one[0].places)]
            if any(part.rows.start == part.rows.stop for part, _, _ in mine):
                return False
            if tick <= tape.last_tick:
                if not all(_write(tape, tick, *one) for one in came):
                    return False
            elif len(mine) == len(self._wanted):
                self._append(tape, tick, mine)
            else:
                tape.append(tick, np.nan, np.nan)
                for one in mine:
                    _write(tape, tick, *one)
        return True

    def _append(self, tape: Tape, tick: int, came: Collection[tuple[Part, Block, int]]) -> None:
        """A column of all targets."""
        values = np.concatenate([np.zeros(0), *(block.row(row) for _, block, row in came)])[self._places]
        tape.append(tick, values, np.repeat([block.at_ms[row] for _, block, row in came], self._counts))


def _write(tape: Tape, tick: int, part: Part, block: Block, row: int) -> bool:
    """Into the column of a tick; False where there is none."""
    places = part.places[: part.rows.stop - part.rows.start]
    return tape.write(tick, part.rows, block.row(row)[places], block.at_ms.item(row))
