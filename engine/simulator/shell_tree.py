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
    """``$name``, or ``${name<operator><operand>}``."""

    name: str
    quoted: bool
    operator: str = ""
    operand: Word = ()


@dataclass(frozen=True, slots=True)
class Substitution:
    """``$(…)``."""

    body: Script
    quoted: bool


@dataclass(frozen=True, slots=True)
class Arithmetic:
    """``$((…))``: a sum of numbers and variables."""

    expression: str
    quoted: bool


Part = Text | Parameter | Substitution | Arithmetic
Word = tuple[Part, ...]


@dataclass(frozen=True, slots=True)
class Redirect:
    """``fd``, one of ``< > >> >&``, and the word behind it."""

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
    name: str
    words: tuple[Word, ...]
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


Item = tuple[tuple[str, Pipeline], ...]
"""Pipelines joined by ``&&`` and ``||``; the first one's connector is empty."""

Script = tuple[Item, ...]
