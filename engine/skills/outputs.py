"""Outputs, confirmations and variance of a recipe's run (skills.md#verification, skills.md#outputs, skills.md#optional-steps). Pure.

Screen texts are private: ``outputs`` and ``actual`` are redacted as the recipe declares, and no warning contains a value.
"""

from __future__ import annotations

import hashlib
import math
import re
from collections.abc import Iterable, Mapping, Sequence
from typing import Any, Final

from clawperator.engine.contracts.envelope import code_of
from clawperator.engine.errors import ErrorCode
from clawperator.engine.events.typed_text import TypedText
from clawperator.engine.filters.pattern_cost import cost_of
from clawperator.engine.skills.compiled import Confirm, Output
from clawperator.engine.skills.recipe.patterns import pattern_problem
from clawperator.engine.skills.variables import Scalar, text_of

Steps = Mapping[str, Mapping[str, Any]]
"""Step results (wire.md#envelope) by the id of their action."""

_INTEGER = re.compile(r"[+-]?[0-9]{1,300}")
_NUMBER = re.compile(r"[+-]?(?:[0-9]{1,300}(?:\.[0-9]{0,300})?|\.[0-9]{1,300})(?:[eE][+-]?[0-9]{1,3})?")
_TRUTHS: Final = {
    "true": True,
    "on": True,
    "yes": True,
    "1": True,
    "false": False,
    "off": False,
    "no": False,
    "0": False,
}
_HASH_DIGITS = 16
_READ = ("text", "raw_text", "value", "label")
"""Keys of a step's data with what it read."""
REDACTED = "[redacted]"
"""Stands for a redacted text inside another text."""
MASK = "mask"
"""The default redaction of texts."""


def steps_of(envelopes: Iterable[Mapping[str, Any]]) -> dict[str, Mapping[str, Any]]:
    """Return the step results of envelopes by action id; ids are unique in a compiled artifact."""
    return {step["id"]: step for envelope in envelopes for step in envelope["stepResults"]}


# -- outputs


def read_outputs(
    outputs: Iterable[Output], steps: Steps, salt: bytes
) -> tuple[dict[str, Scalar], list[dict[str, Any]]]:
    """Return the declared outputs, redacted, and a warning for each that is missing."""
    values: dict[str, Scalar] = {}
    warnings = []
    for output in outputs:
        text = _text_at(steps, output.step, output.key)
        value: Scalar | None = None
        if text is None:
            problem = "OUTPUT_MISSING", f"step {output.step} returned no {output.key}"
        else:
            text, problem = _inner(text, output.pattern)
            if text is not None:
                value = convert(text, output.type)
                problem = "OUTPUT_NOT_CONVERTED", f"the value is not of type {output.type}"
        if value is None:
            code, reason = problem
            message = f"output {output.name} is absent: {reason}"
            warnings.append({"code": code, "path": f"outputs.{output.name}", "message": message})
        elif output.redaction != "drop":
            values[output.name] = redact(value, output.redaction, salt)
    return values, warnings


def _text_at(steps: Steps, step: str, key: str) -> str | None:
    """Return the data of a successful step under ``key``."""
    result = steps.get(step)
    if result is None or not result.get("success"):
        return None
    text = (result.get("data") or {}).get(key)
    return text if isinstance(text, str) else None


def _inner(text: str, pattern: str) -> tuple[str | None, tuple[str, str]]:
    """Return the group that the pattern matches, or the whole text without a pattern; and the error otherwise."""
    if not pattern:
        return text, ("", "")
    found, problem = search(pattern, text)
    if found is None:
        return None, ("OUTPUT_PATTERN", problem or "its pattern does not match the text")
    return found[1] if found.re.groups else found[0], ("OUTPUT_PATTERN", "its group did not match")


def convert(text: str, kind: str) -> Scalar | None:
    """Return ``text`` as a value of an output's type; ``None`` if it cannot be converted."""
    plain = text.strip()
    if kind == "integer":
        return int(plain) if _INTEGER.fullmatch(plain) else None
    if kind == "number":
        if _INTEGER.fullmatch(plain):
            return int(plain)
        value = float(plain) if _NUMBER.fullmatch(plain) else math.nan
        return value if math.isfinite(value) else None
    if kind == "boolean":
        return _TRUTHS.get(plain.casefold())
    return text


def redacted(
    answer: Mapping[str, Any], outputs: Iterable[Output], private: Iterable[str], steps: Steps, salt: bytes
) -> dict[str, Any]:
    """Return the answer of a run without the texts of redacted outputs, and without ``private`` ones, wherever they stand in it.

    The step from which an output is read has it as the recipe declares.
    """
    outputs = tuple(outputs)
    shown_ids = {output.step for output in outputs if output.redaction == "none"}
    unconfirmed = {error.get("details", {}).get("actionId") for error in answer.get("errors", ())} - shown_ids
    hiding = [output for output in outputs if output.redaction != "none"]
    hiding += [Output("", "string", MASK, step, "text", "") for step in unconfirmed if step in steps]
    secrets = [*private, *(text for output in hiding for text in _secrets(output, steps))]
    hidden = TypedText(secrets, REDACTED)
    if not hidden:
        return dict(answer)
    shown = {key: value if key == "outputs" else _untold(value, hiding, salt) for key, value in answer.items()}
    return {key: value if key == "outputs" else hidden.value(value, key) for key, value in shown.items()}


def _secrets(output: Output, steps: Steps) -> Iterable[str]:
    data = (steps.get(output.step) or {}).get("data") or {}
    whole = {data[key] for key in (output.key, *_READ) if isinstance(data.get(key), str)}
    inner = {_inner(text, output.pattern)[0] for text in whole}
    return {text for text in whole | inner if text}


def _untold(value: Any, outputs: Sequence[Output], salt: bytes) -> Any:
    """Return ``value`` with the outputs in its step results redacted."""
    if isinstance(value, list):
        return [_untold(item, outputs, salt) for item in value]
    if not isinstance(value, Mapping):
        return value
    found = {key: _untold(item, outputs, salt) for key, item in value.items()}
    for output in outputs if isinstance(found.get("data"), Mapping) and "actionType" in found else ():
        text = found["data"].get(output.key)
        if found.get("id") == output.step and isinstance(text, str):
            data = {key: item for key, item in found["data"].items() if key != output.key}
            found["data"] = (
                data if output.redaction == "drop" else data | {output.key: redact(text, output.redaction, salt)}
            )
    return found


def redact(value: Scalar, mode: str, salt: bytes) -> Scalar:
    """Return ``value`` redacted by ``none``, ``hash`` or ``mask``, the default. The caller handles ``drop``."""
    if mode == "none":
        return value
    text = text_of(value)
    if mode == "hash":
        digest = hashlib.sha256(salt + text.encode(errors="surrogatepass")).hexdigest()
        return f"sha256:{digest[:_HASH_DIGITS]}"
    return "".join("*" if character.isalnum() else character for character in text)


def search(pattern: str, text: str) -> tuple[re.Match[str] | None, str]:
    """Return the first match, or the problem of an invalid or too expensive pattern, which is not tried."""
    if problem := pattern_problem(pattern):
        return None, problem
    return re.search(pattern, text[: cost_of(pattern).reach]), ""


# -- confirmations


def failed_confirms(
    confirms: Iterable[Confirm], steps: Steps, outputs: Iterable[Output], salt: bytes
) -> list[dict[str, Any]]:
    """Return VERIFY_FAILED for each expectation that is not met; ``confirms`` must belong to completed executions."""
    modes = {output.step: output.redaction for output in outputs}
    failed = []
    for confirm in confirms:
        if not confirm.expect:
            continue
        actual = _text_at(steps, confirm.action_id, "text")
        if actual is None or not meets(actual, confirm.expect):
            failed.append(_verify_failed(confirm, actual, modes.get(confirm.action_id, MASK), salt))
    return failed


def meets(actual: str, expect: Mapping[str, str]) -> bool:
    """Return whether ``equals``, ``contains`` and ``matches`` (a regular expression) all hold."""
    return (
        expect.get("equals", actual) == actual
        and expect.get("contains", "") in actual
        and ("matches" not in expect or search(expect["matches"], actual)[0] is not None)
    )


def _verify_failed(confirm: Confirm, actual: str | None, mode: str, salt: bytes) -> dict[str, Any]:
    """Return the error object of the run report (errors.md#codes)."""
    code = ErrorCode.VERIFY_FAILED
    details: dict[str, Any] = {
        "stepId": confirm.step_id,
        "actionId": confirm.action_id,
        "expected": dict(confirm.expect),
    }
    if actual is None:
        details["actual"] = None
    elif mode != "drop":
        details["actual"] = redact(actual, mode, salt)
    seen = "no text was read" if actual is None else "the text differs"
    return {
        "code": code.value,
        "message": f"Step {confirm.step_id} is not confirmed: {seen}",
        "hint": code.hint,
        "details": details,
    }


# -- variance


def variance(step_id: str, execution: Mapping[str, Any], envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Return what an optional step expected and what it found (skills.md#optional-steps)."""
    action = next(action for action in execution["actions"] if action["id"] == step_id)
    result = next((step for step in envelope["stepResults"] if not step["success"]), None)
    found: dict[str, Any] = {"error": envelope.get("error")}
    code = envelope.get("errorCode") or code_of((result or {}).get("data") or {})
    if code:
        found["errorCode"] = code
    if result is not None:
        found["actionId"] = result["id"]
    expected = {"actionType": action["type"], **({"params": action["params"]} if action.get("params") else {})}
    return {"stepId": step_id, "expected": expected, "found": found}
