"""`demo`: collector and web page against a simulated cluster, in a store that is thrown away afterwards."""

from __future__ import annotations

import asyncio
import dataclasses
import json
import sys
import tempfile
import time
from contextlib import ExitStack, closing

from cli import configs, hub
from cli.supervisor import Child, Supervisor
from settings import Settings, SettingsError, without_password
from storage.errors import StoreError, StoreTaken
from storage.store import is_made, open_store, refuse_claimed

ENGINE = "head"
MADE_BY_DEMO = "made_by_demo"
"""Note in the store of a demo."""


def main(settings: Settings) -> int:
    """Run until a signal; 0 then, else the status of the child that ended it."""
    with ExitStack() as stack:
        if settings.origin.get("store") != "flag":
            # Whatever file or environment say of a real cluster, invented numbers must not get into its store.
            folder = stack.enter_context(tempfile.TemporaryDirectory(prefix="tachograph-demo-"))
            settings = dataclasses.replace(settings, store=f"sqlite:///{folder}/tachograph.db")
        claim(settings.store, round(time.time() * 1000))
        return asyncio.run(_run(settings))


def claim(url: str, now_ms: int) -> None:
    """Make the demo's store, and mark it as such. SettingsError for one that no demo made: invented numbers must not
    get among those of a real cluster. StoreTaken for that of a hub that runs."""
    refuse_claimed(url)
    configs.make_store_directory(url)
    try:
        if not is_made(url):
            with closing(open_store(url, writer=True, now_ms=now_ms)) as made:
                made.note(MADE_BY_DEMO, True)
            return
        with closing(open_store(url, writer=False, now_ms=now_ms)) as found:
            ours = bool(found.noted(MADE_BY_DEMO))
    except StoreTaken:
        raise
    except StoreError as error:
        raise _refused(url, str(error)) from error
    if not ours:
        raise _refused(url, "the demo's invented numbers must not get among those of a real cluster")


def _refused(url: str, why: str) -> SettingsError:
    return SettingsError(
        [f"store: {without_password(url)!r} is wrong, expected a new place, or a store that a demo made ({why})"]
    )


async def _run(settings: Settings) -> int:
    ready = hub.prepare(without_cluster(settings))

    async def plan(supervisor: Supervisor) -> None:
        line = await supervisor.announce(simulator(settings))
        if not line:
            return
        simulated = dataclasses.replace(ready, settings=with_cluster(ready.settings, line))
        print(f"A simulated cluster of {len(simulated.settings.nodes)} nodes is running.", flush=True)
        hub.start(supervisor, simulated)
        await hub.welcome(supervisor, simulated)

    return await Supervisor().run(plan)


def simulator(settings: Settings) -> Child:
    """The cluster that is not there; the demo ends with it."""
    flags = {"--nodes": settings.demo_nodes, "--speed": settings.demo_speed, "--seed": settings.demo_seed}
    given = (str(part) for flag in flags.items() for part in flag)
    return Child("simulator", (sys.executable, "-m", "simulator", *given), vital=True)


def without_cluster(settings: Settings) -> Settings:
    """Settings without any real target, without the tokens that belong to them, and with nobody who would be told of
    faults that nothing has."""
    return dataclasses.replace(
        settings,
        nodes={},
        engines={},
        deployments={},
        roofline={},
        node_token_file=None,
        engine_token_file=None,
        channels={},
        heartbeat={},
    )


def with_cluster(settings: Settings, line: str) -> Settings:
    """Settings for the cluster that the simulator announced: one line of JSON with all its addresses."""
    told = json.loads(line)
    return dataclasses.replace(
        settings,
        nodes=told["nodes"],
        engines={ENGINE: told["engine"]},
        roofline=told["roofline"],
        demo_control_url=told["control"],
    )
