"""What kind of terminal this is, and what follows from it: whether to start, which glyphs, which theme."""

from __future__ import annotations

import codecs
from collections.abc import Mapping, MutableMapping
from typing import NamedTuple

REFUSAL = "the console needs a terminal; try `clawperator observe snapshot`"

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""What textual-serve makes ``TEXTUAL_DRIVER`` of the programs that it starts."""

FRAMES_PER_SECOND = "120"
"""At most. Textual paints on a grid of 60 a second: a key that comes just after a frame would wait for the next one."""


def prepare(env: MutableMapping[str, str]) -> None:
    """What Textual reads when it is imported; to be called before that."""
    env.setdefault("TEXTUAL_FPS", FRAMES_PER_SECOND)
    if _is_plain_xterm(env):
        env.setdefault("TEXTUAL_COLOR_SYSTEM", "truecolor")


def _is_plain_xterm(env: Mapping[str, str]) -> bool:
    """Whether this is an xterm that would get 16 colours: it takes 24 bits, but says so in none of TERM and COLORTERM."""
    return env.get("TERM") == "xterm" and bool(env.get("XTERM_VERSION")) and not env.get("COLORTERM")


class Look(NamedTuple):
    """How the console is drawn. ``no_colour``: only bold, dim, underline and reverse reach the terminal."""

    theme: str
    ascii: bool
    no_colour: bool


PLAIN = Look("claw-dark", ascii=False, no_colour=False)


def served(env: Mapping[str, str]) -> bool:
    """Whether a browser's page is the terminal (``console --web``): then there is no other one."""
    return env.get("TEXTUAL_DRIVER", "") == WEB_DRIVER


def refuses(env: Mapping[str, str], *, interactive: bool) -> bool:
    """Whether nothing full-screen can be drawn here."""
    return not served(env) and (not interactive or env.get("TERM", "") == "dumb")


def choose_look(env: Mapping[str, str], *, theme: str | None, ascii_only: bool | None, encoding: str) -> Look:
    """Theme: as asked, else mono where colour is unwanted or scarce, else light or dark by ``COLORFGBG``, else dark."""
    no_colour = bool(env.get("NO_COLOR"))
    chosen = "claw-mono" if no_colour else theme or _fitting_theme(env)
    return Look(chosen, _needs_ascii(encoding) if ascii_only is None else ascii_only, no_colour)


def _fitting_theme(env: Mapping[str, str]) -> str:
    term = env.get("TERM", "")
    rich_colour = (
        env.get("COLORTERM", "") in ("truecolor", "24bit") or "256" in term or term in ("xterm-kitty", "alacritty")
    )
    if term and not rich_colour and term in ("linux", "vt100", "vt220", "ansi", "xterm-16color", "screen"):
        return "claw-mono"
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return "claw-light" if background in ("7", "15") else "claw-dark"


def _needs_ascii(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name != "utf-8"
    except LookupError:
        return True
