from __future__ import annotations

import itertools
import math
import re
from pathlib import Path

import pytest
from textual.color import Color
from textual.theme import BUILTIN_THEMES, Theme

from clawperator.themes.claw import CONTRAST, CVD_DARK, CVD_LIGHT, MONO, SEMANTIC, THEMES, defaults
from clawperator.widgets.format.roles import CURSOR, CURSOR_BLURRED, ROLES, RoleStyle
from clawperator.widgets.line_widget import style_of
from tests.support import table

TCSS = Path(__file__).parents[2] / "themes" / "console.tcss"
COLOURED = [theme for theme in THEMES if not theme.ansi]
NOT_TEXT = {
    "guide", "frame", "cursor-foreground", "cursor-background", "cursor-blurred-background", "bar-background",
    "cursor-style", "cursor-blurred-style", "match-style", "strong-style", "faint-style",
}  # fmt: skip
GROUNDS = ("background", "surface", "panel")
CVD = {
    "protan": ((0.152286, 1.052583, -0.204868), (0.114503, 0.786281, 0.099216), (-0.003882, -0.048116, 1.051998)),
    "deutan": ((0.367322, 0.860646, -0.227968), (0.280085, 0.672501, 0.047413), (-0.011820, 0.042940, 0.968881)),
    "tritan": ((1.255528, -0.076749, -0.178779), (-0.078411, 0.930809, 0.147602), (0.004733, 0.691367, 0.303900)),
}
"""Simulation of full dichromacy in linear RGB (Machado, Oliveira, Fernandes 2009)."""


def linear(value: int) -> float:
    share = value / 255
    return share / 12.92 if share <= 0.04045 else ((share + 0.055) / 1.055) ** 2.4


def luminance(colour: Color) -> float:
    red, green, blue = map(linear, colour.rgb)
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue


def contrast(one: Color, other: Color) -> float:
    dark, bright = sorted((luminance(one), luminance(other)))
    return (bright + 0.05) / (dark + 0.05)


def lab(rgb: tuple[float, float, float]) -> tuple[float, float, float]:
    red, green, blue = rgb
    x = (0.4124 * red + 0.3576 * green + 0.1805 * blue) / 0.95047
    y = 0.2126 * red + 0.7152 * green + 0.0722 * blue
    z = (0.0193 * red + 0.1192 * green + 0.9505 * blue) / 1.08883
    fx, fy, fz = (value ** (1 / 3) if value > 0.008856 else 7.787 * value + 16 / 116 for value in (x, y, z))
    return 116 * fy - 16, 500 * (fx - fy), 200 * (fy - fz)


def seen_by(kind: str, colour: Color) -> tuple[float, float, float]:
    rgb = tuple(map(linear, colour.rgb))
    mixed = (sum(weight * value for weight, value in zip(row, rgb, strict=True)) for row in CVD[kind])
    red, green, blue = (min(1.0, max(0.0, value)) for value in mixed)
    return lab((red, green, blue))


@table("theme", THEMES, ids=lambda theme: theme.name)
def test_every_theme_gives_every_semantic_variable(theme: Theme) -> None:
    assert set(SEMANTIC) <= set(theme.variables)


@pytest.mark.parametrize("theme", COLOURED, ids=lambda theme: theme.name)
def test_text_is_readable_on_every_ground(theme: Theme) -> None:
    wanted = 10.0 if theme is CONTRAST else 4.5
    grounds = [Color.parse(str(getattr(theme, name))) for name in GROUNDS]
    grounds += [Color.parse(theme.variables[name]) for name in ("cursor-blurred-background", "bar-background")]
    texts = {name: theme.variables[name] for name in SEMANTIC if name not in NOT_TEXT} | {
        "foreground": str(theme.foreground)
    }
    bad = [
        f"{name} {value} on {ground.hex}: {contrast(Color.parse(value), ground):.1f}"
        for name, value in texts.items()
        for ground in grounds
        if contrast(Color.parse(value), ground) < wanted
    ]
    assert not bad, "\n".join(bad)


def resolved(theme: Theme) -> dict[str, str]:
    return {**defaults(theme), **theme.to_color_system().generate(), **theme.variables}


PAINTED = [theme for theme in (*THEMES, *BUILTIN_THEMES.values()) if not theme.ansi]


@table("theme", PAINTED, ids=lambda theme: theme.name)
def test_the_cursor_row_is_visible_without_colour_vision(theme: Theme) -> None:
    variables = resolved(theme)
    cursor, text = (Color.parse(variables[f"cursor-{name}"]) for name in ("background", "foreground"))
    for page in GROUNDS:
        assert contrast(cursor, Color.parse(variables[page])) >= 3, page
    assert contrast(text, cursor) >= (10 if theme is CONTRAST else 4.5)


def test_the_cursor_row_of_the_themes_for_contrast_is_reverse_video() -> None:
    assert CONTRAST.variables["cursor-background"] == CONTRAST.foreground
    assert CONTRAST.variables["cursor-foreground"] == CONTRAST.background
    assert MONO.variables["cursor-style"] == "reverse"


@table("theme", [theme for theme in BUILTIN_THEMES.values() if not theme.ansi], ids=lambda theme: theme.name)
def test_textuals_own_themes_get_readable_text(theme: Theme) -> None:
    variables = resolved(theme)
    grounds = [Color.parse(variables[name]) for name in (*GROUNDS, "bar-background", "cursor-blurred-background")]
    for name in set(SEMANTIC) - NOT_TEXT | {"guide", "frame"}:  # foreground is the theme's own
        least = min(contrast(Color.parse(variables[name]), ground) for ground in grounds)
        assert least >= (3 if name in ("guide", "frame") else 4.5), f"{name} {variables[name]}: {least:.1f}"


@table("theme", [CVD_DARK, CVD_LIGHT], ids=lambda theme: theme.name)
@table("kind", CVD)
def test_states_differ_for_every_kind_of_eye(theme: Theme, kind: str) -> None:
    states = {name: Color.parse(theme.variables[name]) for name in ("state-ok", "state-warn", "state-fail", "match")}
    for (one, first), (other, second) in itertools.combinations(states.items(), 2):
        distance = math.dist(seen_by(kind, first), seen_by(kind, second))
        assert distance >= 15, f"{one} and {other}: {distance:.1f}"


def test_mono_sends_no_colour() -> None:
    assert MONO.ansi
    values = {value for name, value in MONO.variables.items() if not name.endswith("-style")}
    assert values == {"ansi_default"}


@table("theme", BUILTIN_THEMES.values(), ids=lambda theme: theme.name)
def test_textuals_own_themes_get_the_semantic_variables_too(theme: Theme) -> None:
    assert set(SEMANTIC) <= set(defaults(theme))


def test_the_stylesheet_names_no_colour() -> None:
    css = re.sub(r"/\*.*?\*/", "", TCSS.read_text(encoding="utf-8"), flags=re.DOTALL)
    values = re.findall(r"(?:color|background|border[\w-]*|tint)\s*:\s*([^;]+);", css)
    assert values
    for value in values:
        assert not re.search(r"#[0-9a-fA-F]{3,8}|rgb|hsl|ansi_", value), value


@table("theme", [*THEMES, *BUILTIN_THEMES.values()], ids=lambda theme: theme.name)
@table("look", [*ROLES.values(), CURSOR, CURSOR_BLURRED], ids=str)
def test_every_role_has_a_style_in_every_theme(theme: Theme, look: RoleStyle) -> None:
    style = style_of(look, resolved(theme))
    assert (style.color is not None) == bool(look.colour)
    assert (style.bgcolor is not None) == bool(look.background)
