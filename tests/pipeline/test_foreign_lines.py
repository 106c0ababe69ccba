"""What a target says of things that it is not: dropped, so that nobody speaks for somebody else."""

from __future__ import annotations

import pytest

from pipeline.config import TargetKind
from storage.store import Store
from telemetry.catalog import engine, gpu
from tests.pipeline.stage import Stage, values

PAGE = b'vllm:num_requests_running{engine="0",model_name="m"} 3\ntachograph_gpu_power_watts{gpu="0"} 100\n'


@pytest.mark.parametrize(("kind", "running", "power"), [(TargetKind.ENGINE, [3.0], []), (TargetKind.NODE, [], [100.0])])
def test_a_target_speaks_for_its_own_kind_only(
    stage: Stage, store: Store, kind: TargetKind, running: list[float], power: list[float]
) -> None:
    async def story(stage: Stage) -> None:
        stage.body = PAGE
        await stage.tick(1)

    stage.kind = kind
    stage.play(story)
    assert (values(store, engine.REQUESTS_RUNNING), values(store, gpu.GPU_POWER)) == (running, power)
    (target,) = store.targets()
    assert target.detail["dropped_families"] == 1
