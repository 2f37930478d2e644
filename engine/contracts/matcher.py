"""The matcher: conditions on a node and on those around it, all of which must hold (execution.md#matcher, wire.md#matcher)."""

# ruff: noqa: N815 - fields are named as JSON names them
# No postponed annotations here: pydantic would evaluate every string again, which noticeably slows down each command.

from collections.abc import Iterator, Mapping
from typing import Any, ClassVar

from pydantic import GetJsonSchemaHandler
from pydantic.config import JsonDict
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from clawperator.engine.contracts.references import REFERENCE
from clawperator.engine.contracts.strict import Strict, none_of, problem
from clawperator.engine.contracts.values import NOT_BLANK, Value, optional

RELATIONS = ("ancestor", "descendant")
"""Conditions on nodes around it, by the same fields."""
RELATIONS_SINCE = "0.10"


class NodeFields(Strict):
    """Conditions on one node; all given ones must hold, at least one must not be blank."""

    nothing: ClassVar[JsonDict] = {"not": {"pattern": NOT_BLANK}}
    """What a field is that says nothing."""

    resourceId: Value = optional(
        "Full resource id, `package:id/name`; equal, case-sensitive. The most stable selector."
    )
    role: Value = optional("Semantic role such as `button` or `textfield`, never a class name; equal, ignoring case.")
    textEquals: Value = optional("Equal to the label: the text, or the content description of a node without text.")
    textContains: Value = optional("Contained in the label, ignoring case.")
    contentDescEquals: Value = optional("Equal to the content description, case-sensitive.")
    contentDescContains: Value = optional("Contained in the content description, ignoring case.")

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Without empty fields: the device would require the node's to be empty."""
        return {key: value for key, value in super().known(given).items() if value != "" or key in RELATIONS}

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if not any(value.strip() for value in cls.known(given).values() if isinstance(value, str)):
            yield problem("form", "must have at least one field that is not blank")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        answer = handler(schema)
        handler.resolve_ref_schema(answer).update(none_of({"properties": dict.fromkeys(cls.model_fields, cls.nothing)}))
        return answer


class NodeMatcher(NodeFields):
    """Conditions on a node of the screen; all given ones must hold, at least one must not be empty."""

    nothing: ClassVar[JsonDict] = {"const": ""}

    ancestor: NodeFields = optional("A node above it for which these hold, on screen or not.", since=RELATIONS_SINCE)
    descendant: NodeFields = optional("A node inside it for which these hold, on screen.", since=RELATIONS_SINCE)
    ref: Value = optional("Instead of all others: a node of a view, such as `e12@7f3a1b2c`. The host replaces it.")

    def fields(self) -> dict[str, Any]:
        """The JSON object: non-empty fields only, in schema order."""
        return self.model_dump(exclude_unset=True)

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        known = cls.known(given)
        if not known:
            yield problem("form", "must have at least one field")
        if isinstance(reference := known.get("ref"), str):
            if len(known) > 1:
                yield problem("form", "must have no field beside ref")
            if not REFERENCE.fullmatch(reference):
                yield problem("form", "must be a reference such as e12@7f3a1b2c", "ref")


FIELDS = tuple(NodeFields.model_fields)
"""The fields that the device compares, in schema order."""
