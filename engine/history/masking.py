"""Runs without the texts that were read from a screen or typed. Pure.

``without_texts`` is for exports: not even the shape of a text remains. ``masked`` is for recording with safe logs (skills.md#outputs).
"""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from clawperator.engine.diagnostics.safe_logs import (
    LINE_FIELDS,
    NAMES,
    is_code,
    mask,
    mask_document,
    mask_envelope,
    mask_line,
    mask_payload,
    mask_type,
    mask_warning,
)
from clawperator.engine.history.records import HOST_KINDS, AuditRecord, LineRecord, RunRecord


def without_texts(run: Mapping[str, Any]) -> dict[str, Any]:
    """Return ``run`` (``RunRecord.to_dict``) with all texts replaced by their length, except names; without texts of lines and trees."""
    lines = [{**line, "text": "", "fields": _line_fields(line["fields"])} for line in run["lines"]]
    return {
        **_measured({key: value for key, value in run.items() if key not in ("lines", "raw")}),
        "lines": lines,
        "raw": [],
    }


def _line_fields(fields: Mapping[str, str]) -> dict[str, str]:
    return {name: value for name, value in fields.items() if name in LINE_FIELDS}


def _measured(value: Any, key: str = "") -> Any:
    match value:
        case str():
            plain = key in NAMES or is_code(key, value)
            return value if plain else f"[{len(value)} characters]" if value else ""
        case Mapping():
            return {name: _measured(item, name) for name, item in value.items()}
        case list() | tuple():
            return [_measured(item, key) for item in value]
    return value


def masked(run: RunRecord) -> RunRecord:
    """Return ``run`` for safe logs: without trees and verbatim texts of the device."""
    outcome = run.summary.outcome
    return run._replace(
        summary=run.summary._replace(outcome=None if outcome is None else mask_document(outcome)),
        message=mask(run.message),
        payload=None if run.payload is None else mask_payload(run.payload),
        envelope=None if run.envelope is None else mask_envelope(run.envelope),
        raw=(),
        lines=tuple(_line(line) for line in run.lines),
        steps=tuple(step._replace(type=mask_type(step.type)) for step in run.steps),
        trees=(),
        warnings=tuple(mask_warning(warning) for warning in run.warnings),
    )


def masked_audit(row: AuditRecord) -> AuditRecord:
    """Return ``row`` for safe logs: unknown action types of a refused payload are masked."""
    return row._replace(action_types=tuple(map(mask_type, row.action_types)))


def _line(line: LineRecord) -> LineRecord:
    return line if line.kind in HOST_KINDS else line._replace(text=mask_line(line.text))
