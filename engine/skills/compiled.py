"""The result of compiling an artifact: executions, and what to check and report after running them."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from typing import Any, NamedTuple

STAND_IN = {"resourceId": "chosen:id/node"}
"""A placeholder with which an action is validated until its node is chosen."""


def is_compiled(document: object) -> bool:
    """Return whether ``document`` is the output of ``compile-artifact`` rather than an execution."""
    return isinstance(document, dict) and not document.keys().isdisjoint(("execution", "executions"))


class Output(NamedTuple):
    """One declared output (skills.md#outputs): data key ``key`` of the action ``step``.

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


class Confirm(NamedTuple):
    """The verification of one step (skills.md#verification) by the action ``action_id`` of the type ``kind``.

    ``expect`` has one of ``equals``, ``contains``, ``matches`` with the text expected; it is empty where presence is enough.
    """

    step_id: str
    action_id: str
    kind: str
    expect: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        expect = {"expect": dict(self.expect)} if self.expect else {}
        return {"stepId": self.step_id, "actionId": self.action_id, "type": self.kind, **expect}


class Choice(NamedTuple):
    """The ``selector`` by which the node of a step is chosen at run time, with inputs filled in."""

    step_id: str
    selector: Mapping[str, Any]

    def to_dict(self) -> dict[str, Any]:
        return {"stepId": self.step_id, "selector": dict(self.selector)}


def with_matcher(execution: Mapping[str, Any], matcher: Mapping[str, str] | None) -> dict[str, Any]:
    """Return ``execution`` with ``matcher`` in its first action, or with none."""
    first, *others = execution["actions"]
    params = {key: value for key, value in first.get("params", {}).items() if key != "matcher"}
    params |= {} if matcher is None else {"matcher": dict(matcher)}
    return {**execution, "actions": [{**first, "params": params}, *others]}


@dataclass(frozen=True, slots=True)
class Compiled:
    """A compiled artifact; equal sources and variables give the same JSON, byte for byte.

    ``executions`` are normalised payloads in order: one, or several if steps are ``optional`` (skills.md#optional-steps); an
    optional step has an execution of its own. ``recipe`` is ``{id, version, type}``, ``None`` for a JSON template, which has no
    outputs, confirms and capabilities. ``fallback`` is the skill's ``fallback_instructions_path``, reported by a failed run.

    The step of a choice is the first action of its execution and has no matcher, so that the execution is invalid without it.
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
    fallback: Mapping[str, str] = field(default_factory=dict)
    choices: tuple[Choice, ...] = ()
    private: tuple[str, ...] = ()
    """The texts of selectors that a recipe annotates USER_SPECIFIC; not part of the JSON, and of no answer of a run."""

    @property
    def execution(self) -> dict[str, Any]:
        """Return the first execution; the only one unless steps are optional or have choices."""
        return self.executions[0]

    def choice(self, execution: Mapping[str, Any]) -> Choice | None:
        """Return the choice to make before ``execution``."""
        return next((one for one in self.choices if one.step_id == execution["actions"][0]["id"]), None)

    def to_dict(self) -> dict[str, Any]:
        """Return the output of ``compile-artifact`` for a JSON template (skills.md#json-templates) or a recipe (skills.md#compilation).

        ``execution`` is present for a single one without a choice, else ``executions``.
        """
        warnings = [dict(warning) for warning in self.warnings]
        if self.recipe is None:
            return {"execution": self.execution} | ({"warnings": warnings} if warnings else {})
        answer: dict[str, Any] = {"execution": self.execution}
        if len(self.executions) > 1 or self.choices:  # no "execution": its readers would ignore the rest
            answer = {"executions": list(self.executions), "optional": list(self.optional)}
        if self.choices:
            answer["choices"] = [choice.to_dict() for choice in self.choices]
        return answer | {
            "recipe": dict(self.recipe),
            "capabilities": list(self.capabilities),
            "outputs": [output.to_dict() for output in self.outputs],
            "confirms": [confirm.to_dict() for confirm in self.confirms],
            "warnings": warnings,
        }
