"""Where things stand in a TOML text: tomllib says what a file holds, and nobody where. Pure."""

import re
import tomllib
from collections.abc import Iterator
from typing import Any

_LONGEST_VALUE = 100
"""Lines of one value. Beyond, nobody is told in which line a key begins."""


def error_line(error: ValueError, text: str) -> int:
    """The line that tomllib complains of."""
    place = re.search(r"\(at line (\d+), column \d+\)", str(error))
    return int(place[1]) if place else text.count("\n") + 1


def lines_of(text: str) -> dict[str, int]:
    """The line in which each key of a TOML text begins, by its dotted path; ``text`` must be one that TOML can read.

    Nothing of TOML is read here but its borders: a line belongs to the one before until the two parse together.
    """
    found: dict[str, int] = {}
    table, start = "", 1
    pending: list[str] = []
    for number, line in enumerate(text.split("\n"), 1):
        start = start if pending else number
        pending.append(line)
        values = _parsed(pending)
        if values is None:
            continue
        header = pending[0].lstrip().startswith("[")
        pending = []
        for path in _paths(values, "" if header else table):
            found.setdefault(path, start)
            table = path if header else table
    return found


def _parsed(lines: list[str]) -> dict[str, Any] | None:
    """The values of a statement that is complete."""
    if len(lines) > _LONGEST_VALUE:
        return None
    try:
        return tomllib.loads("\n".join(lines))
    except ValueError:
        return None


def _paths(values: object, outer: str, levels: int = 4) -> Iterator[str]:
    """Every dotted path in ``values`` down to where settings may stand, outer ones first."""
    if isinstance(values, list) and outer:  # an array of tables
        values = values[0] if values else {}
    if isinstance(values, dict) and levels:
        for key, inner in values.items():
            path = f"{outer}.{key}" if outer else key
            yield path
            yield from _paths(inner, path, levels - 1)
