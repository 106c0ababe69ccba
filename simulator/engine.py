"""The imaginary engine: continuous batching with chunked prefill and speculative decoding, step by step.

Its counters move as vLLM's do: only when a step ends; prompt tokens at the first token of their request; gauges as they
were after the last step. An event is the end of a step or, when nothing runs, the next arrival.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import Enum

from simulator.draws import stream
from simulator.ledger import Ledger
from simulator.pace import PREFILL_CHUNK, Pace, accepted
from simulator.requests import BLOCK, Arrivals, Request
from simulator.tally import DRAFT_TOKENS, KV_TOKENS, Tally
from simulator.timeline import Activity, Timeline

SEATS = 8
"""Requests that run at once; the others wait."""
KV_BLOCKS = KV_TOKENS // BLOCK
DECODE_BYTES_PER_TOKEN = 5.0e6
PREFILL_BYTES_PER_TOKEN = 8.0e6
"""What each node sends over the fabric for one token that goes through the model."""
NEVER = float("inf")


class Life(Enum):
    """Where the engine's process is."""

    STOPPED = "stopped"
    LOADING = "loading"
    STOPPING = "stopping"
    SERVING = "serving"


@dataclass(frozen=True)
class Step:
    """A step under way: who decodes, whose prompt is computed, and how much of it."""

    began: float
    ends: float
    decoding: tuple[Request, ...]
    prefilling: Request | None
    chunk: int


class Engine:
    """One engine on all nodes; `advance_to_event` is called at `next_event`, the others at any later instant."""

    def __init__(self, seed: int, start: float) -> None:
        self.arrivals = Arrivals(seed, start)
        self.pace = Pace(stream(seed, "steps"))
        self.timeline = Timeline(start, Activity.READY)
        self.ledger = Ledger()
        self.tally = Tally(start)
        self.life = Life.SERVING
        self.lives = 1
        self.load_tokens = 0
        self._running: list[Request] = []
        self._waiting: list[Request] = []
        self._step: Step | None = None
        self._hangs = False
        self._frozen_s: float | None = None
        self._load: Request | None = None

    @property
    def next_event(self) -> float:
        """When the engine acts next by itself."""
        if self._frozen_s is not None or self._stuck or self.life is not Life.SERVING:
            return NEVER
        return self._step.ends if self._step else self.arrivals.next.arrived

    @property
    def _stuck(self) -> bool:
        return self._hangs and self._step is None and self.tally.running > 0

    def act(self) -> None:
        """Do what is due at `next_event`."""
        now = self.next_event
        if self._step:
            self._finish(self._step)
        self._plan(now)

    def hang(self, now: float, hangs: bool) -> None:
        """Collectives stop ending, or end again. It shows only once the gauge says that something runs."""
        self._hangs = hangs
        if self.life is not Life.SERVING:
            return
        if hangs and self._step and self.tally.running > 0 and self._frozen_s is None:
            self._frozen_s = max(self._step.ends - now, 0.0)
            self.timeline.switch(now, Activity.STALL)
        elif not hangs and self._frozen_s is not None and self._step:
            step = self._step
            self._step = Step(step.began, now + self._frozen_s, step.decoding, step.prefilling, step.chunk)
            self._frozen_s = None
            self.timeline.switch(now, *self._activity(self._step))
        elif not hangs and self._step is None and self.tally.running > 0:
            self._plan(now)

    def ask(self, now: float, prompt: int, answer: int, alone: bool = False) -> None:
        """One more request, with a prompt of so many tokens of which none is cached; `alone` stops all decoding."""
        if self.life is Life.SERVING:
            request = self.arrivals.extra(now, prompt, answer)
            request.alone = alone
            self._waiting.append(request)
            if self._step is None and not self._stuck:
                self._plan(now)

    def offer_load(self, now: float, tokens: int) -> None:
        """Keep one long prompt of so many tokens in work; 0 to withdraw it with the step under way."""
        self.load_tokens = tokens
        if tokens and self.life is Life.SERVING and self._step is None and not self._stuck:
            self._plan(now)

    def drain(self, now: float) -> None:
        """A stop by hand: everything under way is aborted, the process still answers."""
        self.tally.finished["abort"] += len(self._running) + len(self._waiting)
        self._abort()
        self._gauges()
        self.life = Life.STOPPING
        self.timeline.switch(now, Activity.READY)

    def end(self, now: float) -> None:
        """The process is gone, and with it everything it counted."""
        self._abort()
        self.life = Life.STOPPED
        self.timeline.switch(now, Activity.ABSENT)

    def load(self, now: float) -> None:
        """A new process reads the weights; it does not answer yet."""
        self.life = Life.LOADING
        self.timeline.switch(now, Activity.LOADING)

    def serve(self, now: float) -> None:
        """The new process answers; requests that came while there was none are lost to their users."""
        self.life = Life.SERVING
        self.lives += 1
        self.tally = Tally(now)
        while self.arrivals.next.arrived < now:
            self.arrivals.take()
        self.timeline.switch(now, Activity.READY)
        self._plan(now)

    def _abort(self) -> None:
        self.ledger.totals.aborted += len(self._running) + len(self._waiting)
        self._running, self._waiting, self._step, self._frozen_s, self._load = [], [], None, None, None

    def _plan(self, now: float) -> None:
        """Admit who has come, and begin a step if there is work."""
        while self.arrivals.next.arrived <= now:
            self._waiting.append(self.arrivals.take())
        self._withdraw()
        if self.load_tokens and self._load not in self._running and self._load not in self._waiting:
            self._load = self.arrivals.extra(now, self.load_tokens, 24)
            self._waiting.append(self._load)
        while self._waiting and self._fits(self._waiting[0]):
            self._admit(self._waiting.pop(0), now)
        if self._running and not self._stuck_after_step():
            self._step = self._begin(now)
            self.timeline.switch(now, *self._activity(self._step))
        else:
            self._step = None
            self.timeline.switch(now, Activity.STALL if self._running else Activity.READY)

    def _fits(self, request: Request) -> bool:
        """Whether there is a seat, and room in the KV cache for all that a request may come to."""
        taken = sum(one.prompt + one.answer for one in self._running)
        return len(self._running) < SEATS and taken + request.prompt + request.answer <= KV_TOKENS

    def _withdraw(self) -> None:
        """Abort the long prompt that is no longer wanted."""
        for queue in (self._running, self._waiting):
            if not self.load_tokens and self._load is not None and self._load in queue:
                queue.remove(self._load)
                self.tally.finished["abort"] += 1
                self.ledger.totals.aborted += 1
                self._load = None

    def _stuck_after_step(self) -> bool:
        return self._hangs and self.tally.running > 0

    def _admit(self, request: Request, now: float) -> None:
        request.admitted = now
        self._running.append(request)
        self.tally.queries += request.prompt
        self.tally.hits += request.cached

    def _begin(self, now: float) -> Step:
        decoding = tuple(request for request in self._running if request.first_token is not None)
        prefilling = next((request for request in self._running if request.first_token is None), None)
        if prefilling and prefilling.alone:
            decoding = ()
        chunk = min(PREFILL_CHUNK, prefilling.to_compute - prefilling.computed) if prefilling else 0
        return Step(now, now + self.pace.step_s(len(decoding), chunk), decoding, prefilling, chunk)

    def _activity(self, step: Step) -> tuple[Activity, float]:
        tokens = len(step.decoding) * (DRAFT_TOKENS + 1) * DECODE_BYTES_PER_TOKEN + step.chunk * PREFILL_BYTES_PER_TOKEN
        kind = Activity.PREFILL if step.prefilling else Activity.DECODE
        return kind, tokens / max(step.ends - step.began, 1e-3)

    def _finish(self, step: Step) -> None:
        generated = sum(self._decode(request, step) for request in step.decoding)
        prompt = self._prefill(step) if step.prefilling else 0
        generated += 1 if prompt else 0
        if generated:
            self.tally.observe("iteration_tokens_total", generated + prompt)
            self.ledger.steps.append((step.ends, self.ledger.totals.generated))
        self._running = [request for request in self._running if request.generated < request.answer]
        self._step = None
        self._gauges()

    def _decode(self, request: Request, step: Step) -> int:
        survivors = accepted(request, step.ends - request.last_token)
        tokens = min(survivors + 1, request.answer - request.generated)
        tally, totals = self.tally, self.ledger.totals
        tally.drafts += 1
        tally.accepted += survivors
        totals.drafts += 1
        totals.accepted += survivors
        for position in range(survivors):
            tally.by_position[position] += 1
        self._observe("inter_token_latency_seconds", step.ends - request.last_token)
        self._generate(request, tokens, step.ends)
        return tokens

    def _prefill(self, step: Step) -> int:
        """Computed prompt tokens of the request whose prefill this step finished, 0 when there is none."""
        request = step.prefilling
        assert request is not None
        request.computed += step.chunk
        if request.computed < request.to_compute:
            return 0
        for counts in (self.tally, self.ledger.totals):
            counts.prompt += request.prompt
            counts.computed += request.computed
            counts.cached += request.cached
        request.first_token = request.last_token = step.ends
        self._observe("time_to_first_token_seconds", step.ends - request.arrived)
        self._generate(request, 1, step.ends)
        self.ledger.episodes.append(
            {
                "request": request.number,
                "arrived": round(request.arrived, 6),
                "admitted": round(request.admitted, 6),
                "first_token": round(step.ends, 6),
                "prompt": request.prompt,
                "computed": request.computed,
                "cached": request.cached,
            }
        )
        return request.computed

    def _generate(self, request: Request, tokens: int, now: float) -> None:
        request.generated += tokens
        request.last_token = now
        self.tally.generated += tokens
        self.ledger.totals.generated += tokens
        if request.generated >= request.answer:
            self._complete(request, now)

    def _complete(self, request: Request, now: float) -> None:
        assert request.first_token is not None
        reason = "length" if request.number % 4 == 0 else "stop"
        self.tally.finished[reason] += 1
        self.ledger.totals.finished += 1
        decode_s = now - request.first_token
        self._observe("e2e_request_latency_seconds", now - request.arrived)
        if request.generated > 1:
            self._observe("request_time_per_output_token_seconds", decode_s / (request.generated - 1))
        for name, value in (
            ("request_queue_time_seconds", request.admitted - request.arrived),
            ("request_inference_time_seconds", now - request.admitted),
            ("request_prefill_time_seconds", request.first_token - request.admitted),
            ("request_decode_time_seconds", decode_s),
            ("request_prompt_tokens", request.prompt),
            ("request_generation_tokens", request.generated),
            ("request_prefill_kv_computed_tokens", request.computed),
            ("request_max_num_generation_tokens", request.answer),
            ("request_params_n", 1),
            ("request_params_max_tokens", request.answer),
            ("request_num_preemptions", 0),
        ):
            self.tally.observe(name, value)

    def _observe(self, name: str, value: float) -> None:
        self.tally.observe(name, value)
        self.ledger.observe(name, value)

    def _gauges(self) -> None:
        self.tally.running, self.tally.waiting = len(self._running), len(self._waiting)
        blocks = sum(-(-request.tokens // BLOCK) for request in self._running)
        self.tally.kv_usage = min(blocks / (KV_BLOCKS - 1), 1.0)
