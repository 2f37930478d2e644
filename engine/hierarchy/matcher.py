"""The six fields of a NodeMatcher and the device's test for each (wire.md#matcher)."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Self

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.nodes import UiNode

_NAMES = {
    "resourceId": "resource_id",
    "role": "role",
    "textEquals": "text_equals",
    "textContains": "text_contains",
    "contentDescEquals": "content_desc_equals",
    "contentDescContains": "content_desc_contains",
}
FIELDS = tuple(_NAMES)
"""Names on the wire, in the contract's order."""


@dataclass(frozen=True, slots=True)
class Matcher:
    """All given fields must hold; an empty string is a field not given, as empty ones never reach the device.

    A matcher without any field matches nothing (the device refuses it).
    """

    resource_id: str = ""
    role: str = ""
    text_equals: str = ""
    text_contains: str = ""
    content_desc_equals: str = ""
    content_desc_contains: str = ""

    @classmethod
    def from_fields(cls, fields: Mapping[str, str]) -> Self:
        """From wire names (``{"resourceId": …}``); ValueError names a field that does not exist."""
        unknown = [name for name in fields if name not in _NAMES]
        if unknown:
            raise ValueError(f"unknown matcher field: {unknown[0]}")
        return cls(**{_NAMES[name]: value for name, value in fields.items()})

    def fields(self) -> dict[str, str]:
        """The given fields by wire name, in the contract's order."""
        values = ((name, getattr(self, attribute)) for name, attribute in _NAMES.items())
        return {name: value for name, value in values if value}

    def __bool__(self) -> bool:
        return bool(self.fields())


def field_value(node: UiNode, field: str) -> str:
    """The value that the device compares a field with: the label for the text fields, not the ``text`` attribute."""
    match field:
        case "resourceId":
            return node.resource_id
        case "role":
            return node.role
        case "textEquals" | "textContains":
            return node.label
        case _:
            return node.content_desc


def field_holds(field: str, wanted: str, got: str) -> bool:
    """Test one field; ``got`` is from ``field_value``. The role's name and *contains* ignore letter case."""
    if field.endswith("Contains"):
        return bool(got) and fold(wanted) in fold(got)
    if field == "role":
        return fold(wanted) == fold(got)
    return wanted == got
