"""Expand the words of a script to arguments: parameters, substitutions, arithmetic, splitting, patterns."""

from __future__ import annotations

import posixpath
import re
from collections.abc import Callable, Iterable, Mapping
from fnmatch import translate
from typing import Final, Protocol

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.filesystem import FileSystem
from clawperator.engine.simulator.shell_tree import Arithmetic, Parameter, Script, Substitution, Text, Word

MAX_EXPANSION: Final = 16 * 1024 * 1024
"""Characters that one word may grow to."""

_WILD = re.compile(r"[*?\[]")
_BLANKS = re.compile(r"[ \t\n]+")
_TOKEN = re.compile(r"\s*(0[xX][0-9a-fA-F]+|\d+|[A-Za-z_]\w*|<<|>>|<=|>=|==|!=|&&|\|\||[-+*/%()<>&|^!~])")


class Scope(Protocol):
    """The part of a shell that expansion needs."""

    cwd: str
    parameters: list[str]
    variables: dict[str, str]

    def special(self, name: str) -> str | None: ...
    async def substitute(self, body: Script) -> str: ...


Piece = tuple[str, bool] | None
"""Text and whether it is quoted; None separates the fields of ``"$@"``."""


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
        return "".join(" " if piece is None else piece[0] for piece in await self._pieces(word))

    async def pattern(self, word: Word) -> re.Pattern[str]:
        """The word as a pattern of ``case`` or ``${name#…}``, where quoted characters are literal."""
        return re.compile(_regex([piece for piece in await self._pieces(word) if piece is not None]), re.DOTALL)

    async def _pieces(self, word: Word) -> list[Piece]:
        pieces: list[Piece] = []
        size = 0
        for part in word:
            if isinstance(part, Text):
                new: list[Piece] = [(part.value, part.quoted)]
            elif isinstance(part, Substitution):
                new = [((await self._scope.substitute(part.body)).rstrip("\n"), part.quoted)]
            elif isinstance(part, Arithmetic):
                new = [(str(evaluate(await self.text(part.expression), self._scope.variables)), part.quoted)]
            elif part.name in ("@", "*") and not part.operator:
                new = self._all_parameters(part)
            else:
                new = [(await self._parameter(part), part.quoted)]
            size += sum(len(piece[0]) for piece in new if piece is not None)
            if size > MAX_EXPANSION:
                raise CommandError("/system/bin/sh: Cannot allocate memory")
            pieces += new
        return pieces

    def _all_parameters(self, part: Parameter) -> list[Piece]:
        values = self._scope.parameters[1:]
        if part.name == "*" and part.quoted:
            return [(" ".join(values), True)]
        pieces: list[Piece] = []
        for value in values:
            pieces += [None, (value, part.quoted)]
        return pieces[1:]

    async def _parameter(self, part: Parameter) -> str:
        value = self._scope.special(part.name)
        if value is None:
            value = self._scope.variables.get(part.name)
        operator = part.operator
        if operator == "length":
            return str(len(value or ""))
        if operator[:1] in ("#", "%") and operator:
            return _trim(value or "", operator, await self.pattern(part.operand))
        missing = value is None or (operator.startswith(":") and not value)
        return await self._default(part, value or "", missing=missing)

    async def _default(self, part: Parameter, value: str, *, missing: bool) -> str:
        kind = part.operator[-1:]
        if kind == "+":
            return "" if missing else await self.text(part.operand)
        if not missing or not kind:
            return value
        text = await self.text(part.operand)
        if kind == "?":
            raise CommandError(f"/system/bin/sh: {part.name}: {text or 'parameter null or not set'}")
        if kind == "=":
            self._scope.variables[part.name] = text
        return text

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
        if piece is None or piece[1]:
            if piece is None:
                fields.append(current)
                current = []
            else:
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


# -- arithmetic: 32 bits and signed, as in mksh

_BINARY: Final[dict[str, tuple[int, Callable[[int, int], int]]]] = {
    "||": (1, lambda a, b: int(bool(a or b))),
    "&&": (2, lambda a, b: int(bool(a and b))),
    "|": (3, lambda a, b: a | b),
    "^": (4, lambda a, b: a ^ b),
    "&": (5, lambda a, b: a & b),
    "==": (6, lambda a, b: int(a == b)),
    "!=": (6, lambda a, b: int(a != b)),
    "<": (7, lambda a, b: int(a < b)),
    ">": (7, lambda a, b: int(a > b)),
    "<=": (7, lambda a, b: int(a <= b)),
    ">=": (7, lambda a, b: int(a >= b)),
    "<<": (8, lambda a, b: a << (b & 31)),
    ">>": (8, lambda a, b: a >> (b & 31)),
    "+": (9, lambda a, b: a + b),
    "-": (9, lambda a, b: a - b),
    "*": (10, lambda a, b: a * b),
    "/": (10, lambda a, b: int(a / b)),
    "%": (10, lambda a, b: a - b * int(a / b)),
}
_UNARY: Final[dict[str, Callable[[int], int]]] = {
    "-": lambda a: -a,
    "+": lambda a: a,
    "!": lambda a: int(not a),
    "~": lambda a: ~a,
}


def evaluate(expression: str, variables: Mapping[str, str]) -> int:
    """The value of ``$((expression))``. Raises CommandError."""
    tokens: list[str] = []
    at = 0
    while at < len(expression.rstrip()):
        match = _TOKEN.match(expression, at)
        if match is None or len(tokens) > 1000:
            raise CommandError(f"/system/bin/sh: {expression}: unexpected '{expression[at:].strip()[:1]}'")
        tokens.append(match[1])
        at = match.end()
    try:
        value = _climb(tokens, 1, variables, 0) if tokens else 0
    except (ZeroDivisionError, IndexError, ValueError, RecursionError) as exc:
        reason = "zero divisor" if isinstance(exc, ZeroDivisionError) else "unexpected end of expression"
        raise CommandError(f"/system/bin/sh: {expression}: {reason}") from exc
    if tokens:
        raise CommandError(f"/system/bin/sh: {expression}: unexpected '{tokens[0]}'")
    return value


def _climb(tokens: list[str], minimum: int, variables: Mapping[str, str], depth: int) -> int:
    value = _operand(tokens, variables, depth + 1)
    while tokens and tokens[0] in _BINARY and _BINARY[tokens[0]][0] >= minimum:
        strength, combine = _BINARY[tokens.pop(0)]
        value = _wrap(combine(value, _climb(tokens, strength + 1, variables, depth + 1)))
    return value


def _operand(tokens: list[str], variables: Mapping[str, str], depth: int) -> int:
    if depth > 100:
        raise ValueError
    word = tokens.pop(0)
    if word == "(":
        value = _climb(tokens, 1, variables, depth + 1)
        if tokens.pop(0) != ")":
            raise ValueError
        return value
    if word in _UNARY:
        return _wrap(_UNARY[word](_operand(tokens, variables, depth + 1)))
    if word[0].isdigit():
        return _wrap(int(word, 0) if word[:2] in ("0x", "0X") else int(word))
    text = variables.get(word, "").strip()
    return _wrap(int(text)) if re.fullmatch(r"[-+]?\d{1,30}", text) else 0


def _wrap(value: int) -> int:
    return (value + 0x80000000) % 0x100000000 - 0x80000000
