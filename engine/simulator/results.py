"""The Operator's results as it writes them: envelopes of each generation, in one line or in chunk records (wire.md#envelope, wire.md#chunk-records),
and what may happen to those records between the Operator and a reader of the log (``changed_records``). Pure.
"""

from __future__ import annotations

import base64
import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from hashlib import sha256
from typing import Any, NamedTuple

from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.runtime.outcome import PlanOutcome, StepReport
from clawperator.engine.runtime.plan import OperatorPlan, PlanStep

LONGEST_LINE = 3_000
"""Bytes of a result with its prefix that are written as one line, from Operator 0.10 on."""
_CHUNK_BYTES = 1_024
_CODES = (
    ("No UI node found matching criteria", "NODE_NOT_FOUND"),
    ("Target node not found after scrolling", "NODE_NOT_FOUND"),
    ("Timeout waiting for node matching", "WAIT_TIMEOUT"),
    ("NODE_AMBIGUOUS", "NODE_AMBIGUOUS"),
    ("CONTAINER_AMBIGUOUS", "CONTAINER_AMBIGUOUS"),
    ("Container not found", "CONTAINER_NOT_FOUND"),
    ("No scrollable container visible", "CONTAINER_NOT_FOUND"),
    ("Click at coordinate", "GESTURE_FAILED"),
    ("GESTURE_FAILED", "GESTURE_FAILED"),
    ("GESTURE_UNSUPPORTED", "GESTURE_UNSUPPORTED"),
    ("SNAPSHOT_HIERARCHY_UNAVAILABLE", "SNAPSHOT_HIERARCHY_UNAVAILABLE"),
    ("UI tree not available", "UI_TREE_UNAVAILABLE"),
    ("Agent command timed out", "COMMAND_TIMEOUT"),
)
"""The codes of the texts with which steps end a plan, from Operator 0.10 on; all others are ACTION_FAILED."""


def success_envelope(plan: OperatorPlan, outcome: PlanOutcome) -> dict[str, object]:
    """wire.md#envelope, in its key order."""
    return {
        **_head(plan),
        "status": "success",
        "stepResults": [step.to_dict() for step in outcome.records],
        "error": None,
    }


def failed_envelope(plan: OperatorPlan, error: str, error_code: str = "") -> dict[str, object]:
    """A failure without steps: up to Operator 0.9 of every plan, later where the service is off."""
    envelope = {**_head(plan), "status": "failed", "stepResults": [], "error": error}
    return {**envelope, "errorCode": error_code} if error_code else envelope


def typed_envelope(plan: OperatorPlan, outcome: PlanOutcome, running: PlanStep | None) -> dict[str, object]:
    """From Operator 0.10 on: failed steps have a code, and a plan that failed in the step ``running`` has all steps up to it."""
    steps = [_typed_step(report) for report in outcome.records]
    if not outcome.reason:
        return {**_head(plan), "status": "success", "stepResults": steps, "error": None}
    code = next((code for text, code in _CODES if outcome.reason.startswith(text)), "ACTION_FAILED")
    if running is not None:
        data = {**outcome.failed_data, "errorCode": code, "error": outcome.reason}
        steps.append({"id": running.id, "actionType": running.type, "success": False, "data": data})
    return {**_head(plan), "status": "failed", "stepResults": steps, "error": outcome.reason, "errorCode": code}


def _typed_step(report: StepReport) -> dict[str, object]:
    step = report.to_dict()
    if not report.outcome.success:
        step["data"] = {
            **report.outcome.data,
            "errorCode": report.outcome.data.get("errorCode") or report.outcome.error or "ACTION_FAILED",
        }
    return step


def _head(plan: OperatorPlan) -> dict[str, object]:
    return {"commandId": plan.command_id, "taskId": plan.task_id}


def json_line(value: Mapping[str, object]) -> str:
    """One line; non-ASCII stays raw, control characters are escaped."""
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def chunk_records(line: str, command_id: str, task_id: str) -> Iterator[dict[str, object]]:
    """The records of a result's whole ``line``, with its prefix."""
    raw = line.encode("utf-8", "replace")
    count, digest = -(-len(raw) // _CHUNK_BYTES), sha256(raw).hexdigest()
    for index in range(count):
        piece = raw[index * _CHUNK_BYTES : (index + 1) * _CHUNK_BYTES]
        yield {
            "commandId": command_id,
            "taskId": task_id,
            "index": index,
            "count": count,
            "byteLength": len(raw),
            "sha256": digest,
            "data": base64.b64encode(piece).decode(),
        }


Record = Mapping[str, object]
_TOO_MANY = 65_537


class Written(NamedTuple):
    """A record as it comes into the log; ``foreign``: another app writes it, under the same tag."""

    text: str
    foreign: bool = False


def written(prefix: str, whole: str, command_id: str, task_id: str, fault: Any) -> list[Written]:
    """Return the records of a result's ``whole`` line, subject to ``fault`` (``changed_records``); ``prefix`` is that of chunk records."""
    records = [*chunk_records(whole, command_id, task_id)]
    if fault is None:
        return [Written(prefix + json_line(record)) for record in records]
    other = [*chunk_records(_other(whole, command_id), command_id, task_id)]
    if fault.how in _FOREIGN:
        brand = next(brand for brand in BRANDS if (brand in prefix) == (fault.how == "forged"))
        forged = [Written(f"[{brand}-Result-Chunk] {json_line(record)}", foreign=True) for record in other]
        own = [Written(prefix + json_line(record)) for record in records]
        return [each for pair in zip(forged, own, strict=False) for each in pair] + own[len(forged) :]
    if fault.how == "mixed":
        elsewhere = [*chunk_records(_other(whole, "foreign-1"), "foreign-1", task_id)]
        pairs = [each for pair in zip(records, elsewhere, strict=False) for each in pair]
        return [Written(prefix + json_line(each)) for each in (*pairs, *records[len(elsewhere) :])]
    chosen = [place for place in fault.records if place < len(records)]
    return [Written(prefix + json_line(record)) for record in _CHANGES[fault.how](records, other, chosen)]


def _other(whole: str, command_id: str) -> str:
    """Return the line of another result that is as long: without steps."""
    prefix, _, body = whole.partition(" ")
    envelope = {**json.loads(body), "commandId": command_id, "stepResults": []}
    return f"{prefix} {json_line({**envelope, 'padding': 'x' * (len(body) // 2)})}"


def _doubled(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        yield from [record] * (1 + (place in chosen))


def _exchanged(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    order = list(range(len(records)))
    for place in chosen:
        order[place - 1], order[place] = order[place], order[place - 1]
    yield from (records[place] for place in order)


def _corrupt(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        data = str(record["data"])
        yield {**record, "data": ("B" if data[0] == "A" else "A") + data[1:]} if place in chosen else record


def _contradicting(records: Sequence[Record], other: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        yield record
        if place in chosen:
            yield {**record, "data": other[place % len(other)]["data"]}


def _stalled(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    yield from records[: min(chosen, default=len(records))]


def _with(**changes: Callable[[Record, Record], object]) -> Callable[..., Iterator[Record]]:
    """Return a change of these keys in all records, by a record and one of another result."""

    def changed(records: Sequence[Record], other: Sequence[Record], _: Sequence[int]) -> Iterator[Record]:
        for record in records:
            yield {**record, **{key: change(record, other[0]) for key, change in changes.items()}}

    return changed


_FOREIGN = ("forged", "both_brands")
_CHANGES: Mapping[str, Callable[[Sequence[Record], Sequence[Record], Sequence[int]], Iterator[Record]]] = {
    "doubled": _doubled,
    "exchanged": _exchanged,
    "corrupt": _corrupt,
    "contradicting": _contradicting,
    "stalled": _stalled,
    "too_many": _with(count=lambda *_: _TOO_MANY, byteLength=lambda *_: _TOO_MANY * 1024),
    "wrong_size": _with(byteLength=lambda record, _: int(str(record["byteLength"])) - 1),
    "other_digest": _with(sha256=lambda _, other: other["sha256"]),
}
