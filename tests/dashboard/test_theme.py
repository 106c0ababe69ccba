"""The palettes hold what they promise."""

import pytest

from dashboard import theme


def test_both_themes_name_the_same_colours() -> None:
    assert set(theme.LIGHT) == set(theme.DARK)


def test_contrast_of_known_pairs() -> None:
    assert theme.contrast("#000000", "#ffffff") == pytest.approx(21.0)
    assert theme.contrast("#ffffff", "#ffffff") == pytest.approx(1.0)
    assert theme.contrast("#767676", "#ffffff") == pytest.approx(4.54, abs=0.01)
    assert theme.contrast("#010101", "#000000") == pytest.approx(1.006, abs=0.001)


@pytest.mark.parametrize("name", list(theme.PALETTES))
@pytest.mark.parametrize("pair", theme.TEXT_PAIRS, ids=" on ".join)
def test_text_can_be_read(name: str, pair: tuple[str, str]) -> None:
    palette = theme.PALETTES[name]
    assert theme.contrast(palette[pair[0]], palette[pair[1]]) >= 4.5


@pytest.mark.parametrize("name", list(theme.PALETTES))
@pytest.mark.parametrize("line", ["decode", "prefill", "util", "net", "net-worst"])
def test_lines_stand_out_from_the_panel(name: str, line: str) -> None:
    palette = theme.PALETTES[name]
    assert theme.contrast(palette[line], palette["panel"]) >= 3.0


def test_style_sheet_carries_both() -> None:
    sheet = theme.style_sheet()
    assert ":root{color-scheme:light;--page:#f3f5f8;" in sheet
    assert ':root[data-mantine-color-scheme="dark"]{color-scheme:dark;--page:#0d1117;' in sheet
