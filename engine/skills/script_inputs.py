"""The inputs of a skill's script, ``contract.inputs`` of its entry: name to schema text (skills.md#inputs-of-a-script). Pure."""

from __future__ import annotations

import json
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError, ErrorCode

_TYPES = {
    "string": ("string", "str", "text"),
    "integer": ("integer", "int"),
    "number": ("number", "float", "double"),
    "boolean": ("boolean", "bool"),
}
_TYPE_OF = {word: name for name, words in _TYPES.items() for word in words}
_OPTIONAL = re.compile(r"^\w+\s*\?$|\boptional\b|\bdefault\b", re.IGNORECASE)
_FIRST_WORD = re.compile(r"\w+")
_LONGEST_NAMES = 400
_NAME = re.compile(r"[a-z][a-z0-9_]*")
_PLACEHOLDER = re.compile(r"\{(\w+)\}")
_VERIFICATION = "node_text_matches"


class ScriptInput(NamedTuple):
    """One input; ``values`` are the allowed ones where they are listed. ``type`` is empty where ``schema`` names no known one."""

    name: str
    schema: str
    type: str
    required: bool
    values: tuple[str, ...] = ()

    @property
    def flag(self) -> str:
        return flag_of(self.name)

    def problem(self, text: str) -> str:
        """Return why ``text`` is no value of this input; empty for a valid one."""
        from clawperator.engine.skills.outputs import convert

        if self.values:
            return "" if text in self.values else f"must be one of {', '.join(self.values)[:_LONGEST_NAMES]}"
        if self.required and not text.strip():
            return "must not be empty"
        return "" if not text or convert(text, self.type) is not None else f"must be of type {self.type}"

    def to_dict(self) -> dict[str, Any]:
        listed = {"values": list(self.values)} if self.values else {}
        kind = self.type or "string"
        return {
            "name": self.name,
            "flag": self.flag,
            "type": kind,
            "required": self.required,
            **listed,
            "schema": self.schema,
        }


def flag_of(name: str) -> str:
    """Return the flag of an input: ``--unit-name`` for ``unit_name``."""
    return f"--{name.replace('_', '-')}"


def script_inputs(entry: Mapping[str, Any]) -> tuple[ScriptInput, ...]:
    """Return the declared inputs in the order of their names, which is that of positional arguments. The entry is untrusted."""
    contract = entry.get("contract")
    inputs = contract.get("inputs") if isinstance(contract, Mapping) else None
    if not isinstance(inputs, Mapping):
        return ()
    return tuple(_input(name, text) for name, text in sorted(inputs.items()) if name and isinstance(text, str))


def _input(name: str, schema: str) -> ScriptInput:
    """Read a schema text: a type, ``optional`` or a question mark behind it, values with bars between them, or a JSON Schema.

    Any other text describes an input for people, and any value is accepted.
    """
    if schema.lstrip().startswith("{"):
        try:
            document = json.loads(schema)
        except (ValueError, RecursionError):
            return ScriptInput(name, schema, "", required=True)
        kind, values = document.get("type"), document.get("enum")
        listed = tuple(map(_text, values)) if isinstance(values, list) else ()
        optional = "default" in document or kind == "null"
        return ScriptInput(name, schema, _TYPE_OF.get(kind if isinstance(kind, str) else "", ""), not optional, listed)
    required = not _OPTIONAL.search(schema)
    parts = [part.strip(" \"'()") for part in schema.removeprefix("enum").lstrip(" :").rstrip(" ?").split("|")]
    values = tuple(part for part in parts if part and part != "null")
    required = required and "null" not in parts
    if len(values) > 1 and not all(value in _TYPE_OF for value in values):
        return ScriptInput(name, schema, "string", required, values)
    word = _FIRST_WORD.search(values[0]) if len(values) == 1 else None
    kind = _TYPE_OF.get(word[0].lower(), "") if word else "string" if values else ""
    return ScriptInput(name, schema, kind, required)


def script_arguments(entry: Mapping[str, Any], inputs: Mapping[str, object], args: Sequence[str]) -> list[str]:
    """Return the arguments of the script: each of ``inputs`` as a flag with its value, then ``args`` unchanged.

    Where the skill declares inputs, ``args`` may have them too: as flags, and as trailing words in the order of the names.

    Raises ``SKILL_INPUT_INVALID`` for a name that is not declared, one that is given twice and a value of another type, and
    ``SKILL_INPUT_MISSING``; both with ``details.{input, path, inputs}``.
    """
    declared = {each.name: each for each in script_inputs(entry)}
    given = {name: _text(value) for name, value in inputs.items()}
    for name, value in inputs.items():
        if name not in declared:
            hint = suggestion(name, declared) or (
                f"It takes {', '.join(declared)[:_LONGEST_NAMES]}." if declared else ""
            )
            raise _refused(entry, name, f"has no input {shown(name)}", declared, hint=hint)
        if not isinstance(value, str | int | float):
            raise _refused(entry, name, f"input {shown(name)} must be a string, a number or a boolean", declared)
    if declared:
        _read_words(entry, declared, given, args)
    for each in declared.values():
        if each.name not in given and each.required:
            raise _refused(entry, each.name, f"needs its input {shown(each.name)}", declared, missing=True)
        if each.name in given and (problem := each.problem(given[each.name])):
            raise _refused(entry, each.name, f"input {shown(each.name)} {problem}", declared)
    flags = [word for name in sorted(inputs) for word in (declared[name].flag, given[name])]
    return [*flags, *args]


def contract_remarks(entry: object) -> Iterator[tuple[str, str, str]]:
    """Yield what is doubtful in a contract: the key concerned, the lint's code, and a message that repeats no text of the file."""
    inputs = script_inputs(entry) if isinstance(entry, Mapping) else ()
    flags = [each.flag for each in inputs]
    for each in inputs:
        if not _NAME.fullmatch(each.name):
            yield (
                each.name,
                "L-CONTRACT-INPUT",
                "the name of this input should consist of lower-case letters, digits and _",
            )
        elif flags.count(each.flag) > 1:
            yield each.name, "L-CONTRACT-INPUT", "another input has the same flag"
        if not each.type and not each.values:
            yield each.name, "L-CONTRACT-TYPE", "the schema text names no type, so that any value is accepted"
    contract = entry.get("contract") if isinstance(entry, Mapping) else None
    verification = contract.get("verification") if isinstance(contract, Mapping) else None
    matcher = verification.get("matcher") if isinstance(verification, Mapping) else None
    if isinstance(verification, Mapping) and (verification.get("kind") != _VERIFICATION or not matcher):
        yield "verification", "L-CONTRACT-VERIFICATION", f"a verification has the kind {_VERIFICATION} and a matcher"
    elif isinstance(matcher, str) and set(_PLACEHOLDER.findall(matcher)) - {each.name for each in inputs}:
        yield "matcher", "L-CONTRACT-VERIFICATION", "the matcher names an input that is not declared"


def _read_words(
    entry: Mapping[str, Any], declared: Mapping[str, ScriptInput], given: dict[str, str], args: Sequence[str]
) -> None:
    """Add the inputs among the arguments to ``given``. A word behind a flag that is not declared is taken for its value."""
    flags = {each.flag: name for name, each in declared.items()} | {f"--{name}": name for name in declared}
    words: list[str] = []
    rest = iter(args)
    for word in rest:
        flag, equals, inline = word.partition("=")
        if not word.startswith("--"):
            words.append(word)
            continue
        value = inline if equals else next(rest, None)
        if (name := flags.get(flag)) is None:
            continue
        if value is None:
            raise _refused(entry, name, f"needs a value behind {flag}", declared, missing=True)
        if name in given:
            raise _refused(entry, name, f"input {shown(name)} is given twice", declared)
        given[name] = value
    absent = [name for name in declared if name not in given]
    while len(absent) > len(words) and (spare := [name for name in absent if not declared[name].required]):
        absent.remove(spare[-1])  # fewer words than names: they are for those that are required
    given.update(zip(absent, words[-len(absent) :] if absent else (), strict=False))


def _refused(
    entry: Mapping[str, Any],
    name: str,
    problem: str,
    declared: Mapping[str, ScriptInput],
    *,
    missing: bool = False,
    hint: str = "",
) -> EngineError:
    skill_id = shown(str(entry.get("id", "")), 200)
    code = ErrorCode.SKILL_INPUT_MISSING if missing else ErrorCode.SKILL_INPUT_INVALID
    if missing:
        hint = f"Pass it with {flag_of(name)}, or as `inputs.{name}`: {declared[name].schema}."
    return EngineError(
        code,
        f"Skill {skill_id} {problem}",
        hint=hint[:_LONGEST_NAMES] or None,
        details={
            "input": shown(name),
            "path": f"inputs.{shown(name)}",
            "inputs": [each.to_dict() for each in declared.values()],
        },
        extra={"skillId": skill_id},
    )


def _text(value: object) -> str:
    return str(value).lower() if isinstance(value, bool) else str(value)
