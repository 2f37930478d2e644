"""Where in a recipe something is wrong: every error of a recipe names the file, the line and, where known, the step."""

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
        """The line in the file of that key or item; of the nearest one around it where there is none."""
        for length in range(len(path), 0, -1):
            if path[:length] in self.lines:
                return self.lines[path[:length]]
        return self.line


@dataclass(frozen=True, slots=True)
class Site:
    """A value of a recipe: ``path`` leads to it inside ``block``, which is the front matter or the block of ``step_id``."""

    file: str
    block: Block | None = None
    step_id: str = ""
    path: tuple[str | int, ...] = ()

    def at(self, *path: str | int) -> Self:
        """The site of something inside of this one."""
        return replace(self, path=(*self.path, *path))

    @property
    def line(self) -> int:
        """The 1-based line of the file; 0 where none is known."""
        return self.block.line_of(*self.path) if self.block else 0

    @property
    def dotted(self) -> str:
        return shown(joined(*self.path), _LONGEST_PATH)

    def where(self) -> dict[str, Any]:
        """``{file, line?, stepId?}`` for details."""
        line = {"line": self.line} if self.line else {}
        return {"file": self.file, **line, **({"stepId": self.step_id} if self.step_id else {})}

    def fault(self, code: ErrorCode, message: str, *, hint: str | None = None, **details: Any) -> EngineError:
        """The error ``code`` at this site; ``details`` come after the place."""
        return fault(code, message, self.file, self.line, hint=hint, details={**self.where(), **details})

    def warning(self, code: str, message: str) -> dict[str, Any]:
        """Something at this site that compiles, but may not do what its author meant."""
        where = {key: value for key, value in self.where().items() if key != "file"}
        return {"code": code, "path": self.dotted, "message": message, **where}


def fault(
    code: ErrorCode, message: str, file: str, line: int, *, hint: str | None = None, details: dict[str, Any]
) -> EngineError:
    """An error whose message begins with its place, as compilers write it."""
    place = f"{file}:{line}: " if file and line else f"{file}: " if file else f"line {line}: " if line else ""
    return EngineError(code, f"{place}{message}", hint=hint, details=details)
