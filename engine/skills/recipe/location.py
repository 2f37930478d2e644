"""Locations in a recipe: every error of a recipe has the file, the line and, if known, the step."""

from __future__ import annotations

from dataclasses import dataclass, replace
from typing import TYPE_CHECKING, Any, Self

from clawperator.engine.contracts.issues import joined, shown
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from collections.abc import Mapping

_LONGEST_PATH = 200


@dataclass(frozen=True, slots=True)
class Block:
    """One YAML mapping; ``line`` is the 1-based line of the file where its text begins, ``lines`` that of every value."""

    value: dict[str, Any]
    line: int
    lines: Mapping[tuple[str | int, ...], int]

    def line_of(self, *path: str | int) -> int:
        """Return the line of a key or item, else that of the nearest enclosing one."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return self.line


@dataclass(frozen=True, slots=True)
class Location:
    """A value of a recipe at ``path`` in ``block``, which is the front matter or the block of ``step_id``."""

    file: str
    block: Block | None = None
    step_id: str = ""
    path: tuple[str | int, ...] = ()

    def at(self, *path: str | int) -> Self:
        """Return the site of a nested value."""
        return replace(self, path=(*self.path, *path))

    @property
    def line(self) -> int:
        """Return the 1-based line of the file; 0 if unknown."""
        return self.block.line_of(*self.path) if self.block else 0

    @property
    def dotted(self) -> str:
        return shown(joined(*self.path), _LONGEST_PATH)

    def where(self) -> dict[str, Any]:
        """Return ``{file, line?, stepId?}`` for details."""
        line = {"line": self.line} if self.line else {}
        return {"file": self.file, **line, **({"stepId": self.step_id} if self.step_id else {})}

    def error(self, code: ErrorCode, message: str, *, hint: str | None = None, **details: Any) -> EngineError:
        """Return the error ``code`` at this site with further ``details``."""
        return error(code, message, self.file, self.line, hint=hint, details={**self.where(), **details})

    def warning(self, code: str, message: str) -> dict[str, Any]:
        """Return a warning about a value that compiles but may not be intended."""
        where = {key: value for key, value in self.where().items() if key != "file"}
        return {"code": code, "path": self.dotted, "message": message, **where}


def error(
    code: ErrorCode, message: str, file: str, line: int, *, hint: str | None = None, details: dict[str, Any]
) -> EngineError:
    """Return an error whose message begins with its location, as in compilers."""
    place = f"{file}:{line}: " if file and line else f"{file}: " if file else f"line {line}: " if line else ""
    return EngineError(code, f"{place}{message}", hint=hint, details=details)
