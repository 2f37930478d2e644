"""What the host adds to the device's envelope (execution.md#how-it-runs and execution.md#result). Pure.

The functions change the envelope, as JSON data, in place and yield warnings.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, NamedTuple

from clawperator.engine.contracts.derived import derived_code
from clawperator.engine.contracts.envelope import Envelope, code_of
from clawperator.engine.contracts.execution import Execution
from clawperator.engine.contracts.issues import Warning_, joined
from clawperator.engine.contracts.limits import DUMP_FORMAT, MAX_SNAPSHOT_BYTES, MAX_SNAPSHOT_LINES, MAX_TREE_BYTES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.validate import Profile
from clawperator.engine.logcat.signals import CapturedHierarchy

Step = dict[str, Any]

_CLICKS = ("click", "scroll_and_click")


class Shot(NamedTuple):
    """The screenshot of one step: its file, or ``None`` and the error."""

    path: str | None
    error: str = ""


@dataclass(frozen=True, slots=True)
class RunOptions:
    """Options of results. ``max_snapshot_bytes`` truncates ``data.text``; ``raw_envelope`` omits what the host derives.

    ``profile``: in ``flat``, a failed step fails the plan, and closed apps are not remarked on (execution.md#result).
    ``then``: the form (of ``THEN``) in which the result shows the screen after the plan, in at most ``then_bytes``; what changed
    is relative to the tree ``then_since``, or else to the screen before the plan.
    ``strict``: refuse several matches where an action does not say; ``None``: as the engine does.
    ``display`` is the logical display of screenshots. ``verify`` reads the windows and displays after the plan, for what its last
    snapshot cannot show. ``recorded``: not in the history, unless it fails: a snapshot whose tree the row of another one keeps.
    """

    profile: Profile = "classic"
    raw_envelope: bool = False
    max_snapshot_bytes: int | None = None
    screenshot_overwrite: bool = False
    then: str | None = None
    then_bytes: int | None = None
    then_since: str = ""
    verify: bool = False
    display: int = 0
    recorded: bool = True
    strict: bool | None = None


def finish(
    envelope: Envelope,
    execution: Execution,
    *,
    snapshots: Sequence[CapturedHierarchy],
    screenshots: Mapping[str, Shot],
    closed: Mapping[str, bool],
    options: RunOptions,
) -> tuple[dict[str, Any], tuple[Warning_, ...]]:
    """Return the finished envelope as JSON data, and warnings.

    ``snapshots`` are the trees in the log, oldest first; ``screenshots`` the captures by step id; ``closed`` whether each
    application that the plan closes was force-stopped.
    """
    answer = envelope.to_dict()
    steps: list[Step] = answer["stepResults"]
    warnings: list[Warning_] = []
    _finish_closes(steps, execution, closed, options)
    _attach_snapshots(steps, snapshots)
    warnings += _missing_snapshots(steps, [snapshot for snapshot in snapshots if snapshot.size])
    warnings += _render_snapshots(steps, execution)
    _look_at_snapshots(steps, execution, options)
    warnings += _finish_screenshots(steps, screenshots, options)
    _derive_code(answer, options)
    if options.profile == "flat":
        _reconcile(answer)
    _hint(answer)
    return answer, tuple(warnings)


def _finish_closes(steps: list[Step], execution: Execution, closed: Mapping[str, bool], options: RunOptions) -> None:
    """Report apps as closed that the host has stopped, whatever the device says of it: it refuses to (execution.md#close_app)."""
    applications = {a.id: a.params.get("applicationId", "") for a in execution.actions if a.type == "close_app"}
    for step in steps:
        if step["success"] or step["actionType"] != "close_app":
            continue
        application = step["data"].get("application_id") or applications.get(step["id"], "")
        done = closed.get(application)
        if options.profile == "flat":
            if done:
                step.update(success=True, data={"application_id": application})
        elif (
            done is not None
            and step["data"].get("error") == ErrorCode.UNSUPPORTED_RUNTIME_CLOSE
            and not options.raw_envelope
        ):
            step["data"] |= {"host_preflight": "force_stop", "host_preflight_ok": "true" if done else "false"}


def _attach_snapshots(steps: list[Step], snapshots: Sequence[CapturedHierarchy]) -> None:
    """Attach trees to their steps, and trees without a step to the remaining steps, last first (execution.md#snapshots)."""
    complete = [snapshot for snapshot in snapshots if snapshot.complete]
    by_step = {snapshot.step_id: snapshot for snapshot in complete if snapshot.step_id}
    unassigned = [snapshot for snapshot in complete if not snapshot.step_id]
    for step in reversed([step for step in steps if _awaits_text(step)]):
        snapshot = by_step.get(step["id"]) or (unassigned.pop() if unassigned else None)
        if snapshot is not None:
            step["data"]["text"] = snapshot.xml
        if snapshot is not None and snapshot.cut_lines:
            step["data"]["cut_lines"] = str(snapshot.cut_lines)
            step["data"]["warn"] = f"The device's log cut {snapshot.cut_lines} over-long line(s) of it."


def _awaits_text(step: Step) -> bool:
    return step["actionType"] == "snapshot_ui" and step["success"] and "text" not in step["data"]


def too_large(bytes_: int) -> EngineError:
    """Return the error for a tree that was counted and not kept."""
    limit = MAX_TREE_BYTES // 2**20
    message = f"The UI tree has {bytes_:,} bytes; the trees of one execution may have {limit} MiB together"
    return EngineError(ErrorCode.HIERARCHY_TOO_LARGE, message, details={"bytes": bytes_, "maxBytes": MAX_TREE_BYTES})


def _missing_snapshots(steps: list[Step], large: Sequence[CapturedHierarchy]) -> Iterator[Warning_]:
    for index, step in enumerate(steps):
        if not _awaits_text(step):
            continue
        step["success"] = False
        if size := next((tree.size for tree in large if tree.step_id in (step["id"], "")), 0):
            error = too_large(size)
            step["data"] |= {"error": error.code.value, "message": error.message}
            yield Warning_(error.code.value, joined("stepResults", index), error.message)
            continue
        step["data"] |= {
            "error": ErrorCode.SNAPSHOT_EXTRACTION_FAILED.value,
            "message": "The device reported success, but no complete UI hierarchy could be read from its log. "
            "Check version compatibility and that the device log can be read.",
        }
        yield Warning_(
            ErrorCode.SNAPSHOT_EXTRACTION_FAILED.value,
            joined("stepResults", index),
            f'snapshot_ui step "{step["id"]}" UI hierarchy extraction produced no output. '
            "Run `clawperator doctor` and `clawperator version --check-compat`.",
        )


def _render_snapshots(steps: list[Step], execution: Execution) -> Iterator[Warning_]:
    """Render trees in the format that the plan requests; a tree that cannot be rendered stays XML."""
    formats = {action.id: action.params.get("format", DUMP_FORMAT) for action in execution.actions}
    for index, step in enumerate(steps):
        chosen, data = formats.get(step["id"], DUMP_FORMAT), step["data"]
        if chosen == DUMP_FORMAT or step["actionType"] != "snapshot_ui" or not data.get("text"):
            continue
        from clawperator.engine.hierarchy.tree import parse
        from clawperator.engine.hierarchy.views import as_json, as_text

        try:
            tree = parse(data["text"], recover=True)
            data |= {"text": as_text(tree) if chosen == "ascii" else as_json(tree), "actual_format": chosen}
        except (EngineError, RecursionError) as exc:
            reason = exc.message if isinstance(exc, EngineError) else "the tree is too deep"
            message = f'snapshot_ui step "{step["id"]}" is left as {DUMP_FORMAT}: {reason}'
            yield Warning_("SNAPSHOT_NOT_RENDERED", joined("stepResults", index), message)


def _look_at_snapshots(steps: list[Step], execution: Execution, options: RunOptions) -> None:
    hasty = _hasty_snapshots(execution) if options.profile == "flat" else set()
    for step in steps:
        data = step["data"]
        if step["actionType"] != "snapshot_ui" or not step["success"] or "text" not in data:
            continue
        remarks = [data["warn"]] if "warn" in data else []
        remarks += [_SETTLE_REMARK] if step["id"] in hasty else []
        remarks += _size_remark(data["text"])
        if remarks:
            data["warn"] = " ".join(remarks)
        _truncate(data, options.max_snapshot_bytes)


_SETTLE_REMARK = "Taken right after a click, without a sleep step before it: the screen may not have settled."


def _hasty_snapshots(execution: Execution) -> set[str]:
    pairs = zip(execution.actions, execution.actions[1:], strict=False)
    return {action.id for before, action in pairs if action.type == "snapshot_ui" and before.type in _CLICKS}


def _size_remark(text: str) -> list[str]:
    """Return a remark on a large snapshot. Bytes are counted only if necessary: encoding megabytes is slow."""
    lines, characters = text.count("\n") + 1, len(text)
    small = characters <= MAX_SNAPSHOT_BYTES and len(text.encode("utf-8", "surrogatepass")) <= MAX_SNAPSHOT_BYTES
    if lines <= MAX_SNAPSHOT_LINES and small:
        return []
    limits = f"{MAX_SNAPSHOT_LINES} lines or {MAX_SNAPSHOT_BYTES} bytes"
    return [f"Larger than {limits}: {lines} lines, {characters} characters."]


def _truncate(data: dict[str, str], limit: int | None) -> None:
    if limit is None:
        return
    raw = data["text"].encode("utf-8", "surrogatepass")
    if len(raw) > limit:
        data |= {"text": raw[:limit].decode("utf-8", "ignore"), "truncated": "true"}


def _finish_screenshots(steps: list[Step], screenshots: Mapping[str, Shot], options: RunOptions) -> Iterator[Warning_]:
    """Complete the steps whose screenshots the host took; a failed capture leaves the step as the device reported it (execution.md#screenshots)."""
    for index, step in enumerate(steps):
        data, shot = step["data"], screenshots.get(step["id"])
        if data.get("error") != ErrorCode.UNSUPPORTED_RUNTIME_SCREENSHOT or shot is None:
            continue
        if shot.path is not None:
            step["success"] = True
            data.pop("error")
            data.pop("message", None)
            data["path"] = shot.path
            continue
        if not options.raw_envelope:
            data["capture_error"] = shot.error
        message = f'take_screenshot step "{step["id"]}": {shot.error}'
        yield Warning_("SCREENSHOT_CAPTURE_FAILED", joined("stepResults", index), message)


def _derive_code(answer: dict[str, Any], options: RunOptions) -> None:
    """Add the error code that the device's text implies (execution.md#error-codes-from-the-devices-texts)."""
    if answer["status"] != "failed" or "errorCode" in answer or options.raw_envelope:
        return
    if code := derived_code(answer["error"] or ""):
        answer |= {"errorCode": code.value, "errorCodeSource": "host"}


def _reconcile(answer: dict[str, Any]) -> None:
    """Set the status of the flat profile, in which a failed step fails the plan (execution.md#result)."""
    steps: list[Step] = answer["stepResults"]
    if not steps:
        return
    failed = next((step for step in steps if not step["success"]), None)
    if failed is None:
        answer |= {"status": "success", "error": None}
        answer.pop("errorCode", None)
        answer.pop("errorCodeSource", None)
        return
    words = f"Step {failed['id']} ({failed['actionType']}) failed"
    code = code_of(failed["data"])
    answer |= {"status": "failed", "error": f"{words}: {code}" if code else words}


def _hint(answer: dict[str, Any]) -> None:
    if answer.get("errorCode") == ErrorCode.SERVICE_UNAVAILABLE:
        answer["hint"] = ErrorCode.SERVICE_UNAVAILABLE.hint
