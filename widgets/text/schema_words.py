"""Completions for an execution's JSON: keys, values and types of the contract, and values on screen.

Everything comes from the JSON Schema of the contract's models. Pure.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from difflib import get_close_matches
from functools import cache
from typing import Any, NamedTuple

from clawperator.engine.contracts.aliases import ALIASES, canonical
from clawperator.engine.hierarchy.matcher import FIELDS
from clawperator.widgets.text.json_place import JsonPlace
from clawperator.widgets.text.json_reader import Path
from clawperator.widgets.text.json_text import JsonText, editable

Schema = Mapping[str, Any]
Seen = Callable[[str, str, Mapping[str, str]], Iterable[tuple[str, int]]]
"""Values of a field on the shown tree with their counts: (field, typed, other fields of the matcher)."""

MOST_WORDS = 60
_NEAR = 0.6
_FROM_SCREEN = frozenset({*FIELDS, "applicationId"})
_NOTHING: Schema = {}


class SchemaCompletion(NamedTuple):
    """One completion.

    ``label`` names it, ``kind`` is its type, ``meaning`` its description. ``text`` replaces the word, indented relative
    to its line; ``cursor`` is the new cursor in it.
    """

    label: str
    kind: str
    meaning: str
    text: str
    cursor: int


def nothing_seen(_field: str, _typed: str, _others: Mapping[str, str]) -> Iterable[tuple[str, int]]:
    return ()


def words_at(place: JsonPlace, document: JsonText, seen: Seen = nothing_seen) -> list[SchemaCompletion]:
    """Return the completions at ``place``: prefix matches first, similar ones only where nothing else fits."""
    if place.role == "key":
        offered = list(_keys(place, document))
    elif place.role == "value":
        offered = list(_values(place, document, seen))
    else:
        return []
    return [_framed(word, place) for word in _fitting(offered, place.typed)[:MOST_WORDS]]


class _Offer(NamedTuple):
    """A completion without its surroundings. ``names``: what it can be found by."""

    label: str
    kind: str
    meaning: str
    text: str
    names: Sequence[str]


def _fitting(offered: Sequence[_Offer], typed: str) -> list[_Offer]:
    wanted = typed.casefold()
    ranked = [
        (rank, place, offer) for place, offer in enumerate(offered) if (rank := _rank(offer.names, wanted)) is not None
    ]
    if not ranked and typed:
        by_name = {name.casefold(): offer for offer in offered for name in offer.names}
        near = get_close_matches(wanted[:64], by_name, n=3, cutoff=_NEAR)
        return list(dict.fromkeys(by_name[name] for name in near))
    return [offer for *_, offer in sorted(ranked, key=lambda item: item[:2])]


def _rank(names: Sequence[str], wanted: str) -> int | None:
    """Return 0: prefix of the name; 1: prefix of an alias; 2: contained."""
    folded = [name.casefold() for name in names]
    if folded[0].startswith(wanted):
        return 0
    if any(name.startswith(wanted) for name in folded):
        return 1
    return 2 if any(wanted in name for name in folded) else None


def _framed(offer: _Offer, place: JsonPlace) -> SchemaCompletion:
    """Add the missing commas; leave out an existing colon."""
    text = offer.text
    if place.role == "key" and place.colon:
        text = json.dumps(offer.label)
    elif place.comma_after:
        text += ","
    return SchemaCompletion(offer.label, offer.kind, offer.meaning, text, _hole(text))


def _hole(text: str) -> int:
    """Return the offset of the first empty value, else the end."""
    places = [place for empty in ('""', "{}", "[]") if (place := text.find(empty)) >= 0]
    return min(places) + 1 if places else len(text) - text.endswith(",")


# -- keys


def _keys(place: JsonPlace, document: JsonText) -> Iterator[_Offer]:
    """Yield the keys that the object does not have yet, required ones first."""
    schema = _schema_at(place.path, document)
    here = [key for key, span in document.keys.items() if span.start == place.span.start]
    members = [name for name in document.members(place.path) if (*place.path, name) not in here]
    given = {name: document.value((*place.path, name)) for name in members}
    required = _required(schema, given)
    properties: Mapping[str, Schema] = schema.get("properties", {})
    for name in sorted(properties, key=lambda name: name not in required):
        if name not in given:
            member = _resolved(properties[name])
            kind = _kind(member, required=name in required)
            yield _Offer(name, kind, _meaning(member), f"{json.dumps(name)}: {_written(_example(member))}", (name,))


def _required(schema: Schema, given: Mapping[str, object] = _NOTHING) -> tuple[str, ...]:
    """Return the required members of an object with the members ``given``; of alternatives the first."""
    refused = schema.get("not", _NOTHING)
    groups = [_needed(case, given) for case in refused.get("anyOf", (refused,))]
    missing = [names[0] for names in groups if names and given.keys().isdisjoint(names)]
    return (*schema.get("required", ()), *missing)


def _needed(refused: Schema, given: Mapping[str, object]) -> tuple[str, ...]:
    """Return the properties of which one is required by a ``not`` schema."""
    if set(refused) - {"required"} != {"properties"}:
        return ()
    from clawperator.engine.contracts.strict import ABSENT

    properties, conditions = refused["properties"], refused.get("required", ())
    if not conditions:
        return tuple(properties) if all(member == ABSENT for member in properties.values()) else ()
    met = all(name in given and properties[name].get("const", given[name]) == given[name] for name in conditions)
    return tuple(name for name in properties if name not in conditions) if met else ()


def _kind(schema: Schema, *, required: bool = False) -> str:
    words = _type_words(schema)
    if "default" in schema and "enum" not in schema:
        words += f", else {json.dumps(schema['default'])}"
    return f"{words}, required" if required else words


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


# -- the fields of a form


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


# -- values


def _values(place: JsonPlace, document: JsonText, seen: Seen) -> Iterator[_Offer]:
    name, holder = place.path[-1] if place.path else "", place.path[:-1]
    if name == "type" and len(place.path) == _DEPTH_OF_ACTION + 1:
        yield from _types(holder, document)
        return
    if isinstance(name, int) and holder == ("actions",):
        yield from _actions(document)
        return
    schema = _schema_at(place.path, document)
    if name in _FROM_SCREEN and schema.get("type") == "string":
        others = {str(key): value for key, value in _strings(document.value(holder)) if key != name}
        for value, count in seen(str(name), place.typed, others):
            yield _Offer(
                value, f"{count} on screen" if count else "", "", _quoted(value), (value, value.rpartition("/")[2])
            )
    else:
        yield from _plain_values(schema)


def _strings(value: object) -> Iterator[tuple[str, str]]:
    if isinstance(value, dict):
        yield from ((key, inner) for key, inner in value.items() if key in FIELDS and isinstance(inner, str))


def _plain_values(schema: Schema) -> Iterator[_Offer]:
    values = [schema["const"]] if "const" in schema else list(schema.get("enum", ()))
    if schema.get("type") == "boolean":
        values = [True, False]
    elif not values and schema.get("type") in ("integer", "number") and "default" in schema:
        values = [schema["default"]]
    for value in values:
        word = json.dumps(value)
        kind = "default" if value == schema.get("default") else ""
        yield _Offer(str(value) if isinstance(value, str) else word, kind, _meaning(schema), word, (word.strip('"'),))
    if schema.get("type") in ("object", "array"):
        text = _written(_example(schema))
        yield _Offer(text.partition("\n")[0], _kind(schema), _meaning(schema), text, ("",))


_DEPTH_OF_ACTION = 2


def _types(action: Path, document: JsonText) -> Iterator[_Offer]:
    """Yield the action types with their aliases, and with required params where there are none yet."""
    bare = "params" not in document.members(action)
    for name, schema in _actions_by_type().items():
        text = json.dumps(name)
        if bare and "params" in _required(schema):
            text += f',\n"params": {_written(_example(schema["properties"]["params"]))}'
        yield _Offer(name, _spellings(name), _meaning(schema), text, (name, *_others(name)))


def _actions(document: JsonText) -> Iterator[_Offer]:
    """Yield a whole action of each type with an unused id."""
    actions = [path for path in document.values if len(path) == _DEPTH_OF_ACTION and path[0] == "actions"]
    ids = {document.value((*path, "id")) for path in actions}
    for name, schema in _actions_by_type().items():
        number = next(number for number in range(1, len(ids) + 2) if _numbered(name, number) not in ids)
        example = _example(schema)
        action = {"id": _numbered(name, number), "type": name}
        action |= (
            {key: value for key, value in example.items() if key not in action} if isinstance(example, dict) else {}
        )
        yield _Offer(name, _spellings(name), _meaning(schema), _written(action), (name, *_others(name)))


def _numbered(name: str, number: int) -> str:
    return name if number == 1 else f"{name}-{number}"


def _others(name: str) -> list[str]:
    return [alias for alias, meant in ALIASES.items() if meant == name and alias != name]


def _spellings(name: str) -> str:
    others = _others(name)
    return f"or {', '.join(others)}" if others else ""


# -- the schema


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


def _schema_at(path: Path, document: JsonText) -> Schema:
    """Return the schema at ``path``; empty where unknown."""
    schema = _execution()
    for depth, step in enumerate(path):
        if isinstance(step, int):
            schema = _item(schema, path[: depth + 1], document)
        else:
            schema = _resolved(schema.get("properties", _NOTHING).get(step, _NOTHING))
    return schema


def _item(schema: Schema, path: Path, document: JsonText) -> Schema:
    """Return the schema of an item, by its type where known; else what any type allows."""
    items: Schema = schema.get("items", _NOTHING)
    if "oneOf" not in items:
        return _resolved(items)
    named = document.value((*path, "type"))
    by_type = _actions_by_type()
    found = by_type.get(canonical(named)) if isinstance(named, str) else None
    if found is not None:
        return found
    params: dict[str, Schema] = {}
    for known in by_type.values():
        params = {**known["properties"].get("params", _NOTHING).get("properties", _NOTHING), **params}
    own = {"type": {"type": "string", "description": "What to do"}, "params": {"type": "object", "properties": params}}
    return {"required": ("id", "type"), "properties": {**next(iter(by_type.values()))["properties"], **own}}


# -- inserted JSON


def _example(schema: Schema) -> object:
    """Return the minimal valid value, with empty values for the author."""
    schema = _resolved(schema)
    if "const" in schema:
        return schema["const"]
    kind = schema.get("type")
    if kind == "object":
        required = _required(schema)
        return {name: _example(member) for name, member in schema["properties"].items() if name in required}
    if "default" in schema:
        return schema["default"]
    return {"boolean": True, "array": [], "integer": schema.get("minimum", 0), "number": schema.get("minimum", 0)}.get(
        str(kind), ""
    )


def _written(value: object) -> str:
    return json.dumps(value, indent=2, ensure_ascii=False)


def _quoted(value: str) -> str:
    return editable(json.dumps(value, ensure_ascii=False))
