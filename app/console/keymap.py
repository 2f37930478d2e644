"""Checks the user's keys: whether the bindings and keys of the settings exist, and whether they conflict."""

from __future__ import annotations

import unicodedata
from collections.abc import Collection, Iterator, Mapping

from clawperator.engine.config.toml_lines import Problem, lines_of
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.widgets import keys

_MODIFIERS = frozenset({"ctrl", "shift", "alt", "super", "meta", "hyper"})
_PLAIN_NAMES = {"slash": "/", "backslash": "\\", "at": "@", "minus": "-", "plus": "+", "underscore": "_"}
"""Textual's names that differ from Unicode's."""
_WORDLESS = frozenset(
    ("escape", "enter", "tab", "backspace", "delete", "insert", "home", "end", "pageup", "pagedown", "up", "down", "left",
     "right", "space", *(f"f{number}" for number in range(1, 25)))
)  # fmt: skip


def problems(keymap: Mapping[str, str], text: str) -> list[Problem]:
    """Return the problems of ``[keymap]``: unknown bindings, unknown keys, conflicts.

    ``text`` is the settings file that it comes from.
    """
    if not keymap:
        return []
    known = {row.id for _, rows in keys.rows() for row in rows}
    found = [*_clashes(keymap)]
    for name, own in keymap.items():
        place = f"keymap.{shown(name)}"
        if name not in known:
            found.append(Problem(0, place, f"Unknown key binding {shown(name)}", _meant(name, known)))
        found += [Problem(0, place, f"{place}: unknown key '{shown(key)}'") for key in _split(own) if not _exists(key)]
    lines = lines_of(text)
    return sorted(problem._replace(line=lines.get(problem.key, 0)) for problem in found)


def _meant(name: str, known: Collection[str]) -> str:
    if near := suggestion(name, known):
        return near
    scopes = {binding_id.partition(".")[0] for binding_id in known}
    scope = name.partition(".")[0]
    if scope in scopes:
        return f"Known: {', '.join(sorted(one for one in known if one.startswith(f'{scope}.')))}."
    return f"Ids begin with one of: {', '.join(sorted(scopes))}."


def _clashes(keymap: Mapping[str, str]) -> Iterator[Problem]:
    """Yield keys with two meanings in one place: Textual would drop one of them silently."""
    for _, rows in keys.rows():
        taken: dict[str, str] = {}
        for row in rows:
            for key in _split(keymap.get(row.id, row.keys)):
                other = taken.setdefault(_canonical(key), row.id)
                if other != row.id:
                    mine, theirs = (row.id, other) if row.id in keymap else (other, row.id)
                    yield Problem(0, f"keymap.{mine}", f"keymap.{mine}: '{shown(key)}' belongs to {theirs} already")


def _split(text: str) -> list[str]:
    return [key.strip() for key in text.split(",")]


def _exists(key: str) -> bool:
    """Return whether a keyboard can send it: a character, by itself or by name, or a named key; with modifiers."""
    *modifiers, base = key.split("+") if key != "+" else [key]
    return _MODIFIERS.issuperset(modifiers) and (base in _WORDLESS or _character(base) != "")


def _canonical(key: str) -> str:
    """Return one spelling of a key: ``?`` for ``question_mark``."""
    return _character(key) or key


def _character(name: str) -> str:
    """Return the character that a key writes; empty for other keys."""
    try:
        found = name if len(name) == 1 else _PLAIN_NAMES.get(name) or unicodedata.lookup(name.replace("_", " "))
    except KeyError:
        return ""
    return found if found.isprintable() and not found.isspace() else ""
