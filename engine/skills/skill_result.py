"""Read the result that a skill reports itself: the last two lines of its stdout, a mark and one JSON object (skills.md#skill-result)."""

# ruff: noqa: N815 - fields are named as JSON names them

from __future__ import annotations

import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Literal

from pydantic import AfterValidator, BaseModel, ConfigDict, Field, ValidationError

from clawperator.engine.contracts.strict_json import parse_json
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.frames import SKILL_RESULT

_BLANK = r"[^\S\n]{0,100}"
_MARK = re.compile(rf"^{_BLANK}(?:{'|'.join(map(re.escape, SKILL_RESULT))}){_BLANK}$", re.MULTILINE)
_LONGEST_REASON = 300
_PROVED = ("verified", "passed", "ok", "success")
"""Values of ``terminalVerification.status``, or keys of it that are true, which say that the verification holds."""


_VERSION = re.compile(r"1\.[0-9]{1,9}\.[0-9]{1,9}")


def _version(text: str) -> str:
    if not _VERSION.fullmatch(text):
        raise ValueError("the major version must be 1: 1.<minor>.<patch>")
    return text


class _Open(BaseModel):
    """Base: unknown keys of newer skills are kept."""

    model_config = ConfigDict(frozen=True, extra="allow", strict=True)


class _Text(_Open):
    kind: Literal["text"]
    text: str


class _Json(_Open):
    kind: Literal["json"]
    value: Any


class _Reference(_Open):
    """A result of the skill's executions: ``execEnvelopes[execEnvelopeIndex]``, or one step of it."""

    kind: Literal["result_envelope_ref"]
    execEnvelopeIndex: Annotated[int, Field(ge=0)]
    stepResultId: str | None = None


class _Checkpoint(_Open):
    id: Annotated[str, Field(min_length=1)]
    status: Literal["ok", "failed", "skipped"]
    observedAt: str | None = None
    note: str | None = None


class _SkillResult(_Open):
    contractVersion: Annotated[str, AfterValidator(_version)]
    skillId: str
    status: Literal["success", "failed", "indeterminate"]
    result: Annotated[_Text | _Json | _Reference, Field(discriminator="kind")] | None
    checkpoints: list[_Checkpoint]
    goal: dict[str, Any] | None = None
    inputs: dict[str, Any] | None = None
    terminalVerification: dict[str, Any] | None = None
    execEnvelopes: list[dict[str, Any]] | None = None
    diagnostics: Any = None


def read_skill_result(stdout: str, skill_id: str) -> dict[str, Any] | None:
    """Return the result with all of its keys and ``source``; ``None`` where stdout has no mark.

    Raises ``SKILL_RESULT_PARSE_FAILED`` with ``details.reason``, for a wrong value also ``details.path``.
    """
    marks = list(_MARK.finditer(stdout))
    if not marks:
        return None
    if len(marks) > 1:
        raise _unreadable(skill_id, "stdout has more than one of them")
    line, end, rest = stdout[marks[0].end() :].strip().partition("\n")
    if not line:
        raise _unreadable(skill_id, "no JSON object follows its mark")
    if end:
        raise _unreadable(skill_id, f"a further line follows its JSON object: {rest[:40]!r}")
    try:
        value = parse_json(line)
    except EngineError as exc:
        raise _unreadable(skill_id, exc.message) from exc
    if not isinstance(value, dict):
        raise _unreadable(skill_id, "it is not a JSON object")
    try:
        result = _SkillResult.model_validate(value)
    except ValidationError as exc:
        first = exc.errors(include_url=False, include_context=False, include_input=False)[0]
        key, *inner = first["loc"]
        path = ".".join(map(str, (key, *inner[key == "result" :])))  # without the kind of a result, which is no key
        raise _unreadable(skill_id, first["msg"].removeprefix("Value error, "), path) from exc
    if result.skillId != skill_id:
        raise _unreadable(skill_id, "it is the result of another skill", "skillId")
    if isinstance(result.result, _Reference) and referenced(value) is None:
        raise _unreadable(skill_id, "no such result is in execEnvelopes", "result")
    return {**value, "source": {"kind": "script"}}


def referenced(result: Mapping[str, Any]) -> Mapping[str, Any] | None:
    """Return what a ``result_envelope_ref`` refers to: an envelope of ``execEnvelopes``, or one of its step results."""
    reference, envelopes = result["result"], result.get("execEnvelopes") or []
    if reference["execEnvelopeIndex"] >= len(envelopes):
        return None
    envelope: Mapping[str, Any] = envelopes[reference["execEnvelopeIndex"]]
    if (step_id := reference.get("stepResultId")) is None:
        return envelope
    steps = envelope.get("stepResults")
    found = (step for step in steps if isinstance(step, dict)) if isinstance(steps, list) else ()
    return next((step for step in found if step.get("id") == step_id), None)


def result_rows(result: Mapping[str, Any]) -> Iterator[tuple[str, Any]]:
    """Yield what people read of a result: label and value of the result itself, and of a verification."""
    value = result["result"]
    if value is not None:
        yield (
            "result",
            referenced(result) if value["kind"] == "result_envelope_ref" else value.get("text", value.get("value")),
        )
    if verification := result.get("terminalVerification"):
        yield "verified", verification


def short(result: Mapping[str, Any]) -> dict[str, Any]:
    """Return a result without the envelopes of the skill's executions, which may hold whole trees, but for the one that is meant."""
    left_out = ("execEnvelopes", "diagnostics", "source", "contractVersion")
    rest = {key: value for key, value in result.items() if key not in left_out}
    if (value := result["result"]) is not None and value["kind"] == "result_envelope_ref":
        rest["result"] = {**value, "value": referenced(result)}
    return rest


def require_done(skill_id: str, result: Mapping[str, Any], contract: object) -> None:
    """Raise where a skill does not report success, or does not prove the verification that its ``contract`` declares.

    ``SKILL_EXECUTION_FAILED`` and ``SKILL_VERIFICATION_INDETERMINATE``, without the output of the script.
    """
    status = result["status"]
    if status == "failed":
        where = next((point for point in result["checkpoints"] if point["status"] == "failed"), None)
        at = f" at checkpoint {where['id'][:100]}" if where else ""
        raise EngineError(
            ErrorCode.SKILL_EXECUTION_FAILED,
            f"Skill {skill_id} reports that it failed{at}",
            hint="Read skillResult.",
        )
    declared = contract.get("verification") if isinstance(contract, Mapping) else None
    if status == "success" and (declared is None or _proved(result.get("terminalVerification"))):
        return
    why = (
        "reports success without proof of its verification"
        if status == "success"
        else "does not know whether it succeeded"
    )
    raise EngineError(ErrorCode.SKILL_VERIFICATION_INDETERMINATE, f"Skill {skill_id} {why}")


def _proved(verification: object) -> bool:
    if not isinstance(verification, Mapping):
        return False
    return verification.get("status") in _PROVED or any(verification.get(key) is True for key in _PROVED)


def _unreadable(skill_id: str, reason: str, path: str = "") -> EngineError:
    reason = f"{path}: {reason}" if path else reason
    return EngineError(
        ErrorCode.SKILL_RESULT_PARSE_FAILED,
        f"The result that skill {skill_id} printed cannot be read: {reason[:_LONGEST_REASON]}",
        details={"reason": reason[:_LONGEST_REASON], **({"path": path} if path else {})},
    )
