"""The engine's process under the faults that end it: when it stops, loads and serves again."""

from __future__ import annotations

from simulator.conditions import Conditions, EngineState
from simulator.engine import Engine
from simulator.faults import Incident

GOODBYE_S = 5.0
"""How long an engine that was stopped by hand still answers."""
TOKENS_PER_S, LONGEST_PROMPT, LONG_ANSWER = 750, 240_000, 200
"""A long prefill lasts about as long as its fault, but its prompt has to fit the context."""
FREED_S = 4.0
"""How long it takes until a process that ended has given its memory back, and the next one finds it."""
LOADING_S = 45.0
"""How long loading takes after a stop by hand or the return of a machine."""


class ProcessPlan:
    """A short list of what happens to the process and when; `tick` carries out what is due."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self._due: list[tuple[float, str]] = []

    def change(self, now: float, before: EngineState, after: Conditions) -> None:
        """Follow a change of the faults in force."""
        cause = after.engine.cause
        if cause is not None and cause != before.cause:
            self._due = self._plan(cause)
        elif cause is None and before.cause is not None:
            stopped = before.process == "stop"
            self._due = [(now, "load"), (now + LOADING_S, "serve")] if stopped else [(now, "serve")]
        long_prompt = any(one.fault.engine.get("one_prompt") and one.start == now for one in after.incidents)
        if long_prompt:
            self._engine.ask(now, self._length(now, after), LONG_ANSWER, alone=True)

    def rebooted(self, now: float) -> None:
        """A rank is back after its machine was gone: the job has to start anew."""
        self._due = [(now, "end"), (now, "load"), (now + LOADING_S, "serve")]

    def tick(self, now: float) -> None:
        """Carry out what is due."""
        while self._due and self._due[0][0] <= now:
            _, what = self._due.pop(0)
            getattr(self._engine, what)(now)

    def _plan(self, cause: Incident) -> list[tuple[float, str]]:
        start, process = cause.start, cause.fault.engine["process"]
        length = cause.end - start
        if process == "load":
            return [(start, "end"), (start + min(FREED_S, length / 2), "load")]
        if process == "restart":
            return [(start, "end"), (start + min(length / 2, 10.0), "load")]
        return [(start, "drain"), (start + min(GOODBYE_S, length / 2), "end")]

    def _length(self, now: float, after: Conditions) -> int:
        ends = [one.end for one in after.incidents if one.fault.engine.get("one_prompt")]
        seconds = max(ends) - now
        return int(min(seconds * TOKENS_PER_S, LONGEST_PROMPT))
