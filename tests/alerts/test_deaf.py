"""Whether anybody would be told of a rule."""

from __future__ import annotations

import pytest

from alerts.deaf import untold
from alerts.notices import Channel
from alerts.rule import Severity

OPS, NIGHT = Channel("ops"), Channel("night", Severity.CRITICAL)
OFF = Channel("off", Severity.INFO, enabled=False)


@pytest.mark.parametrize(
    ("severity", "named", "channels", "expected"),
    [
        ("warning", (), (OPS,), ""),
        ("info", (), (OPS,), "ops hears warning and graver"),
        ("info", ("ops",), (OPS, NIGHT), "ops hears warning and graver"),
        ("warning", ("night",), (OPS, NIGHT), "night hears critical"),
        ("warning", ("gone",), (OPS, NIGHT), ""),
        ("info", (), (OPS, NIGHT), "ops hears warning and graver; night hears critical"),
        ("info", ("off",), (OPS, OFF), "ops hears warning and graver"),
        ("critical", (), (), ""),
        ("info", (), (OFF,), ""),
    ],
)
def test_who_hears_of_it(severity: str, named: tuple[str, ...], channels: tuple[Channel, ...], expected: str) -> None:
    assert untold(Severity(severity), named, channels) == expected
