"""What an artifact compiles into: the executions, and what whoever runs them has to check and to report afterwards."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any


@dataclass(frozen=True, slots=True)
class Output:
    """One declared output (skills contract §9.8): data key ``key`` of the action ``step``.

    ``type`` is ``string``, ``integer``, ``number``, ``boolean`` or ``enum``; ``redaction`` is ``none``, ``hash``, ``mask`` or
    ``drop``, the default of the type already filled in. ``pattern`` is a regular expression with one group, or empty.
    """

    name: str
    type: str
    redaction: str
    step: str
    key: str
    pattern: str

    def to_dict(self) -> dict[str, Any]:
        source = {"step": self.step, "key": self.key} | ({"pattern": self.pattern} if self.pattern else {})
        return {"name": self.name, "type": self.type, "redaction": self.redaction, "from": source}


@dataclass(frozen=True, slots=True)
class Confirm:
    """The verification of one step (§9.5) by the action ``action_id`` of the type ``kind``.

    ``expect`` has one of ``equals``, ``contains``, ``matches`` with the text expected; it is empty where presence is enough.
    """

    step_id: str
    action_id: str
    kind: str
    expect: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        expect = {"expect": dict(self.expect)} if self.expect else {}
        return {"stepId": self.step_id, "actionId": self.action_id, "type": self.kind, **expect}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled artifact; equal sources and variables make it equal, byte for byte once written as JSON.

    ``executions`` are normalised payloads, in the order in which they run: one, or several where steps are ``optional`` (§9.12).
    An execution that holds an optional step holds nothing else but what belongs to it. ``recipe`` is ``{id, version, type}``,
    and ``None`` for a JSON template, which has no outputs, confirms and capabilities of its own.
    """

    skill_id: str
    artifact: str
    executions: tuple[dict[str, Any], ...]
    optional: tuple[str, ...]
    recipe: Mapping[str, Any] | None
    capabilities: tuple[str, ...]
    outputs: tuple[Output, ...]
    confirms: tuple[Confirm, ...]
    warnings: tuple[Mapping[str, Any], ...]

    @property
    def execution(self) -> dict[str, Any]:
        """The first execution; the only one unless steps are optional."""
        return self.executions[0]

    def to_dict(self) -> dict[str, Any]:
        """The answer of ``compile-artifact``: §3 for a JSON template (warnings only where there are any), §9.6 for a recipe."""
        warnings = [dict(warning) for warning in self.warnings]
        if self.recipe is None:
            return {"execution": self.execution} | ({"warnings": warnings} if warnings else {})
        answer: dict[str, Any] = {"execution": self.execution}
        if len(self.executions) > 1:
            answer |= {"executions": list(self.executions), "optional": list(self.optional)}
        return answer | {
            "recipe": dict(self.recipe),
            "capabilities": list(self.capabilities),
            "outputs": [output.to_dict() for output in self.outputs],
            "confirms": [confirm.to_dict() for confirm in self.confirms],
            "warnings": warnings,
        }
