"""Console preferences: the settings file, and the flags over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from clawperator.engine.config.settings_file import SETTLE_MS, STREAM_LINES, Confirm, SettingsFile


@dataclass(frozen=True, slots=True)
class Preferences:
    """``None`` and ``auto``: as fits the terminal. ``pictures`` is one of ``pictures.CHOICES``.

    ``settle_ms`` is the pause between an action and the next snapshot, ``stream_lines`` the number of log lines kept,
    ``keymap`` keys by binding id, ``themes`` the folder of the user's themes (empty: none).
    """

    theme: str | None = None
    ascii: bool | None = None
    pictures: str = "auto"
    mouse: bool = True
    confirm: Confirm = "always"
    bell: bool = False
    settle_ms: int = SETTLE_MS
    stream_lines: int = STREAM_LINES
    keymap: Mapping[str, str] = field(default_factory=dict)
    themes: str = ""


DEFAULTS = Preferences()

_ASCII = {"auto": None, "always": True, "never": False}


def resolve(
    file: SettingsFile, *, theme: str | None, ascii_only: bool, pictures: str | None, themes: str, served: bool
) -> Preferences:
    """Return ``file`` with the flags over it. ``served``: the terminal is a browser, without graphics protocols."""
    console = file.console
    drawn = pictures or console.pictures
    return Preferences(
        theme=theme or (console.theme if console.theme != "auto" else None),
        ascii=True if ascii_only else _ASCII[console.ascii],
        pictures="blocks" if served and drawn in ("kitty", "sixel") else drawn,
        mouse=console.mouse,
        confirm=console.confirm,
        bell=console.bell,
        settle_ms=console.settle_ms,
        stream_lines=console.stream_lines,
        keymap=file.keymap,
        themes=themes,
    )
