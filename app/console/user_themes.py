"""The user's themes: TOML files in the config folder, read strictly and again on changes.

A theme starts from one of the console's own. An invalid file changes nothing: the old theme stays, and a notice names
file, line and reason.
"""

from __future__ import annotations

import asyncio
import re
import tomllib
from collections.abc import Callable, Collection, Iterator, Mapping
from contextlib import aclosing
from dataclasses import replace
from pathlib import Path
from typing import Any, NamedTuple

from textual.app import App
from textual.color import Color, ColorParseError
from textual.theme import BUILTIN_THEMES, Theme

from clawperator.app.console.file_watch import changes, names_in, stamp
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.files.regular import open_regular
from clawperator.themes.claw import LEAST_CONTRAST, SEMANTIC, THEMES, contrast
from clawperator.widgets.models.status import Status

MAX_BYTES = 64 * 1024
MAX_FILES = 100

_BASES = {theme.name: theme for theme in THEMES if not theme.ansi}
_KEYS = ("name", "dark", "base", "colors", "variables")
_COLOURS = (
    "primary", "secondary", "accent", "foreground", "background", "surface", "panel", "boost", "warning", "error", "success",
)  # fmt: skip
_NO_TEXTS = ("guide", "frame", "cursor-foreground")
_TEXTS = (
    "foreground",
    *(name for name in SEMANTIC if name not in _NO_TEXTS and not name.endswith(("-style", "-background"))),
)
_GROUNDS = ("background", "surface", "panel", "cursor-blurred-background", "bar-background")
_STYLES = frozenset({"none", "bold", "dim", "italic", "underline", "reverse", "strike"})
_NAME = re.compile(r"[a-z0-9][a-z0-9_-]{0,39}")


class ThemeError(ValueError):
    """Why a file is not a theme; ``key`` is the dotted place in it."""

    def __init__(self, key: str, reason: str) -> None:
        super().__init__(reason)
        self.key = key


class ThemeFile(NamedTuple):
    """The result of one file: a theme or none, and remarks."""

    theme: Theme | None
    remarks: tuple[str, ...] = ()


class UserThemes:
    """The themes of one folder. ``apply`` gets every changed theme while ``watch`` runs, ``notify`` every remark."""

    def __init__(self, folder: Path, apply: Callable[[Theme], object], notify: Callable[[Status, str], object]) -> None:
        self._folder = folder
        self._apply = apply
        self._notify = notify
        self._seen: dict[str, tuple[int, ...]] = {}
        self._owners: dict[str, str] = {}

    def load(self) -> list[Theme]:
        """Return every theme of the folder."""
        return [theme for theme, _ in self._announced(self._changes())]

    async def watch(self) -> None:
        """Apply changes until cancelled."""
        try:
            async with aclosing(changes(lambda: [str(self._folder)], self._files, seen=self._seen)) as changed:
                async for _ in changed:
                    await self._catch_up()
        except OSError as exc:
            self._notify(Status.WARN, f"Changes of themes are no longer detected: {exc}")

    async def _catch_up(self) -> None:
        for theme, file in self._announced(await asyncio.to_thread(self._changes)):
            self._apply(theme)
            self._notify(Status.OK, f"Theme {theme.name} was read again from {file}")

    def _announced(self, found: Mapping[str, ThemeFile]) -> Iterator[tuple[Theme, str]]:
        for file, (theme, remarks) in found.items():
            for remark in remarks:
                self._notify(Status.WARN, remark)
            if theme is not None:
                yield theme, file

    def _changes(self) -> dict[str, ThemeFile]:
        """Read the files that are new or changed."""
        found: dict[str, ThemeFile] = {}
        now = self._files()
        for file in [file for file, sign in now.items() if self._seen.get(file) != sign]:
            others = {name for name, owner in self._owners.items() if owner != file and owner in now}
            found[file] = read_theme(self._folder / file, others)
            if (theme := found[file].theme) is not None:
                self._owners[theme.name] = file
        self._seen = now
        return found

    def _files(self) -> dict[str, tuple[int, ...]]:
        """Return the files that may be themes, each with what changes when it changes."""
        names = [name for name in names_in(self._folder) if name.endswith(".toml")]
        return {name: sign for name in names[:MAX_FILES] if (sign := stamp(self._folder / name))}


def theme_exists(name: str, folder: Path) -> bool:
    """Return whether the console knows a theme called ``name``."""
    own = UserThemes(folder, lambda _: None, lambda _, __: None).load()
    return name in BUILTIN_THEMES or any(theme.name == name for theme in (*THEMES, *own))


def apply_theme(app: App[Any], theme: Theme) -> None:
    """Register ``theme`` with ``app``; redraw where it is the current one."""
    app.register_theme(theme)
    if app.theme == theme.name:
        app.mutate_reactive(App.theme)


# -- one file


def read_theme(path: Path, taken: Collection[str] = ()) -> ThemeFile:
    """Read a theme from a file; ``taken`` are names that it may not have."""
    from clawperator.engine.config.toml_lines import error_line, lines_of

    text = ""
    try:
        text = _text(path)
        values = tomllib.loads(text)
        theme = theme_of(values, path.stem, taken)
        hard = "; ".join(faint(theme))
        return ThemeFile(
            theme, (f"{path.name}: hard to read (contrast below {LEAST_CONTRAST}): {hard}",) if hard else ()
        )
    except ThemeError as exc:
        line = lines_of(text).get(exc.key, 0)
        return ThemeFile(None, (f"{path.name}:{line}: {exc}" if line else f"{path.name}: {exc}",))
    except tomllib.TOMLDecodeError as exc:
        return ThemeFile(None, (f"{path.name}:{error_line(exc, text)}: invalid TOML: {exc}",))
    except (OSError, ValueError, RecursionError) as exc:
        return ThemeFile(None, (f"{path.name}: {getattr(exc, 'strerror', None) or exc}",))


def _text(path: Path) -> str:
    with open_regular(str(path)) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ThemeError("", f"A theme has no more than {MAX_BYTES:,} bytes")
    return data.decode("utf-8-sig").replace("\r\n", "\n")


def theme_of(values: Mapping[str, Any], name: str, taken: Collection[str]) -> Theme:
    """Build a theme from ``values``, called ``name`` unless they say otherwise. Raises ``ThemeError``."""
    for key in values:
        if key not in _KEYS:
            raise ThemeError(key, _no_such("key", key, _KEYS))
    name = _typed(values, "name", str, name)
    if not _NAME.fullmatch(name):
        raise ThemeError("name", f"A theme is called by a-z, 0-9, _ and -, not {shown(repr(name))}")
    if name in BUILTIN_THEMES or any(theme.name == name for theme in THEMES):
        raise ThemeError("name", f"{name} is a theme of the console's own: choose another name")
    if name in taken:
        raise ThemeError("name", f"Another file describes a theme called {name} already")
    dark = _typed(values, "dark", bool, None)
    base = _typed(values, "base", str, "claw-light" if dark is False else "claw-dark")
    if base not in _BASES:
        raise ThemeError("base", _no_such("base", base, _BASES))
    start = _BASES[base]
    colours = _table(values, "colors", _COLOURS, _colour)
    variables = _table(values, "variables", SEMANTIC, _variable)
    return replace(
        start,
        name=name,
        dark=start.dark if dark is None else dark,
        variables={**start.variables, **variables},
        **colours,
    )


def _typed(values: Mapping[str, Any], key: str, kind: type, default: Any) -> Any:
    value = values.get(key, default)
    if value is not default and not isinstance(value, kind):
        wanted = {str: "a text in quotes", bool: "true or false", dict: "a table"}[kind]
        raise ThemeError(key, f"{key} must be {wanted}, got {shown(repr(value))}")
    return value


def _table(
    values: Mapping[str, Any], table: str, known: tuple[str, ...], check: Callable[[str, str], str]
) -> dict[str, Any]:
    """Return the entries of a table, each checked."""
    found: dict[str, str] = {}
    for key, value in _typed(values, table, dict, {}).items():
        place = f"{table}.{key}"
        if key not in known:
            raise ThemeError(place, _no_such("colour" if table == "colors" else "variable", key, known))
        if not isinstance(value, str) or len(value) > 64:
            raise ThemeError(place, f"{key} must be a short text in quotes, got {shown(repr(value))}")
        try:
            found[key] = check(key, value)
        except ValueError as exc:
            raise ThemeError(place, f"{key}: {exc}") from exc
    return found


def _no_such(kind: str, name: str, known: Mapping[str, Any] | tuple[str, ...]) -> str:
    meant = suggestion(name, known) or f"Known: {', '.join(known)}."
    return f"Unknown {kind} {shown(repr(name))}. {meant}"


def _variable(name: str, value: str) -> str:
    if not name.endswith("-style"):
        return _colour(name, value)
    words = value.split()
    if not words or not _STYLES.issuperset(words):
        raise ValueError(f"a style is made of {', '.join(sorted(_STYLES))}, not {shown(repr(value))}")
    return " ".join(words)


def _colour(_name: str, value: str) -> str:
    """Return an opaque colour that is the same on every terminal."""
    try:
        colour = Color.parse(value)
    except ColorParseError:
        raise ValueError(f"{shown(repr(value))} is not a colour; write it as #rrggbb") from None
    if colour.ansi is not None or colour.a != 1:
        raise ValueError(f"{shown(repr(value))} must be a plain colour; write it as #rrggbb")
    return colour.hex


def faint(theme: Theme) -> Iterator[str]:
    """Yield texts with too little contrast."""
    variables = {**theme.to_color_system().generate(), **theme.variables}
    grounds = {name: Color.parse(variables[name]) for name in _GROUNDS}
    cursor = {"cursor-background": Color.parse(variables["cursor-background"])}
    for name in (*_TEXTS, "cursor-foreground"):
        colour, behind = Color.parse(variables[name]), cursor if name == "cursor-foreground" else grounds
        ratio, ground = min((contrast(colour, other), place) for place, other in behind.items())
        if ratio < LEAST_CONTRAST:
            yield f"{name} on {ground} {ratio:.1f}"
