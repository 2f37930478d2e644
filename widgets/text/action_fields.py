"""The parameters of an action type as the fields of a form, by the JSON Schema of the contract; their lines, and back.

What is not of its type stays text, for the validator.
"""

from __future__ import annotations

import json
from collections.abc import Mapping
from functools import cache
from typing import TYPE_CHECKING, Any, NamedTuple, TypeGuard

from clawperator.engine.hierarchy.matcher import FIELDS, RELATIONS, Matcher
from clawperator.widgets.text.matcher_text import matcher_text, parse_matcher_text

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiTree

Schema = Mapping[str, Any]
_NOTHING: Schema = {}


class ActionField(NamedTuple):
    """One parameter of an action type: what a form asks for.

    ``type`` is ``matcher`` or the JSON type; ``values`` are the allowed ones, ``kind`` the expected form in words.
    """

    name: str
    type: str
    required: bool
    values: tuple[str, ...]
    kind: str
    meaning: str
    default: str = ""
    personal: bool = False

    @property
    def help(self) -> str:
        """Return the words of an empty field."""
        return "res:id/title  text=OK  text~part  desc=…  role:button" if self.type == "matcher" else self.kind


def action_fields(name: str) -> list[ActionField]:
    """Return the parameters of an action type, required ones first, retry policies last; then the id."""
    action = _actions_by_type()[name]
    params = _resolved(action["properties"].get("params", _NOTHING))
    required = params.get("required", ())
    found = [_field(key, _resolved(schema), key in required) for key, schema in params["properties"].items()]
    found.sort(key=lambda field: (not field.required, field.name.lower().endswith("retry")))
    return [*found, _field("id", _resolved(action["properties"]["id"]), required=True)]


def _field(name: str, schema: Schema, required: bool) -> ActionField:
    from clawperator.engine.contracts.values import SINCE

    kind, values, words = str(schema.get("type")), tuple(schema.get("enum", ())), _kind(schema)
    if kind == "object":
        members = schema["properties"]
        pairs = " ".join(f"{member}=" for member in members)
        kind, words = ("matcher", "selector") if {*members} >= {*FIELDS} else (kind, pairs)
    since = f". Needs Operator {schema[SINCE]} or newer" if SINCE in schema else ""
    return ActionField(name, kind, required, values, words, _meaning(schema) + since)


def _kind(schema: Schema) -> str:
    words = _type_words(schema)
    return f"{words}, else {json.dumps(schema['default'])}" if "default" in schema and "enum" not in schema else words


_TYPE_WORDS = {"string": "text", "boolean": "true|false", "array": "list", "integer": "whole number"}


def _type_words(schema: Schema) -> str:
    match schema:
        case {"const": value} | {"enum": [value]}:
            return str(value)
        case {"enum": list(values)} if "type" in schema:
            return "|".join(map(str, values)) if sum(map(len, values)) <= 24 else f"one of {len(values)}"
        case {"type": "integer" | "number", "minimum": low, "maximum": high}:
            return f"{low:,} to {high:,}" if high < 2**31 - 1 else f"{low:,} or more"
        case {"type": kind}:
            return _TYPE_WORDS.get(str(kind), str(kind))
    return "any value"


def _meaning(schema: Schema) -> str:
    """Return the first sentence of the description."""
    return str(schema.get("description", "")).partition(". ")[0].rstrip(".").replace("`", "")


@cache
def _execution() -> Schema:
    from clawperator.engine.json_schema import json_schema

    return json_schema("execution")


@cache
def _actions_by_type() -> Mapping[str, Schema]:
    """Return the schema of each action type by canonical name, in the contract's order."""
    options = _execution()["properties"]["actions"]["items"]["oneOf"]
    return {option["$ref"].rpartition("/")[2]: _resolved(option) for option in options}


def _resolved(schema: Schema) -> Schema:
    """Return a schema with its ``$ref`` merged in; own keys win."""
    if "$ref" not in schema:
        return schema
    name = schema["$ref"].rpartition("/")[2]
    own = {key: value for key, value in schema.items() if key != "$ref"}
    return {**_execution()["$defs"][name], **own}


# -- lines


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


def _is_matcher(value: object) -> TypeGuard[dict[str, Any]]:
    return isinstance(value, dict) and all(
        _is_matcher(each) if name in RELATIONS else name in FIELDS and isinstance(each, str)
        for name, each in value.items()
    )


def value_of(field: ActionField, line: str, tree: UiTree | None) -> Any:
    """Return the value of a line that is not empty. Raises ``ValueError`` with the reason for an invalid selector."""
    if field.type != "string" and isinstance(whole := _plain(line), dict):
        return whole
    if field.type == "matcher":
        read = parse_matcher_text(line, tree)
        if read.problem:
            raise ValueError(read.problem)
        if read.matcher.container:
            raise ValueError("the container is a field of the step")
        return read.matcher.to_dict()
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
