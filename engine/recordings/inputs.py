"""Replace typed and personal texts of a recording by ``${inputs.<name>}`` (skills.md#selector). Pure."""

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from clawperator.engine.skills.blocked_terms import BlockedTerms
from clawperator.engine.skills.literals import EMAIL, PATH, PHONE, SERIAL, literals

_NOT_A_NAME = re.compile(r"[^a-z0-9]+")
_LONGEST_NAME = 40
_SHORTEST_PART = 3
"""Shorter typed texts are recognised only as a whole value."""
_PERSONAL = {EMAIL: "email", PHONE: "phone", PATH: "path", SERIAL: "device"}


@dataclass(frozen=True, slots=True)
class RecordedInput:
    """One input. ``value`` was recorded, empty if the device hid it; ``secret``: it appears to be a password."""

    name: str
    value: str
    why: str
    secret: bool = False


class RecordedInputs:
    """The inputs of a recording in order of discovery; creates templates with those found so far."""

    def __init__(self, blocked: BlockedTerms | None = None) -> None:
        """``blocked``: terms that no recipe may contain; a value with one of them becomes an input as a whole."""
        self._found: dict[str, RecordedInput] = {}
        self._blocked = blocked or BlockedTerms()

    def is_personal(self, text: str) -> bool:
        """Return whether a recipe must not contain the text."""
        return bool(literals(text)) or self._is_blocked(text)

    def _is_blocked(self, text: str) -> bool:
        return any(True for _ in self._blocked.found_in(text))

    def __iter__(self) -> Iterator[RecordedInput]:
        return iter(self._found.values())

    def typed(self, value: str, field: str, *, secret: bool) -> str:
        """Return the template of a text that was typed into ``field``: a new input."""
        why = "typed into a password field" if secret else "typed during the recording"
        return self._add(value, field, why, secret=secret)

    def template(self, text: str) -> str:
        """Return ``text`` with personal and previously typed parts as inputs."""
        if self._is_blocked(text):
            return self._known(text) or self._add(text, "text", "contains one of your blocked terms")
        taken = [(literal.start, literal.end) for literal in literals(text)]
        by_code = {(literal.start, literal.end): literal.code for literal in literals(text)}
        typed = [each for each in self if each.value and (not each.secret or each.value == text)]
        for each in sorted(typed, key=lambda each: -len(each.value)):
            taken += [span for span in _spans(text, each.value) if not any(_overlap(span, other) for other in taken)]
        parts: list[str] = []
        at = 0
        for start, end in sorted(taken):
            parts.append(escaped(text[at:start]))
            known = self._known(text[start:end])
            code = by_code.get((start, end), "")
            parts.append(
                known or self._add(text[start:end], _PERSONAL.get(code, "text"), "identifies a person or a device")
            )
            at = end
        return "".join([*parts, escaped(text[at:])])

    def _known(self, value: str) -> str:
        return next((_place(each.name) for each in self if each.value == value), "")

    def _add(self, value: str, hint: str, why: str, *, secret: bool = False) -> str:
        name = free_name(input_name(hint), self._found)
        self._found[name] = RecordedInput(name, value, why, secret)
        return _place(name)


def input_name(hint: str) -> str:
    """Return a valid input name similar to ``hint``."""
    name = _NOT_A_NAME.sub("_", hint.lower())[:_LONGEST_NAME].strip("_")
    return name if name and name[0].isalpha() else f"text_{name}".rstrip("_")


def free_name(name: str, taken: Mapping[str, object]) -> str:
    """Return ``name``, with a number if it is taken."""
    number = 1
    found = name
    while found in taken:
        number += 1
        found = f"{name}_{number}"
    return found


def escaped(text: str) -> str:
    """Return a template for literal text."""
    return text.replace("${", "$${")


def _place(name: str) -> str:
    return f"${{inputs.{name}}}"


def _spans(text: str, value: str) -> Iterator[tuple[int, int]]:
    """Yield the spans of ``value`` in ``text``, as whole words."""
    if value == text:
        yield 0, len(text)
    elif len(value) >= _SHORTEST_PART:
        for match in re.finditer(rf"(?<!\w){re.escape(value)}(?!\w)", text):
            yield match.start(), match.end()


def _overlap(one: tuple[int, int], other: tuple[int, int]) -> bool:
    return one[0] < other[1] and other[0] < one[1]
