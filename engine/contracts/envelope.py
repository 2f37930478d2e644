"""The terminal envelope, the one line of JSON with the device's result (wire.md#envelope)."""

from __future__ import annotations

import json
from collections.abc import Mapping, Sequence
from typing import Any, NamedTuple, NoReturn

from clawperator.engine.contracts.aliases import canonical

STATUSES = ("success", "failed")


class EnvelopeError(ValueError):
    """Not an acceptable envelope; the text is the reason."""


class StepResult(NamedTuple):
    """One step's outcome. ``data`` is empty where the device sent none; its values are text, whatever they mean."""

    id: str
    action_type: str
    success: bool
    data: Mapping[str, str]

    def to_dict(self) -> dict[str, Any]:
        return {"id": self.id, "actionType": self.action_type, "success": self.success, "data": dict(self.data)}


class Envelope(NamedTuple):
    """``status`` is ``success`` when the plan ran to its end, even if steps failed; ``error`` is then usually ``None``."""

    command_id: str
    task_id: str
    status: str
    step_results: tuple[StepResult, ...] = ()
    error: str | None = None
    error_code: str | None = None

    def to_dict(self) -> dict[str, Any]:
        """The envelope as JSON data in the order in which the device writes it."""
        answer: dict[str, Any] = {
            "commandId": self.command_id,
            "taskId": self.task_id,
            "status": self.status,
            "stepResults": [step.to_dict() for step in self.step_results],
            "error": self.error,
        }
        if self.error_code is not None:
            answer["errorCode"] = self.error_code
        return answer


def code_of(data: Mapping[str, Any]) -> str:
    """Return the error code in a failed step's data, or empty: from Operator 0.10 on ``error`` may be a sentence."""
    return str(data.get("errorCode") or data.get("error") or "")


class _Number(str):
    """A JSON number in its original digits."""

    __slots__ = ()


def parse_envelope(text: str) -> Envelope:
    """Parse the JSON after the result prefix; unknown fields are ignored.

    Raises ``ValueError`` (``EnvelopeError``, or the JSON reader's) with a reason; nothing is guessed.
    """
    try:
        return _envelope(json.loads(text, parse_float=_Number, parse_int=_Number, parse_constant=_refuse_constant))
    except RecursionError:
        raise EnvelopeError("the envelope is nested too deeply") from None


def _envelope(raw: object) -> Envelope:
    if not isinstance(raw, dict):
        raise EnvelopeError("the envelope is not an object")
    status = _text(raw, "status")
    if status not in STATUSES:
        raise EnvelopeError(f"status is {status!r}, not one of success, failed")
    if not isinstance(steps := raw.get("stepResults"), list):
        raise EnvelopeError("stepResults is not an array")
    return Envelope(
        command_id=_text(raw, "commandId"),
        task_id=_text(raw, "taskId"),
        status=status,
        step_results=tuple(_step(index, step) for index, step in enumerate(steps)),
        error=_text_or_null(raw, "error", required=True),
        error_code=_text_or_null(raw, "errorCode", required=False),
    )


def difference(envelope: Envelope, planned: Sequence[tuple[str, str]]) -> str:
    """Return how the steps of ``envelope`` differ from ``planned`` (id and type of each action); empty if they answer it.

    A successful plan has a result for each step, in order; a failed one for those until it broke off, or none.
    """
    results = envelope.step_results
    for number, (result, (step_id, step_type)) in enumerate(zip(results, planned, strict=False), 1):
        if result.id != step_id:
            return f'step {number} is "{result.id}", not "{step_id}"'
        if canonical(result.action_type) != step_type:
            return f'step {number}, "{step_id}", is of type {result.action_type}, not {step_type}'
    if len(results) > len(planned) or (envelope.status == "success" and len(results) < len(planned)):
        return f"it has {len(results)} step results for {len(planned)} steps"
    return ""


def _step(index: int, raw: object) -> StepResult:
    if not isinstance(raw, dict):
        raise EnvelopeError(f"stepResults[{index}] is not an object")
    where = f"stepResults[{index}]."
    if not isinstance(success := raw.get("success"), bool):
        raise EnvelopeError(f"{where}success is not a boolean")
    data = raw.get("data")
    values = {key: _as_text(value) for key, value in data.items()} if isinstance(data, dict) else {}
    return StepResult(_text(raw, "id", where), _text(raw, "actionType", where), success, values)


def _text(raw: Mapping[str, object], key: str, where: str = "") -> str:
    value = raw.get(key)
    if not isinstance(value, str) or isinstance(value, _Number):
        raise EnvelopeError(f"{where}{key} is not a string")
    return value


def _text_or_null(raw: Mapping[str, object], key: str, *, required: bool) -> str | None:
    if required and key not in raw:
        raise EnvelopeError(f"{key} is missing")
    return None if raw.get(key) is None else _text(raw, key)


def _as_text(value: object) -> str:
    """A data value as text: a string as it is, anything else as compact JSON with its original digits."""
    return str(value) if isinstance(value, str) else _json(value)


def _json(value: object) -> str:
    if isinstance(value, _Number):
        return str(value)
    if isinstance(value, dict):
        return (
            "{" + ",".join(f"{json.dumps(key, ensure_ascii=False)}:{_json(item)}" for key, item in value.items()) + "}"
        )
    if isinstance(value, list):
        return "[" + ",".join(map(_json, value)) + "]"
    return json.dumps(value, ensure_ascii=False)


def _refuse_constant(name: str) -> NoReturn:
    raise EnvelopeError(f"{name} is not JSON")
