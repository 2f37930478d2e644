"""Properties of the terminal: whether to start, which glyphs, which theme."""

from __future__ import annotations

import asyncio
import codecs
import signal
from collections.abc import Mapping, MutableMapping
from functools import partial
from typing import NamedTuple

REFUSAL = "the console needs a terminal; try `clawperator observe snapshot`"

WEB_DRIVER = "textual.drivers.web_driver:WebDriver"
"""The value of ``TEXTUAL_DRIVER`` in programs that textual-serve starts."""

FRAMES_PER_SECOND = "120"
"""Textual paints at 60 frames per second: a key just after a frame would wait for the next one."""


def prepare(env: MutableMapping[str, str]) -> None:
    """Set what Textual reads on import; call it before that."""
    env.setdefault("TEXTUAL_FPS", FRAMES_PER_SECOND)
    if _is_plain_xterm(env):
        env.setdefault("TEXTUAL_COLOR_SYSTEM", "truecolor")


def _is_plain_xterm(env: Mapping[str, str]) -> bool:
    """Return whether this is an xterm with 24-bit colour that TERM and COLORTERM do not announce."""
    return env.get("TERM") == "xterm" and bool(env.get("XTERM_VERSION")) and not env.get("COLORTERM")


class Look(NamedTuple):
    """How the console is drawn. ``no_colour``: only bold, dim, underline and reverse reach the terminal."""

    theme: str
    ascii: bool
    no_colour: bool


PLAIN = Look("claw-dark", ascii=False, no_colour=False)


def served(env: Mapping[str, str]) -> bool:
    """Return whether the terminal is a browser page (``console --web``)."""
    return env.get("TEXTUAL_DRIVER", "") == WEB_DRIVER


def refuses(env: Mapping[str, str], *, interactive: bool) -> bool:
    """Return whether nothing full-screen can be drawn here."""
    return not served(env) and (not interactive or env.get("TERM", "") == "dumb")


def choose_look(env: Mapping[str, str], *, theme: str | None, ascii_only: bool | None, encoding: str) -> Look:
    """Choose the theme: as asked, else mono without colours, else light or dark by ``COLORFGBG``, else dark."""
    no_colour = bool(env.get("NO_COLOR"))
    chosen = "claw-mono" if no_colour else theme or _fitting_theme(env)
    return Look(chosen, _needs_ascii(encoding) if ascii_only is None else ascii_only, no_colour)


def _fitting_theme(env: Mapping[str, str]) -> str:
    term = env.get("TERM", "")
    rich_colour = (
        env.get("COLORTERM", "") in ("truecolor", "24bit") or "256" in term or term in ("xterm-kitty", "alacritty")
    )
    few = term in ("linux", "ansi", "xterm-16color", "screen") or term.startswith("vt") or term.endswith("-mono")
    if few and not rich_colour:
        return "claw-mono"
    background = env.get("COLORFGBG", "").rpartition(";")[2]
    return "claw-light" if background in ("7", "15") else "claw-dark"


def _needs_ascii(encoding: str) -> bool:
    try:
        return codecs.lookup(encoding).name != "utf-8"
    except LookupError:
        return True


def handle_resizes_in_order() -> None:
    """Handle SIGWINCH in the running loop. Textual's handler runs anywhere: one that interrupts another reports the newer
    size first, and the older one stays.
    """
    if hasattr(signal, "SIGWINCH") and callable(handler := signal.getsignal(signal.SIGWINCH)):  # Windows has none
        asyncio.get_running_loop().add_signal_handler(signal.SIGWINCH, partial(handler, signal.SIGWINCH, None))
