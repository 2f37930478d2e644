"""A validated execution as a value, and as the text that goes to the device."""

from __future__ import annotations

import json
from collections.abc import Mapping
from copy import deepcopy
from dataclasses import dataclass, field, replace
from typing import Any, Self

from clawperator.engine.contracts.actions import ACTIONS
from clawperator.engine.contracts.limits import DEFAULT_MODE, EXPECTED_FORMAT


@dataclass(frozen=True, slots=True)
class Action:
    """One step; ``type`` is canonical, ``params`` normalised JSON data."""

    id: str
    type: str
    params: Mapping[str, Any] = field(default_factory=dict)

    def to_payload(self) -> dict[str, Any]:
        """The action as normalised JSON data that the caller may change; ``params`` only where there are any."""
        return _action(self, deepcopy(dict(self.params)))

    def to_wire(self) -> dict[str, Any]:
        """The action as sent to the device: only parameters that the action type reads, under every name any generation reads."""
        known = ACTIONS.get(self.type)
        sent = None if known is None else known.model_fields.keys() - known.host_only
        params = {name: value for name, value in self.params.items() if sent is None or name in sent}
        if self.type == "scroll_and_click" and (target := params.get("target") or params.get("matcher")):
            params |= {"target": target, "matcher": target}
        return _action(self, params)


@dataclass(frozen=True, slots=True)
class Execution:
    """A validated plan; ``mode`` is whether it was compiled from a skill or given directly."""

    command_id: str
    task_id: str
    source: str
    timeout_ms: int
    actions: tuple[Action, ...]
    mode: str = DEFAULT_MODE

    @property
    def steps(self) -> list[tuple[str, str]]:
        """Id and type of each action."""
        return [(action.id, action.type) for action in self.actions]

    @property
    def has_references(self) -> bool:
        """Whether a matcher refers to a node of a view."""
        return any(is_reference(value) for action in self.actions for value in action.params.values())

    def with_timeout(self, timeout_ms: int) -> Self:
        return replace(self, timeout_ms=timeout_ms)

    def to_payload(self) -> dict[str, Any]:
        """The normalised payload, as stored, shown and returned."""
        return self._root([action.to_payload() for action in self.actions]) | {"mode": self.mode}

    def wire_json(self) -> str:
        """The compact JSON that the device gets (wire.md#payload-parsing-on-the-device): no nulls, no empty matcher fields, whole numbers as such."""
        root = self._root([action.to_wire() for action in self.actions])
        return json.dumps(root, ensure_ascii=False, separators=(",", ":"), allow_nan=False)

    def _root(self, actions: list[dict[str, Any]]) -> dict[str, Any]:
        return {
            "commandId": self.command_id,
            "taskId": self.task_id,
            "source": self.source,
            "expectedFormat": EXPECTED_FORMAT,
            "timeoutMs": self.timeout_ms,
            "actions": actions,
        }


def _action(action: Action, params: dict[str, Any]) -> dict[str, Any]:
    answer: dict[str, Any] = {"id": action.id, "type": action.type}
    return answer | ({"params": params} if params else {})


def is_reference(value: object) -> bool:
    """Whether a parameter is a matcher that refers to a node of a view."""
    return isinstance(value, Mapping) and "ref" in value
