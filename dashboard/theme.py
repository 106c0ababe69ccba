"""Colours of both themes, once: the style sheet, the canvases and the charts all read them as CSS variables.

Amber and red are reserved for what somebody must act on; the accent is blue; series colours differ in lightness and hue
so that they stay apart for colour-blind eyes; maps run over one hue of even steps.
"""

from __future__ import annotations

from collections.abc import Mapping

Palette = Mapping[str, str]

LIGHT: Palette = {
    "page": "#f3f5f8",
    "panel": "#ffffff",
    "sunken": "#eaedf2",
    "line": "#d9dee6",
    "grid": "#e6e9ef",
    "text": "#161b22",
    "dim": "#56606e",
    "accent": "#1a5fb8",
    "ok": "#1b7a4b",
    "warning": "#8a4f00",
    "critical": "#b3211b",
    "warning-wash": "#fdf0da",
    "critical-wash": "#fde7e5",
    "decode": "#1a5fb8",
    "prefill": "#a03a86",
    "util": "#0b7a75",
    "util-span": "rgba(11,122,117,0.18)",
    "net": "#1a5fb8",
    "net-worst": "#a03a86",
    "series-1": "#1a5fb8",
    "series-2": "#a03a86",
    "series-3": "#0b7a75",
    "series-4": "#a65a00",
    "series-5": "#5b4bc4",
    "series-6": "#5f7a12",
    "series-7": "#2f86a8",
    "series-8": "#6b7280",
    "map-low": "#eaf1fa",
    "map-high": "#0b3a7a",
    "map-none": "#ffffff",
    "memory-1": "#1a5fb8",
    "memory-2": "#5a93d6",
    "memory-3": "#a03a86",
    "memory-4": "#0b7a75",
    "memory-5": "#7a8594",
    "memory-6": "#b8c1cd",
    "memory-free": "#e3e7ed",
}
DARK: Palette = {
    "page": "#0d1117",
    "panel": "#151b23",
    "sunken": "#0f141b",
    "line": "#2a323d",
    "grid": "#232b36",
    "text": "#e8ecf1",
    "dim": "#98a3b1",
    "accent": "#69aefc",
    "ok": "#52c08a",
    "warning": "#f0b24a",
    "critical": "#ff8379",
    "warning-wash": "#33270f",
    "critical-wash": "#3b1a1a",
    "decode": "#69aefc",
    "prefill": "#e08fcb",
    "util": "#45c1b4",
    "util-span": "rgba(69,193,180,0.22)",
    "net": "#69aefc",
    "net-worst": "#e08fcb",
    "series-1": "#69aefc",
    "series-2": "#e08fcb",
    "series-3": "#45c1b4",
    "series-4": "#d9a066",
    "series-5": "#a99bff",
    "series-6": "#b5cc5a",
    "series-7": "#3f8fd0",
    "series-8": "#98a3b1",
    "map-low": "#16263c",
    "map-high": "#b7dbff",
    "map-none": "#151b23",
    "memory-1": "#69aefc",
    "memory-2": "#3f74b5",
    "memory-3": "#e08fcb",
    "memory-4": "#45c1b4",
    "memory-5": "#8a95a4",
    "memory-6": "#56606e",
    "memory-free": "#222a35",
}
PALETTES: Mapping[str, Palette] = {"light": LIGHT, "dark": DARK}

SCHEME_ATTRIBUTE = "data-theme"


def style_sheet() -> str:
    """The palettes as CSS variables: light unless the page's root says dark."""
    return "".join(
        f"{selector}{{color-scheme:{name};"
        + "".join(f"--{key}:{value};" for key, value in PALETTES[name].items())
        + "}"
        for selector, name in ((":root", "light"), (f':root[{SCHEME_ATTRIBUTE}="dark"]', "dark"))
    )
