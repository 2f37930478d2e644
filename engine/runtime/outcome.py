"""What steps and plans come to."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.tree import UiTree


@dataclass(frozen=True, slots=True)
class ActionResult:
    """One step's result. ``data`` keeps the key order of the Operator; all values are text (wire.md#envelope)."""

    success: bool
    data: Mapping[str, str] = field(default_factory=dict)

    @property
    def error(self) -> str:
        return self.data.get("error", "")


@dataclass(frozen=True, slots=True)
class StepReport:
    """A step that was carried out, with what it came to."""

    id: str
    action_type: str
    outcome: ActionResult

    def to_dict(self) -> dict[str, object]:
        """The step as in an envelope: ``data`` only where there is some."""
        step: dict[str, object] = {"id": self.id, "actionType": self.action_type, "success": self.outcome.success}
        if self.outcome.data:
            step["data"] = dict(self.outcome.data)
        return step


@dataclass(frozen=True, slots=True)
class PlanOutcome:
    """``records`` holds what was done before a plan failure too; the Operator drops them from its envelope, a caller need not.

    ``reason`` is empty when the plan ran to its end, even if steps failed (wire.md#actions-and-how-they-fail).
    """

    records: tuple[StepReport, ...]
    reason: str = ""
    failed_step: str = ""
    failed_data: Mapping[str, str] = field(default_factory=dict)


class PlanFailure(Exception):  # noqa: N818 - the contract's word: a plan fails, a step fails
    """A step threw: the plan stops here. ``str(failure)`` is the Operator's text, without ``Task execution failed:``.

    ``data`` are the step's from Operator 0.10 on, ``tree`` the one in which too much matched.
    ``final``: another attempt would not help.
    """

    def __init__(
        self,
        reason: str,
        data: Mapping[str, str] | None = None,
        *,
        final: bool = False,
        tree: UiTree | None = None,
    ) -> None:
        super().__init__(reason)
        self.data = data or {}
        self.final = final
        self.tree = tree


def success(data: Mapping[str, str] | None = None) -> ActionResult:
    return ActionResult(True, data or {})


def failure(error: str, data: Mapping[str, str] | None = None) -> ActionResult:
    """A step failure: the plan continues. ``error`` follows the other keys."""
    return ActionResult(False, {**(data or {}), "error": error})
