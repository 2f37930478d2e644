"""The console's themes: colours of the semantic variables that widgets use.

States have a glyph and a word, so a theme only has to be readable: text has at least 4.5:1 against its background (10:1
in ``claw-contrast``), the cursor row 3:1 against the page; the ``cvd`` themes are distinct for protan, deutan and tritan
vision. Tests measure all three.
"""

from __future__ import annotations

from collections.abc import Sequence

from textual.color import Color
from textual.theme import Theme

LEAST_CONTRAST = 4.5
"""Of text on its background: WCAG 2, level AA."""
LEAST_CONTRAST_OF_SHAPES = 3.0
"""Of the cursor row on the page, and of guides and frames: WCAG 2.1, non-text contrast."""

SEMANTIC = (
    "text-quiet",
    "text-faint",
    "key",
    "state-ok",
    "state-warn",
    "state-fail",
    "state-run",
    "state-idle",
    "diff-added",
    "diff-changed",
    "diff-removed",
    "diff-moved",
    "match",
    "match-current",
    "node-class",
    "node-id",
    "node-text",
    "node-desc",
    "stale",
    "guide",
    "frame",
    "frame-focus",
    "cursor-foreground",
    "cursor-background",
    "cursor-blurred-background",
    "cursor-style",
    "cursor-blurred-style",
    "match-style",
    "strong-style",
    "faint-style",
    "bar-background",
)
"""Variables used by the widgets' styles beside Textual's."""


def _variables(**values: str) -> dict[str, str]:
    """Return theme variables; text styles default to those of a colour terminal."""
    styles = {
        "cursor_style": "none",
        "cursor_blurred_style": "none",
        "match_style": "bold",
        "strong_style": "bold",
        "faint_style": "none",
    }
    return {name.replace("_", "-"): value for name, value in {**styles, **values}.items()}


def _shared(colours: dict[str, str]) -> dict[str, str]:
    """Return the colours with derived ones for change marks and staleness."""
    derived = {
        "state-idle": colours["text-quiet"],
        "diff-added": colours["state-ok"],
        "diff-changed": colours["state-warn"],
        "diff-removed": colours["state-fail"],
        "diff-moved": colours["state-run"],
        "stale": colours["state-warn"],
        "key": colours["frame-focus"],
        "block-cursor-background": colours["cursor-background"],
        "block-cursor-foreground": colours["cursor-foreground"],
        "input-cursor-background": colours["frame-focus"],
        "footer-background": colours["bar-background"],
    }
    return {**derived, **colours}


DARK = Theme(
    name="claw-dark",
    dark=True,
    primary="#5fb3f3",
    secondary="#8fa1b8",
    accent="#5fb3f3",
    foreground="#d3dae3",
    background="#11151a",
    surface="#11151a",
    panel="#1a2028",
    warning="#e3b341",
    error="#ff8078",
    success="#6fcf97",
    variables=_shared(
        _variables(
            text_quiet="#95a1b0",
            text_faint="#8c98a8",
            state_ok="#6fcf97",
            state_warn="#e3b341",
            state_fail="#ff8a82",
            state_run="#6cb8ff",
            match="#d9a9ff",
            match_current="#efd6ff",
            node_class="#aab6c5",
            node_id="#7cc0f5",
            node_text="#f2f5f8",
            node_desc="#c3b5fd",
            guide="#2e3845",
            frame="#2b3541",
            frame_focus="#5fb3f3",
            cursor_foreground="#ffffff",
            cursor_background="#3573ab",
            cursor_blurred_background="#1d252f",
            bar_background="#161b21",
        )
    ),
)

LIGHT = Theme(
    name="claw-light",
    dark=False,
    primary="#0a5fae",
    secondary="#4a5868",
    accent="#0a5fae",
    foreground="#1c2630",
    background="#fbfcfd",
    surface="#fbfcfd",
    panel="#eef2f6",
    warning="#7a5300",
    error="#a8201a",
    success="#116b37",
    variables=_shared(
        _variables(
            text_quiet="#4d5a68",
            text_faint="#58626e",
            state_ok="#116b37",
            state_warn="#744e00",
            state_fail="#a8201a",
            state_run="#0a5494",
            match="#7a2f9e",
            match_current="#5e1580",
            node_class="#46535f",
            node_id="#0a5494",
            node_text="#0c1117",
            node_desc="#5b3fa8",
            guide="#d3dbe3",
            frame="#c3cdd8",
            frame_focus="#0a5fae",
            cursor_foreground="#ffffff",
            cursor_background="#2f6fb0",
            cursor_blurred_background="#e8eef4",
            bar_background="#eef2f6",
        )
    ),
)

CONTRAST = Theme(
    name="claw-contrast",
    dark=True,
    primary="#ffffff",
    secondary="#e6e6e6",
    accent="#ffffff",
    foreground="#ffffff",
    background="#000000",
    surface="#000000",
    panel="#000000",
    warning="#ffd75f",
    error="#ffb3ae",
    success="#8dffb0",
    variables=_shared(
        _variables(
            text_quiet="#e0e0e0",
            text_faint="#d8d8d8",
            state_ok="#8dffb0",
            state_warn="#ffd75f",
            state_fail="#ffc9c5",
            state_run="#a8dcff",
            match="#f0ccff",
            match_current="#ffe6ff",
            node_class="#e0e0e0",
            node_id="#a8dcff",
            node_text="#ffffff",
            node_desc="#ded2ff",
            guide="#5c5c5c",
            frame="#8a8a8a",
            frame_focus="#ffffff",
            cursor_foreground="#000000",
            cursor_background="#ffffff",
            cursor_blurred_background="#161616",
            bar_background="#000000",
            cursor_style="bold",
        )
    ),
)

CVD_DARK = Theme(
    name="claw-cvd-dark",
    dark=True,
    primary="#4cc2ff",
    secondary="#8fa1b8",
    accent="#4cc2ff",
    foreground="#d3dae3",
    background="#14161a",
    surface="#14161a",
    panel="#1c2026",
    warning="#f0e442",
    error="#ff8a3d",
    success="#4cc2ff",
    variables=_shared(
        _variables(
            text_quiet="#9aa5b3",
            text_faint="#8d98a6",
            state_ok="#4cc2ff",
            state_warn="#f0e442",
            state_fail="#ff8a3d",
            state_run="#c9d6e6",
            match="#d98fc4",
            match_current="#f2c8e6",
            node_class="#aab6c5",
            node_id="#8fc7e8",
            node_text="#f2f5f8",
            node_desc="#d6c7e8",
            guide="#2f3742",
            frame="#2d3540",
            frame_focus="#4cc2ff",
            cursor_foreground="#ffffff",
            cursor_background="#3573ab",
            cursor_blurred_background="#1f252c",
            bar_background="#191c21",
        )
    ),
)

CVD_LIGHT = Theme(
    name="claw-cvd-light",
    dark=False,
    primary="#0060c0",
    secondary="#4a5868",
    accent="#0060c0",
    foreground="#1c2630",
    background="#ffffff",
    surface="#ffffff",
    panel="#f2f5f8",
    warning="#8a6d00",
    error="#7a0019",
    success="#0060c0",
    variables=_shared(
        _variables(
            text_quiet="#4d5a68",
            text_faint="#5c6773",
            state_ok="#0060c0",
            state_warn="#7d6200",
            state_fail="#7a0019",
            state_run="#3a4a5c",
            match="#a0307c",
            match_current="#7d1f5f",
            node_class="#46535f",
            node_id="#0a5494",
            node_text="#0c1117",
            node_desc="#5b3fa8",
            guide="#d3dbe3",
            frame="#c3cdd8",
            frame_focus="#0060c0",
            cursor_foreground="#ffffff",
            cursor_background="#2f6fb0",
            cursor_blurred_background="#ebf0f5",
            bar_background="#f2f5f8",
        )
    ),
)

_DEFAULT = "ansi_default"

MONO = Theme(
    name="claw-mono",
    dark=True,
    ansi=True,
    primary=_DEFAULT,
    secondary=_DEFAULT,
    accent=_DEFAULT,
    foreground=_DEFAULT,
    background=_DEFAULT,
    surface=_DEFAULT,
    panel=_DEFAULT,
    boost=_DEFAULT,
    warning=_DEFAULT,
    error=_DEFAULT,
    success=_DEFAULT,
    variables={
        **dict.fromkeys(SEMANTIC, _DEFAULT),
        "cursor-style": "reverse",
        "cursor-blurred-style": "underline",
        "match-style": "bold underline",
        "strong-style": "bold",
        "faint-style": "dim",
        "block-cursor-background": _DEFAULT,
        "block-cursor-foreground": _DEFAULT,
        "block-cursor-text-style": "reverse",
        "input-cursor-background": _DEFAULT,
        "input-cursor-foreground": _DEFAULT,
        "input-cursor-text-style": "reverse",
        "input-selection-background": _DEFAULT,
        "input-selection-foreground": _DEFAULT,
        "screen-selection-background": _DEFAULT,
        "screen-selection-foreground": _DEFAULT,
        "border": _DEFAULT,
        "border-blurred": _DEFAULT,
        "scrollbar": _DEFAULT,
        "scrollbar-hover": _DEFAULT,
        "scrollbar-active": _DEFAULT,
        "scrollbar-background": _DEFAULT,
        "scrollbar-background-hover": _DEFAULT,
        "scrollbar-background-active": _DEFAULT,
        "footer-key-foreground": _DEFAULT,
        "link-color": _DEFAULT,
        "link-background-hover": _DEFAULT,
        "ansi-background": _DEFAULT,
        "ansi-foreground": _DEFAULT,
    },
)

THEMES: tuple[Theme, ...] = (DARK, LIGHT, CONTRAST, CVD_DARK, CVD_LIGHT, MONO)


def defaults(theme: Theme) -> dict[str, str]:
    """Return semantic variables for a theme of Textual's: ours, as far from its backgrounds as they need to be."""
    if theme.ansi:
        return {**MONO.variables, "state-fail": "ansi_red", "state-ok": "ansi_green", "state-warn": "ansi_yellow"}
    if theme.variables.keys() >= set(SEMANTIC):
        return {}
    generated, base = theme.to_color_system().generate(), DARK if theme.dark else LIGHT
    found = {**base.variables, "frame-focus": theme.primary, "key": theme.accent or theme.primary}
    found["bar-background"] = found["cursor-blurred-background"] = generated["panel"]
    grounds = [Color.parse(generated[name]) for name in ("background", "surface", "panel")]
    for name in SEMANTIC:
        if name in ("guide", "frame", "cursor-background"):
            found[name] = apart(found[name], grounds, LEAST_CONTRAST_OF_SHAPES)
        elif not name.endswith(("-style", "-background")):
            found[name] = apart(found[name], grounds, LEAST_CONTRAST)
    cursor = Color.parse(found["cursor-background"])
    found["cursor-foreground"] = apart(found["cursor-foreground"], [cursor], LEAST_CONTRAST)
    return found


def apart(colour: str, grounds: Sequence[Color], least: float) -> str:
    """Return ``colour``, blended with black or white until its contrast with every one of ``grounds`` is ``least``."""
    ends = (Color.parse("#ffffff"), Color.parse("#000000"))
    end = max(ends, key=lambda candidate: min(contrast(candidate, ground) for ground in grounds))
    blends = (Color.parse(colour).blend(end, share / 20) for share in range(21))
    good = (blend for blend in blends if min(contrast(blend, ground) for ground in grounds) >= least)
    return next(good, end).hex


def contrast(one: Color, other: Color) -> float:
    """Return the contrast by WCAG 2, from 1 to 21."""
    light, dark = sorted((_luminance(one), _luminance(other)), reverse=True)
    return (light + 0.05) / (dark + 0.05)


def _luminance(colour: Color) -> float:
    red, green, blue = (
        part / 12.92 if part <= 0.04045 else ((part + 0.055) / 1.055) ** 2.4 for part in colour.normalized
    )
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
