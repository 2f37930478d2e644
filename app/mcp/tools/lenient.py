"""Arguments of clients that send numbers, booleans and JSON as text, as several do: understood where the schema leaves no doubt.

A parameter that is a text keeps what it got. What is not understood is left as it is, and refused by the check of the schema.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.aliases import canonical
from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError
from clawperator.engine.json_schema import json_schema

Schema = Mapping[str, Any]

_INTEGER = re.compile(r"-?(?:0|[1-9]\d{0,14})", re.ASCII)
_NUMBER = re.compile(rf"{_INTEGER.pattern}(?:\.\d{{1,15}})?", re.ASCII)
_BOOLEANS = {"true": True, "false": False, "True": True, "False": False}
_CONTAINERS: Mapping[str, type] = {"object": dict, "array": list}


def understood(value: Any, schema: Schema, definitions: Schema | None = None) -> Any:
    """Return ``value`` with every text of another type in that type; ``definitions`` are those that ``schema`` refers to."""
    definitions = schema.get("$defs", {}) if definitions is None else definitions
    if reference := schema.get("$ref"):
        schema = definitions.get(reference.rpartition("/")[2], {})
    if isinstance(value, str):
        value = _typed(value, schema.get("type"))
    if "actions" in schema.get("properties", {}):  # a plan may be the list of its actions, as on every face
        listed = _typed(value, "array") if isinstance(value, str) else value
        value = {"actions": listed} if isinstance(listed, list) else value
    if isinstance(value, dict):
        others = schema.get("additionalProperties") or {}
        fields = schema.get("properties", {})
        value = {
            name: understood(inner, fields.get(name, others if isinstance(others, Mapping) else {}), definitions)
            for name, inner in value.items()
        }
    elif isinstance(value, list) and (items := schema.get("items")):
        value = [understood(inner, items, definitions) for inner in value]
    return value


def _typed(text: str, kind: object) -> Any:
    match kind:
        case "integer" if _INTEGER.fullmatch(text):
            return int(text)
        case "number" if _NUMBER.fullmatch(text):
            return float(text) if "." in text else int(text)
        case "boolean":
            return _BOOLEANS.get(text, text)
        case "object" | "array":
            try:
                found = parse_json(text)
            except EngineError:
                return text
            return found if isinstance(found, _CONTAINERS[kind]) else text
    return text


def understood_plan(plan: Any) -> Any:
    """Return a plan, or the executions of a compiled artifact, with the texts in its actions understood."""
    if not isinstance(plan, dict):
        return plan
    inner = {name: understood_plan(plan[name]) for name in ("execution",) if name in plan}
    if isinstance(each := plan.get("executions"), list):
        inner["executions"] = [understood_plan(one) for one in each]
    if isinstance(actions := plan.get("actions"), list):
        inner["actions"] = [_action(action) for action in actions]
    return {**plan, **inner}


def _action(action: Any) -> Any:
    name = action.get("type") if isinstance(action, dict) else None
    known = canonical(name) if isinstance(name, str) else ""
    return understood(action, _schema(known)) if known in ACTIONS else action


@cache
def _schema(name: str) -> Schema:
    return json_schema(name)
