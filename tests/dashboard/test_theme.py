"""The palettes hold what they promise."""

import re
from pathlib import Path

import pytest

from dashboard import theme

ASSETS = Path(theme.__file__).parent / "assets"

TEXT_PAIRS = (
    *((text, ground) for ground in ("page", "panel", "sunken") for text in ("text", "dim", "accent")),
    *((text, ground) for ground in ("page", "panel", "sunken") for text in ("ok", "warning", "critical")),
    *((text, ground) for ground in ("warning-wash", "critical-wash") for text in ("text", "dim")),
    ("warning", "warning-wash"),
    ("critical", "critical-wash"),
)
"""(text, background) pairs that occur and must have a contrast of at least 4.5 : 1."""


def luminance(colour: str) -> float:
    """Relative luminance of `#rrggbb` as WCAG 2 defines it, 0 to 1."""
    channels = (int(colour[start : start + 2], 16) / 255 for start in (1, 3, 5))
    linear = [value / 12.92 if value <= 0.04045 else ((value + 0.055) / 1.055) ** 2.4 for value in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(front: str, back: str) -> float:
    """Contrast of two colours as WCAG 2 defines it, 1 to 21."""
    high, low = sorted((luminance(front), luminance(back)), reverse=True)
    return (high + 0.05) / (low + 0.05)


def test_both_themes_name_the_same_colours() -> None:
    assert set(theme.LIGHT) == set(theme.DARK)


def test_contrast_of_known_pairs() -> None:
    assert contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert contrast("#ffffff", "#ffffff") == pytest.approx(1.0)
    assert contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert contrast("#010101", "#000000") == pytest.approx(1.006, abs=0.001)


@pytest.mark.parametrize("name", list(theme.PALETTES))
@pytest.mark.parametrize("pair", TEXT_PAIRS, ids=" on ".join)
def test_text_can_be_read(name: str, pair: tuple[str, str]) -> None:
    palette = theme.PALETTES[name]
    assert contrast(palette[pair[0]], palette[pair[1]]) >= 4.5


@pytest.mark.parametrize("name", list(theme.PALETTES))
@pytest.mark.parametrize("line", ["decode", "prefill", "util", "net", "net-worst"])
def test_lines_stand_out_from_the_panel(name: str, line: str) -> None:
    palette = theme.PALETTES[name]
    assert contrast(palette[line], palette["panel"]) >= 3.0


def test_style_sheet_carries_both() -> None:
    sheet = theme.style_sheet()
    assert ":root{color-scheme:light;--page:#f3f5f8;" in sheet
    assert ':root[data-theme="dark"]{color-scheme:dark;--page:#0d1117;' in sheet


@pytest.mark.parametrize("sheet", sorted(ASSETS.glob("*.css")), ids=lambda path: path.name)
def test_nothing_moves_by_itself(sheet: Path) -> None:
    assert (
        re.findall(r"(?<![\w-])(?:transition|animation)[\w-]*\s*:|@keyframes|scroll-behavior", sheet.read_text()) == []
    )
