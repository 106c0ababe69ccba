"""Routes of channels of notifications."""

from __future__ import annotations

from collections.abc import Sequence

from flask import Blueprint, Response

from dashboard.api import channel_answers as answers
from dashboard.api.routes import answer, arguments
from dashboard.sources import Sources
from pipeline.notify.destination import Shown


def register(routes: Blueprint, sources: Sources, channels: Sequence[Shown]) -> None:
    """Add `/channels`."""

    @routes.get("/channels")
    def get_channels() -> Response:
        arguments(())
        return answer(answers.listed(sources, channels))

    @routes.post("/channels/<name>/test")
    def test_channel(name: str) -> Response:
        arguments(())
        found, status = answers.try_out(sources, channels, name, answers.WAIT_S)
        return answer(found, status)
