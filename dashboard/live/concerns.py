"""What somebody should look at: what is seen now, and what alerts say beside it."""

from __future__ import annotations

from dashboard.live.alarms import level_of
from dashboard.live.cells import LEVELS
from dashboard.live.problems import Problem, engine_problems, node_problems
from dashboard.live.scene import Scene


def concerns(scene: Scene) -> list[Problem]:
    """Problems of nodes and engines, then alerts that say something else."""
    found = [*node_problems(scene), *engine_problems(scene)]
    return [*found, *unspoken(scene, found)]


def unspoken(scene: Scene, found: list[Problem]) -> list[Problem]:
    """Alerts about what no problem names as gravely: nothing is said twice, and nothing grave is left out."""
    named = {problem.target: 0 for problem in found}
    for problem in found:
        named[problem.target] = max(named[problem.target], LEVELS.index(problem.level))
    told = [
        Problem(level_of(alert), alert.owner, alert.title, alert.began_ms)
        for alert in scene.alerts
        if level_of(alert) != "ok"
    ]
    return [problem for problem in told if LEVELS.index(problem.level) > named.get(problem.target, 0)]
