"""Rounds: each reads every collector that is due, and gives all who ask within 200 ms the same answer."""

from __future__ import annotations

import threading
from typing import NamedTuple

from collectors.node.machine import Machine
from collectors.node.page import PageWriter
from collectors.node.reading import COLLECTORS, Collector, Read, Reading, Round, Sample, failed, unforeseen
from telemetry.catalog import host

SAME_S = 0.2


class Snapshot(NamedTuple):
    """What one round gave: its instant on both clocks, readings by collector, and the page as sent."""

    monotonic_s: float
    wall_s: float
    readings: dict[str, Reading]
    page: bytes


class Rounds:
    """The collectors of one machine. `snapshot` may be called from any thread."""

    def __init__(self, machine: Machine, collectors: dict[str, Collector] = COLLECTORS) -> None:
        self.machine = machine
        self.started_s = machine.wall()
        self._collectors = collectors
        self._reads: dict[str, Read] = {name: found.build(machine) for name, found in collectors.items()}
        self._due: dict[str, float] = {}
        self._readings: dict[str, Reading] = {}
        self._writer = PageWriter()
        self._lock = threading.Lock()
        self._last: Snapshot | None = None
        self.goodbye = False

    def say_goodbye(self) -> None:
        """From now on every page says that the agent stops on purpose."""
        with self._lock:
            self.goodbye, self._last = True, None

    def snapshot(self) -> Snapshot:
        """A round begun now, or the last one if that began less than 200 ms ago."""
        with self._lock:
            now = self.machine.monotonic()
            if self._last is None or now - self._last.monotonic_s >= SAME_S:
                self._last = self._round(now)
            return self._last

    def _round(self, now: float) -> Snapshot:
        wall = self.machine.wall()
        readings: dict[str, Reading] = {}
        for name, found in self._collectors.items():
            if now >= self._due.get(name, now):
                self._readings[name] = self._read(name, Round(now, wall, readings))
                self._due[name] = now + found.every_s
            readings[name] = self._readings[name]
        samples = [sample for reading in readings.values() for sample in reading.samples]
        return Snapshot(now, wall, readings, self._writer.write(samples + self._own(now, wall, readings)))

    def _read(self, name: str, now: Round) -> Reading:
        began = self.machine.monotonic()
        try:
            reading = self._reads[name](now)
        except OSError as error:
            reading = failed(f"{error.filename or name}: {error.strerror or 'it cannot be read'}")
        except Exception as error:  # noqa: BLE001 - a failed collector costs only its own readings
            reading = unforeseen(error)
        reading.seconds = round(self.machine.monotonic() - began, 6)
        return reading

    def _own(self, now: float, wall: float, readings: dict[str, Reading]) -> list[Sample]:
        """What the agent says of itself."""
        cpu, resident = self.machine.usage()
        own = Reading()
        own.add(host.AGENT_MONOTONIC, now)
        own.add(host.AGENT_TIME, wall)
        own.add(host.AGENT_START, self.started_s)
        own.add(host.AGENT_CPU, cpu)
        own.add(host.AGENT_MEMORY, resident)
        own.add(host.AGENT_GOODBYE, float(self.goodbye))
        own.add(host.AGENT_EVENTS, self.machine.events.sequence)
        for name, reading in readings.items():
            own.add(host.READ_SECONDS, reading.seconds, name)
            own.add(host.READ_OUTCOME, host.OUTCOMES.index(reading.outcome), name)
        return own.samples
