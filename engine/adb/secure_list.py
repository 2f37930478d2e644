"""Colon-separated lists of components in Android's secure settings, changed without touching the entries of other apps.

Anything else between the colons (nothing, spaces, line feeds, invalid components) stays as it is, byte for byte; only
whole entries are compared (doctor.md#operator-setup).
"""

from __future__ import annotations

from clawperator.engine.adb.accessibility import full_component

ABSENT = "null"
"""What ``settings get`` prints where there is no value."""


def is_empty(text: str) -> bool:
    """Whether there is no list yet: no value, or an empty one."""
    return text in ("", ABSENT)


def entries(text: str) -> tuple[str, ...]:
    """Every entry in its order, empty ones included; none where there is no list."""
    return () if is_empty(text) else tuple(text.split(":"))


def contains(text: str, entry: str) -> bool:
    """Whether ``entry`` is one of the entries, in its full or short spelling (``package/.Class``)."""
    return any(_same(known, entry) for known in entries(text))


def appended(text: str, entry: str) -> str:
    """The list with ``entry`` behind what is there, unless it is there already."""
    if contains(text, entry):
        return text
    return entry if is_empty(text) else f"{text}:{entry}"


def without(text: str, entry: str) -> str:
    """The list without ``entry``, however often it is there."""
    return ":".join(known for known in entries(text) if not _same(known, entry))


def _same(one: str, other: str) -> bool:
    return one == other or full_component(one) == full_component(other)
