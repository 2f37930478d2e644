"""Console preferences: the settings file, and the flags over it."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field, replace
from typing import TYPE_CHECKING

from clawperator.engine.config.environment import SETTLE_MS, STREAM_LINES

if TYPE_CHECKING:
    from clawperator.engine.config.settings_file import Confirm, SettingsFile


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
    file: SettingsFile | None, *, theme: str | None, ascii_only: bool, pictures: str | None, themes: str, served: bool
) -> Preferences:
    """Return the settings with the flags over them. ``served``: the terminal is a browser without graphics."""
    chosen = DEFAULTS if file is None else _chosen(file)
    drawn = pictures or chosen.pictures
    return replace(
        chosen,
        theme=theme or chosen.theme,
        ascii=True if ascii_only else chosen.ascii,
        pictures="blocks" if served and drawn in ("kitty", "sixel") else drawn,
        themes=themes,
    )


def _chosen(file: SettingsFile) -> Preferences:
    console = file.console
    return Preferences(
        theme=console.theme if console.theme != "auto" else None,
        ascii=_ASCII[console.ascii],
        pictures=console.pictures,
        mouse=console.mouse,
        confirm=console.confirm,
        bell=console.bell,
        settle_ms=console.settle_ms,
        stream_lines=console.stream_lines,
        keymap=file.keymap,
    )
