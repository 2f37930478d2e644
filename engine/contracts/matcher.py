"""The matcher: up to six conditions on a node, all of which must hold (execution §4, wire §7.2)."""

# ruff: noqa: N815 - fields are named as JSON names them
# Annotations are no strings here: pydantic would have to evaluate every one again, which a command would notice.

from collections.abc import Iterator, Mapping
from typing import Any

from pydantic import GetJsonSchemaHandler
from pydantic.json_schema import JsonSchemaValue
from pydantic_core import CoreSchema, InitErrorDetails

from clawperator.engine.contracts.strict import Strict, problem
from clawperator.engine.contracts.values import Value, optional


class NodeMatcher(Strict):
    """Conditions on a node of the screen; all given ones must hold, at least one must not be empty."""

    resourceId: Value = optional(
        "Full resource id, `package:id/name`; equal, case-sensitive. The most stable selector."
    )
    role: Value = optional("Semantic role such as `button` or `textfield`, never a class name; equal, ignoring case.")
    textEquals: Value = optional("Equal to the label: the text, or the content description of a node without text.")
    textContains: Value = optional("Contained in the label, ignoring case.")
    contentDescEquals: Value = optional("Equal to the content description, case-sensitive.")
    contentDescContains: Value = optional("Contained in the content description, ignoring case.")

    def fields(self) -> dict[str, str]:
        """The JSON object: non-empty fields only, in schema order."""
        return self.model_dump(exclude_unset=True)

    @classmethod
    def known(cls, given: Mapping[str, Any]) -> dict[str, Any]:
        """Without empty fields: the device would require the node's to be empty."""
        return {key: value for key, value in super().known(given).items() if value != ""}

    @classmethod
    def problems(cls, given: Mapping[str, Any], _context: object) -> Iterator[InitErrorDetails]:
        if not cls.known(given):
            yield problem("form", "Matcher must have at least one field")

    @classmethod
    def __get_pydantic_json_schema__(cls, schema: CoreSchema, handler: GetJsonSchemaHandler) -> JsonSchemaValue:
        answer = handler(schema)
        non_empty = [{"required": [field], "properties": {field: {"minLength": 1}}} for field in FIELDS]
        handler.resolve_ref_schema(answer)["anyOf"] = non_empty
        return answer


FIELDS = tuple(NodeMatcher.model_fields)
"""Every field of a matcher, in schema order."""
