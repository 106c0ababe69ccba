"""Child processes: started, restarted when they die, and stopped together.

A child that dies is started again after a pause that doubles up to a limit and begins anew once a child has lived a
while. Restarting cannot help one that refuses its settings (status 2): it ends everything, as does a vital child's end.
"""

from __future__ import annotations

import asyncio
import logging
import os
import signal
from collections.abc import Awaitable, Callable, Coroutine, Mapping
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from cli import lifeline

WRONG_SETTINGS = 2
ROOT = Path(__file__).parent.parent
SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)
log = logging.getLogger(__name__)


@dataclass(frozen=True, slots=True)
class Child:
    """A program to keep running. `environment` is added to ours."""

    name: str
    command: tuple[str, ...]
    environment: Mapping[str, str] = field(default_factory=dict, repr=False)
    vital: bool = False


@dataclass(frozen=True, slots=True)
class Pace:
    """Seconds: first and longest pause before a restart, life that resets it, and time to stop before the kill."""

    first: float = 0.5
    longest: float = 30.0
    steady: float = 60.0
    grace: float = 10.0

    def after(self, pause: float, lived: float) -> tuple[float, float]:
        """(pause now, pause of the next time) for a child that lived so long."""
        now = self.first if lived >= self.steady else pause
        return now, min(now * 2, self.longest)


class Supervisor:
    """Runs a plan that starts children, then waits until a signal, a vital child or refused settings end it."""

    def __init__(self, pace: Pace | None = None) -> None:
        self._pace = pace or Pace()
        self._stop = asyncio.Event()
        self._status = 0
        self._tasks: set[asyncio.Task[None]] = set()

    async def run(self, plan: Callable[[Supervisor], Awaitable[None]]) -> int:
        """Exit status: 0 after a signal, else that of the child which ended it; 1 when a child had to be killed."""
        loop = asyncio.get_running_loop()
        for number in SIGNALS:
            loop.add_signal_handler(number, self.stop)
        try:
            planned = asyncio.ensure_future(plan(self))
            await self._first_of(planned)
            if planned.done():
                planned.result()
                await self._stop.wait()
        finally:
            self._stop.set()
            planned.cancel()
            await asyncio.gather(planned, *self._tasks, return_exceptions=True)
            for number in SIGNALS:
                loop.remove_signal_handler(number)
        return self._status

    def stop(self, status: int = 0) -> None:
        """End everything; the first status that is not 0 stays."""
        self._status = self._status or status
        self._stop.set()

    def keep(self, child: Child) -> None:
        """Start a child and keep it running."""
        self._spawn(self._keep(child))

    async def announce(self, child: Child) -> str:
        """Start a vital child and return the first line it writes; later lines are dropped. "" when it ends before."""
        process = await self._start(child, asyncio.subprocess.PIPE)
        self._spawn(self._watch(child, process))
        assert process.stdout is not None
        line = await process.stdout.readline()
        self._spawn(self._drain(process.stdout))
        return line.decode("utf-8", "replace").strip()

    async def listening(self, host: str, port: int, every_s: float = 0.05) -> bool:
        """Wait until somebody accepts connections there; False when everything is stopped before."""
        while not self._stop.is_set():
            try:
                _, writer = await asyncio.open_connection(host, port)
            except OSError:
                await self._pause(every_s)
                continue
            writer.close()
            return True
        return False

    def _spawn(self, work: Coroutine[None, None, None]) -> None:
        task = asyncio.get_running_loop().create_task(work)
        self._tasks.add(task)
        task.add_done_callback(self._failed)

    def _failed(self, task: asyncio.Task[None]) -> None:
        if not task.cancelled() and (error := task.exception()) is not None:
            log.error("a child cannot be run: %s", error)
            self.stop(1)

    async def _start(self, child: Child, stdout: int | None = None) -> asyncio.subprocess.Process:
        # A session of its own: Ctrl-C reaches the supervisor alone, which then stops its children in order.
        return await asyncio.create_subprocess_exec(
            *lifeline.command(child.command),
            env={**os.environ, **child.environment},
            cwd=ROOT,
            stdout=stdout,
            stdin=asyncio.subprocess.DEVNULL,
            start_new_session=True,
        )

    async def _watch(self, child: Child, process: asyncio.subprocess.Process) -> None:
        status = await self._end_of(child, process)
        if not self._stop.is_set():
            log.error("%s ended with status %d; stopping", child.name, status)
            self.stop(status)

    async def _keep(self, child: Child) -> None:
        pause, loop = self._pace.first, asyncio.get_running_loop()
        while not self._stop.is_set():
            started = loop.time()
            status = await self._end_of(child, await self._start(child))
            if self._stop.is_set():
                return
            if child.vital or status == WRONG_SETTINGS:
                self.stop(status)
                return
            now, pause = self._pace.after(pause, loop.time() - started)
            log.warning("%s ended with status %d; starting it again in %.1f s", child.name, status, now)
            await self._pause(now)

    async def _end_of(self, child: Child, process: asyncio.subprocess.Process) -> int:
        """Wait for the end of a process, and bring it about once everything stops. Killed by signal n is 128 + n."""
        ended = asyncio.ensure_future(process.wait())
        await self._first_of(ended)
        if not ended.done():
            process.terminate()
            await asyncio.wait([ended], timeout=self._pace.grace)
        if not ended.done():
            log.error("%s did not stop within %g s and was killed", child.name, self._pace.grace)
            process.kill()
            self.stop(1)
        status = await ended
        return status if status >= 0 else 128 - status

    async def _first_of(self, work: asyncio.Future[Any]) -> None:
        """Wait until the work is done or everything stops."""
        stop = asyncio.ensure_future(self._stop.wait())
        await asyncio.wait([work, stop], return_when=asyncio.FIRST_COMPLETED)
        stop.cancel()

    async def _pause(self, seconds: float) -> None:
        try:
            await asyncio.wait_for(self._stop.wait(), seconds)
        except TimeoutError:
            pass

    async def _drain(self, stream: asyncio.StreamReader) -> None:
        """Read and drop what a child goes on writing, so that it never waits for a reader."""
        while not self._stop.is_set():
            chunk = asyncio.ensure_future(stream.read(65536))
            await self._first_of(chunk)
            if not chunk.done():
                chunk.cancel()
            elif not chunk.result():
                return
