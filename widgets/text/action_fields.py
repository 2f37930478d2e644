"""The parameters of a step as the lines of a form, and back. What is not of its type stays text, for the validator."""

from __future__ import annotations

import json
from collections.abc import Mapping
from typing import TYPE_CHECKING, Any, TypeGuard

from clawperator.engine.hierarchy.matcher import FIELDS, Matcher
from clawperator.widgets.text.matcher_text import matcher_text, parse_matcher_text
from clawperator.widgets.text.schema_words import ActionField

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiTree


def line_of(field: ActionField, value: object) -> str:
    """Return the line for a value; empty for ``None``."""
    if value is None or isinstance(value, str):
        return value or ""
    if field.type == "matcher" and _is_matcher(value):
        return matcher_text(Matcher.from_fields(value))
    if (
        field.type == "object"
        and isinstance(value, Mapping)
        and not any(isinstance(each, str) for each in value.values())
    ):
        return " ".join(f"{name}={json.dumps(each)}" for name, each in value.items())
    return json.dumps(value, ensure_ascii=False)


def _is_matcher(value: object) -> TypeGuard[dict[str, str]]:
    return isinstance(value, dict) and all(name in FIELDS and isinstance(each, str) for name, each in value.items())


def value_of(field: ActionField, line: str, tree: UiTree | None) -> Any:
    """Return the value of a line that is not empty. Raises ``ValueError`` with the reason for an invalid selector."""
    if field.type != "string" and isinstance(whole := _plain(line), dict):
        return whole
    if field.type == "matcher":
        read = parse_matcher_text(line, tree)
        if read.problem:
            raise ValueError(read.problem)
        return read.matcher.fields()
    if field.type == "object":
        pairs = (word.partition("=") for word in line.split())
        return {name: _plain(value) for name, _, value in pairs}
    return line if field.type == "string" else _plain(line)


def _plain(text: str) -> Any:
    """Return the JSON value of a text; the text itself where it is none."""
    try:
        return json.loads(text)
    except ValueError:
        return text
