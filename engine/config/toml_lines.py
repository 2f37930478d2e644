"""TOML files of the configuration: reading, validation by a model, and the line of each problem."""

import re
import tomllib
from collections.abc import Callable, Iterator
from typing import Any, NamedTuple, TypeVar

from pydantic import BaseModel, ConfigDict, ValidationError
from pydantic_core import ErrorDetails

from clawperator.engine.files.regular import open_regular

Model = TypeVar("Model", bound=BaseModel)
MAX_BYTES = 64 * 1024
"""Limit of a file."""
_LONGEST_VALUE = 100
"""Limit of the lines of one value; keys after a longer one have no line."""


class TomlTable(BaseModel):
    """The base of models for tables: strict, without unknown keys."""

    model_config = ConfigDict(strict=True, extra="forbid", frozen=True, defer_build=True)


class Problem(NamedTuple):
    """One problem of a file. ``line`` counts from 1, 0 if unknown. ``key`` is dotted and may be empty."""

    line: int
    key: str
    message: str
    hint: str = ""

    def __str__(self) -> str:
        return f"line {self.line}: {self.message}" if self.line else self.message


def read_text(path: str) -> str:
    """Return the text of a TOML file. Raises ``OSError``, and ``ValueError`` for invalid content or a larger file."""
    with open_regular(path) as stream:
        data = stream.read(MAX_BYTES + 1)
    if len(data) > MAX_BYTES:
        raise ValueError(f"it has more than {MAX_BYTES:,} bytes")
    try:
        return data.decode("utf-8-sig").replace("\r\n", "\n")
    except UnicodeDecodeError as exc:
        raise ValueError(f"it is not UTF-8 at byte {exc.start}") from exc


def validated(
    model: type[Model], text: str, describe: Callable[[ErrorDetails], Problem]
) -> tuple[Model | None, list[Problem]]:
    """Return the validated model of a TOML text, or its problems in the order of their lines."""
    try:
        return model.model_validate(tomllib.loads(text)), []
    except ValidationError as exc:
        return None, sorted(map(describe, exc.errors(include_url=False)))
    except ValueError as exc:
        return None, [Problem(error_line(exc, text), "", f"This is not valid TOML: {exc}")]
    except RecursionError:
        return None, [Problem(0, "", "It is nested too deeply")]


def error_line(error: ValueError, text: str) -> int:
    place = re.search(r"\(at line (\d+), column \d+\)", str(error))
    return int(place[1]) if place else text.count("\n") + 1


def lines_of(text: str) -> dict[str, int]:
    """Return the line of each key of a valid TOML text, by its dotted path.

    A line belongs to the one before until the two parse together.
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
    """Return the values of a complete statement."""
    if len(lines) > _LONGEST_VALUE:
        return None
    try:
        return tomllib.loads("\n".join(lines))
    except ValueError:
        return None


def _paths(values: object, outer: str, levels: int = 4) -> Iterator[str]:
    """Yield every dotted path in ``values``, outer ones first."""
    if isinstance(values, list) and outer:  # an array of tables
        values = values[0] if values else {}
    if isinstance(values, dict) and levels:
        for key, inner in values.items():
            path = f"{outer}.{key}" if outer else key
            yield path
            yield from _paths(inner, path, levels - 1)
