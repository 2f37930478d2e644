"""A run without what was read from a screen or typed into one: what happened, when, and how it ended, is left. Pure."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

_TELLING = frozenset(
    {
        # the payload: what is done, not to which texts
        "id", "type", "commandId", "taskId", "source", "mode", "expectedFormat", "applicationId", "expectedPackage", "key",
        "direction", "clickType", "role", "resourceId", "validator",
        # the envelope
        "actionType", "status", "errorCode", "errorCodeSource", "application_id", "host_preflight", "host_preflight_ok",
        "actual_format", "truncated", "tree", "code", "path",
        # the run
        "executionId", "deviceId", "backend", "face", "origin", "package", "kind", "stepId", "digest",
    }
)  # fmt: skip
"""Keys whose texts are names of ours or of programs; every other text may be somebody's."""

_OF_LINES = (
    "commandId",
    "taskId",
    "source",
    "timeoutMs",
    "actionCount",
    "stepCount",
    "attempt",
    "delayMs",
    "durationMs",
)
"""Fields of live lines that are numbers and names; ``id`` of a stage holds the texts that were looked for."""


def without_texts(run: Mapping[str, Any]) -> dict[str, Any]:
    """``run`` (``RunRecord.to_dict``) with every text masked that is none of our names, and without lines' and trees' texts."""
    lines = [{**line, "text": "", "fields": _line_fields(line["fields"])} for line in run["lines"]]
    return {
        **_masked({key: value for key, value in run.items() if key not in ("lines", "raw")}),
        "lines": lines,
        "raw": [],
    }


def _line_fields(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name in _OF_LINES}


def _masked(value: Any, key: str = "") -> Any:
    match value:
        case str():
            plain = key in _TELLING or (key == "error" and value.isupper() and " " not in value)
            return value if plain else f"[{len(value)} characters]" if value else ""
        case Mapping():
            return {name: _masked(item, name) for name, item in value.items()}
        case list() | tuple():
            return [_masked(item, key) for item in value]
    return value
