"""Masking of texts for safe logs, histories and audits (skills.md#outputs). Pure.

Only the keys listed here keep their texts; all other texts are masked.
"""

from __future__ import annotations

import re
from collections.abc import Mapping
from functools import cache
from typing import Any

from clawperator.engine.contracts.aliases import ALIASES, spelled
from clawperator.engine.contracts.limits import EXPECTED_FORMAT, MODES
from clawperator.engine.contracts.operator_identity import BRANDS

NAMES = frozenset(
    {
        # the payload
        "id", "type", "commandId", "taskId", "source", "mode", "expectedFormat", "applicationId", "expectedPackage", "key",
        "direction", "clickType", "role", "resourceId", "validator",
        # the envelope
        "actionType", "status", "errorCode", "errorCodeSource", "application_id", "host_preflight", "host_preflight_ok",
        "actual_format", "truncated", "tree", "code", "path",
        # the run
        "executionId", "deviceId", "backend", "face", "origin", "package", "kind", "stepId", "digest",
    }
)  # fmt: skip
"""Keys whose texts are names; some only if the text is one of ``_words``."""

LINE_FIELDS = (
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
"""Fields of live lines that are numbers and names; the ``id`` of a stage contains matcher texts."""

_OUTCOMES = frozenset(
    {
        "all", "click_after", "click_types", "count", "direction", "distance_ratio", "duration_ms", "foreground_package",
        "has_overlay", "last_package", "max_swipes", "overlay_package", "resolved_container", "resource_id",
        "scroll_outcome", "scrolls_executed", "settle_delay_ms", "submit", "termination_reason", "timeout_ms",
        "window_count", "candidate_count", "clear", "dispatch_accepted", "dispatch_method", "dispatched", "elapsed_ms",
        "navigation_elapsed_ms", "resolved_package", "submission", "submit_method", "text_entry", "visible", "waitTimeoutMs",
    }
)  # fmt: skip
"""Keys of a step's data without texts of the screen (wire.md#semantics-on-the-device)."""
_TREES = ("text", "tree", "view")
"""Keys of a snapshot's data with the tree."""
_LETTER = re.compile(r"[^\W_]")
_KEY = re.compile(r"[A-Za-z_][A-Za-z0-9_]{0,63}\Z")
_FIELD_LINE = re.compile(rf"\[(?:(?:{'|'.join(BRANDS)})-Command|UiActionEngine)\] [a-z_-]+(?= )")
"""Beginnings of lines with fields; of other lines only the origin is kept."""
_ORIGIN = re.compile(r"\[[A-Za-z-]+\]")


_FOLDERS = re.compile(r".*[/\\]", re.DOTALL)
"""Of the file of a picture: they may be named after a person. A place in a payload has none."""


def mask(text: str) -> str:
    """Return ``text`` with ``*`` for every letter and digit."""
    return _LETTER.sub("*", text)


def mask_payload(payload: Mapping[str, Any]) -> dict[str, Any]:
    """Return a payload, valid or not, without typed texts and matcher texts; unknown keys are masked, too."""
    known = _payload_keys()

    def masked(value: Any, key: str) -> Any:
        match value:
            case Mapping():
                return {name if name in known else mask(str(name)): masked(item, name) for name, item in value.items()}
            case list() | tuple():
                return [masked(item, key) for item in value]
        return _masked(value, key, NAMES)

    result: dict[str, Any] = masked(payload, "")
    return result


def mask_type(name: str) -> str:
    """Return an action type, masked if unknown."""
    return name if spelled(name) in _words()["type"] else mask(name)


def mask_warning(warning: Mapping[str, Any]) -> dict[str, Any]:
    """Return a warning with unknown keys in its ``path`` masked."""
    known = _payload_keys()

    def segment(found: re.Match[str]) -> str:
        return found[0] if found[0].isdigit() or found[0] in known else mask(found[0])

    masked = mask_document(warning)
    if isinstance(path := masked.get("path"), str):
        masked["path"] = re.sub(r"[^.\[\]]+", segment, path)
    return masked


@cache
def _payload_keys() -> frozenset[str]:
    from clawperator.engine.contracts.actions import ACTIONS
    from clawperator.engine.contracts.matcher import NodeMatcher
    from clawperator.engine.contracts.payload import PayloadPlan, PayloadStep
    from clawperator.engine.contracts.values import Coordinate, RetryParams

    models: tuple[Any, ...] = (PayloadStep, NodeMatcher, Coordinate, RetryParams, *ACTIONS.values())
    return frozenset(PayloadPlan.model_fields).union(*(model.model_fields for model in models))


@cache
def _words() -> Mapping[str, frozenset[str]]:
    """Return the allowed words of keys: other words come from a caller's mistake or the device."""
    from clawperator.engine.contracts.actions import ACTIONS, INPUT_ACTIONS
    from clawperator.engine.verbs.catalogue import CLICK_TYPES, DIRECTIONS, KEYS, VALIDATORS

    types = frozenset((*ACTIONS, *ALIASES, *INPUT_ACTIONS))
    return {
        "type": types,
        "actionType": types,
        "key": frozenset(KEYS),
        "direction": frozenset(DIRECTIONS),
        "clickType": frozenset((*CLICK_TYPES, "click", "longclick")),
        "validator": frozenset(("none", *VALIDATORS)),
        "mode": frozenset(MODES),
        "expectedFormat": frozenset((EXPECTED_FORMAT,)),
    }


def mask_envelope(envelope: Mapping[str, Any]) -> dict[str, Any]:
    """Return an envelope without the texts that its steps read, and without trees."""
    steps = envelope.get("stepResults")
    masked = mask_document({key: value for key, value in envelope.items() if key != "stepResults"})
    if isinstance(steps, list | tuple):
        masked["stepResults"] = [_step(step) for step in steps]
    return masked


def mask_document(document: Mapping[str, Any]) -> dict[str, Any]:
    """Return JSON data with all texts masked except names."""
    return {_key(name): _masked(value, name, NAMES) for name, value in document.items()}


def mask_line(text: str) -> str:
    """Return one of the Operator's live lines with its names and numbers; of a stage, only its kind."""
    from clawperator.engine.logcat.progress import read_progress

    head, progress = _FIELD_LINE.match(text), read_progress(text)
    if head is None or progress is None:
        origin = _ORIGIN.match(text)
        kept = origin[0] if origin else ""
        return kept + mask(text[len(kept) :])
    kind, fields = progress
    begin = text.find(f" {next(iter(fields))}=") if fields else len(text)
    line, position = head[0] + mask(text[head.end() : begin]), begin
    for name, value in fields.items():  # they follow each other without a gap
        line += f" {name}={_field(kind, name, value)}"
        position += len(name) + len(value) + 2
    return line + mask(text[position:])


def _field(kind: str, name: str, value: str) -> str:
    if name == "id" and kind.startswith("stage"):
        word = re.match(r"[A-Za-z]*", value)
        assert word is not None
        return word[0] + mask(value[word.end() :])
    of_step = kind.startswith("step") and name in ("id", "type")
    plain = (name in LINE_FIELDS or of_step) and re.fullmatch(r"\S{1,128}", value)
    return value if plain else mask(value)


def _step(step: Any) -> Any:
    if not isinstance(step, Mapping):
        return _masked(step, "", NAMES)
    data = step.get("data")
    masked = mask_document({key: value for key, value in step.items() if key != "data"})
    if isinstance(data, Mapping):
        dropped = _TREES if step.get("actionType") == "snapshot_ui" else ("tree", "view")
        known = NAMES | _OUTCOMES
        masked["data"] = {_key(key): _masked(value, key, known) for key, value in data.items() if key not in dropped}
    return masked


def _key(name: object) -> str:
    text = str(name)
    return text if _KEY.match(text) else mask(text)


def _masked(value: Any, key: str, names: frozenset[str]) -> Any:
    match value:
        case str():
            if key == "path":
                return _FOLDERS.sub(lambda found: mask(found[0]), value)
            words = _words().get(key)
            plain = spelled(value) in words if words else key in names or is_code(key, value)
            return value if plain else mask(value)
        case Mapping():
            return {_key(name): _masked(item, name, names) for name, item in value.items()}
        case list() | tuple():
            return [_masked(item, key, names) for item in value]
    return value


def is_code(key: str, value: str) -> bool:
    """Return whether ``value`` is an error code, for a ``key`` that can also hold a sentence."""
    return key == "error" and value.isupper() and " " not in value
