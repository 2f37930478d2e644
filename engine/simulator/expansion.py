"""Expand the words of a script to arguments: parameters, substitutions, arithmetic, splitting, patterns."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Iterable, Mapping
from fnmatch import translate
from typing import Final, Protocol

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.filesystem import FileSystem
from clawperator.engine.simulator.shell_tree import Arithmetic, Parameter, Script, Substitution, Text, Word

MAX_EXPANSION: Final = 16 * 1024 * 1024
"""Characters that one word may grow to."""

_WILD = re.compile(r"[*?\[]")
_VARIABLE = re.compile(r"[A-Za-z_]\w*", re.ASCII)
_NUMBER = re.compile(r"-?[0-9]{1,9}")
_BLANKS = re.compile(r"[ \t\n]+")


class Scope(Protocol):
    """The part of a shell that expansion needs."""

    cwd: str
    variables: dict[str, str]

    def special(self, name: str) -> str | None: ...
    async def substitute(self, body: Script) -> str: ...


Piece = tuple[str, bool]
"""Text and whether it is quoted."""


class Expander:
    """Expansion in one shell's scope."""

    def __init__(self, scope: Scope, files: FileSystem, uid: int) -> None:
        self._scope, self._files, self._uid = scope, files, uid

    async def fields(self, words: Iterable[Word]) -> list[str]:
        """The arguments for ``words``. Raises CommandError."""
        found: list[str] = []
        for word in words:
            for pieces in _split(await self._pieces(word)):
                found.extend(self._paths(pieces))
        return found

    async def text(self, word: Word) -> str:
        """One string, without splitting and file names (assignments, redirections)."""
        return "".join(text for text, _ in await self._pieces(word))

    async def pattern(self, word: Word) -> re.Pattern[str]:
        """The word as a pattern of ``${name#…}``, where quoted characters are literal."""
        return re.compile(_regex(await self._pieces(word)), re.DOTALL)

    async def _pieces(self, word: Word) -> list[Piece]:
        pieces: list[Piece] = []
        size = 0
        for part in word:
            if isinstance(part, Text):
                new = part.value
            elif isinstance(part, Substitution):
                new = (await self._scope.substitute(part.body)).rstrip("\n")
            elif isinstance(part, Arithmetic):
                new = str(evaluate(part.expression, self._scope.variables))
            else:
                new = await self._parameter(part)
            size += len(new)
            if size > MAX_EXPANSION:
                raise CommandError("/system/bin/sh: Cannot allocate memory")
            pieces.append((new, part.quoted))
        return pieces

    async def _parameter(self, part: Parameter) -> str:
        value = self._scope.special(part.name)
        if value is None:
            value = self._scope.variables.get(part.name)
        if part.operator[:1] in ("#", "%") and part.operator:
            return _trim(value or "", part.operator, await self.pattern(part.operand))
        if part.operator and (value is None or (part.operator == ":-" and not value)):
            return await self.text(part.operand)
        return value or ""

    def _paths(self, pieces: list[tuple[str, bool]]) -> list[str]:
        """The files that an unquoted pattern matches; the text itself where there are none."""
        literal = "".join(text for text, _ in pieces)
        if not any(_WILD.search(text) for text, quoted in pieces if not quoted):
            return [literal]
        absolute = literal.startswith("/")
        matches = [""] if not absolute else ["/"]
        for component in _components(pieces):
            matches = [path for base in matches for path in self._children(base, component)]
        return sorted(matches) or [literal]

    def _children(self, base: str, component: list[tuple[str, bool]]) -> list[str]:
        name = "".join(text for text, _ in component)
        if not any(_WILD.search(text) for text, quoted in component if not quoted):
            path = posixpath.join(base, name)
            return [path] if self._files.exists(posixpath.join(self._scope.cwd, path)) else []
        pattern = re.compile(_regex(component), re.DOTALL)
        try:
            names = self._files.list(posixpath.join(self._scope.cwd, base), uid=self._uid)
        except OSError:
            return []
        hidden = name.startswith(".")
        return [posixpath.join(base, each) for each in names if pattern.match(each) and (hidden or each[0] != ".")]


def _split(pieces: list[Piece]) -> list[list[tuple[str, bool]]]:
    """Split into fields: quoted text stays together (even when empty), unquoted text is split at blanks."""
    fields: list[list[tuple[str, bool]]] = []
    current: list[tuple[str, bool]] = []
    for piece in pieces:
        if piece[1]:
            current.append(piece)
            continue
        for position, text in enumerate(_BLANKS.split(piece[0])):
            if position:
                fields.append(current)
                current = []
            if text:
                current.append((text, False))
    fields.append(current)
    return [field for field in fields if field]


def _components(pieces: list[tuple[str, bool]]) -> list[list[tuple[str, bool]]]:
    components: list[list[tuple[str, bool]]] = [[]]
    for text, quoted in pieces:
        for position, part in enumerate(text.split("/")):
            if position:
                components.append([])
            if part:
                components[-1].append((part, quoted))
    return [component for component in components if component]


def _regex(pieces: Iterable[tuple[str, bool]]) -> str:
    body = "".join(re.escape(text) if quoted else translate(text)[4:-3] for text, quoted in pieces)
    return rf"{body}\Z"


def _trim(value: str, operator: str, pattern: re.Pattern[str]) -> str:
    """``#`` and ``%`` remove the shortest matching start or end, doubled the longest."""
    sizes: Iterable[int] = range(len(value) + 1)
    if len(operator) == 2:
        sizes = reversed(range(len(value) + 1))
    for size in sizes:
        if operator[0] == "#" and pattern.match(value[:size]):
            return value[size:]
        if operator[0] == "%" and pattern.match(value[len(value) - size :]):
            return value[: len(value) - size]
    return value


def evaluate(expression: str, variables: Mapping[str, str]) -> int:
    """The value of ``$((expression))``: a sum of numbers and variables. Raises CommandError."""
    total = 0
    for sign, word in re.findall(r"([-+]?)\s*([^\s+-]+)", expression):
        text = variables.get(word) or "0" if _VARIABLE.fullmatch(word) else word
        if not _NUMBER.fullmatch(text):
            raise CommandError(f"/system/bin/sh: {expression}: unexpected '{word}'")
        total += -int(text) if sign == "-" else int(text)
    return total
