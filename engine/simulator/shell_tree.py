"""The syntax tree of a script: made by ``shell_syntax``, run by ``shell``."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class Text:
    """Literal characters; ``quoted`` ones are neither split nor patterns."""

    value: str
    quoted: bool


@dataclass(frozen=True, slots=True)
class Parameter:
    """``$name``, or ``${name<operator><operand>}``; the operator ``length`` is ``${#name}``."""

    name: str
    quoted: bool
    operator: str = ""
    operand: Word = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """``$(…)`` or backquotes."""

    body: Script
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``$((…))``; parameters inside are expanded first."""

    expression: Word
    quoted: bool


Part = Text | Parameter | Substitution | Arithmetic
Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """``fd``, one of ``< > >> >| <& >& &> &>>``, and the word behind it."""

    fd: int
    operator: str
    target: Word


@dataclass(frozen=True, slots=True)
class Simple:
    """``NAME=value … word … redirections``."""

    assignments: tuple[tuple[str, Word], ...]
    words: tuple[Word, ...]
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class Group:
    """``{ …; }``, or ``( … )`` when ``subshell``."""

    body: Script
    subshell: bool
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class If:
    branches: tuple[tuple[Script, Script], ...]
    otherwise: Script
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class For:
    """``words`` is None for ``for NAME do``: the positional parameters."""

    name: str
    words: tuple[Word, ...] | None
    body: Script
    redirects: tuple[Redirect, ...]


@dataclass(frozen=True, slots=True)
class While:
    condition: Script
    body: Script
    until: bool
    redirects: tuple[Redirect, ...]


Command = Simple | Group | If | For | While


@dataclass(frozen=True, slots=True)
class Pipeline:
    commands: tuple[Command, ...]
    negated: bool


@dataclass(frozen=True, slots=True)
class Item:
    """Pipelines joined by ``&&`` and ``||`` (the first one's connector is empty), perhaps in the background."""

    pipelines: tuple[tuple[str, Pipeline], ...]
    background: bool


Script = tuple[Item, ...]
