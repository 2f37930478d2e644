"""``--output pretty``: documents as tables and colours. Nothing here is parsed by anybody; every text passes ``visible``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from rich.table import Table
from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.compile import compiled_artifact  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.config import bundle, checked, places, settings  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.doctor import doctor  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text, warnings
from clawperator.app.cli.pretty.emulator import (  # noqa: F401 -- asked for by name
    avd,
    avd_deleted,
    avds,
    emulator_stopped,
    emulator_up,
    emulators,
    provisioned,
)
from clawperator.app.cli.pretty.history import audit, exported, pruned, run, run_tree, runs  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.lint import hook_installed, lint, skills_ci  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.logs import log_lines  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.operator import crash_log, granted, operator_fetch, operator_setup, operator_status  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.policy import policy, policy_checked  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.recording import (  # noqa: F401 -- asked for by name
    recording_drafted,
    recording_parsed,
    recording_pulled,
    replayed,
)
from clawperator.app.cli.pretty.skill_run import play_report, skill_run  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.skills import (  # noqa: F401 -- asked for by name
    index_checked,
    index_written,
    skill,
    skill_made,
    skill_valid,
    skills,
    skills_valid,
)
from clawperator.app.cli.pretty.sync import synced  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.trees import changes, draw_view, matches, suggestions, tree_view  # noqa: F401 -- asked for by name
from clawperator.app.cli.pretty.wireless import announced, connected, disconnected, paired  # noqa: F401 -- asked for by name

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from clawperator.engine.adb.mdns import MdnsService
    from clawperator.engine.adb.parse import DeviceEntry

_LONG_VALUE = 160
_STATUS_STYLES = {"succeeded": GOOD, "done": GOOD, "partial": UNSURE, "failed": BAD}


def document(data: Any) -> Iterator[RenderableType]:
    """Whatever has no drawing of its own: indented JSON."""
    yield safe_text(json.dumps(data, ensure_ascii=False, indent=2), lines=True)


def error(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(data["code"]), BAD), "  ", visible(data["message"], lines=True))
    if data.get("hint"):
        yield safe_text(f"  {data['hint']}", UNSURE)
    if steps := data.get("outcome", {}).get("steps"):
        yield _steps(steps, ())
    spoken = ("code", "message", "hint", "retryable", "outcome")
    yield from _facts({key: value for key, value in data.items() if key not in spoken and value not in ({}, [], "")})


def devices(entries: Sequence[DeviceEntry]) -> Iterator[RenderableType]:
    if not entries:
        yield safe_text("No devices. Connect one, or try `clawperator demo`.", UNSURE)
        return
    table = plain_table("serial", "state", "model", "product", "connection")
    for entry in entries:
        state = safe_text(entry.state, GOOD if entry.usable else UNSURE)
        connection = entry.usb or entry.detail
        table.add_row(
            safe_text(entry.serial),
            state,
            safe_text(entry.model),
            safe_text(entry.product),
            safe_text(connection, FAINT),
        )
    yield table


def discovered(data: tuple[Sequence[DeviceEntry], Sequence[MdnsService]]) -> Iterator[RenderableType]:
    yield from devices(data[0])
    yield from announced(data[1])


def packages(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for name in data["packages"]:
        yield safe_text(name)


def execution(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """The verdict, a table of the steps, and long texts (UI trees) below it."""
    envelope, outcome = data["envelope"], data["outcome"]
    command = visible(envelope.get("commandId", ""))
    verdict = (visible(outcome["status"]), _STATUS_STYLES.get(outcome["status"], BAD))
    yield Text.assemble(
        verdict, f"  {command} on {visible(data['deviceId'])}", (f"  {visible(data['executionId'])}", FAINT)
    )
    if error := outcome.get("error"):
        yield safe_text(f"  {error['code']}  {error['message']}", BAD)
        yield safe_text(f"  {error['hint']}", UNSURE)
    results = envelope.get("stepResults") or []
    if outcome["steps"]:
        yield _steps(outcome["steps"], results)
    for step in results:
        text = step.get("data", {}).get("text")
        if isinstance(text, str) and _is_long(text):
            yield safe_text(f"\n{step.get('id', '')}: {len(text.encode(errors='replace'))} bytes", FAINT, lines=True)
            yield safe_text(text, lines=True)
        if view := step.get("data", {}).get("view"):
            yield Text("")
            yield from draw_view(view)


def _steps(steps: Sequence[Mapping[str, Any]], results: Sequence[Mapping[str, Any]]) -> Table:
    """The steps of an outcome, with what those found that have a result in the envelope."""
    data = {result.get("id"): result.get("data", {}) for result in results}
    table = plain_table("step", "action", "result", "took", "data")
    for step in steps:
        code = f" {step['code']}" if step.get("code") else ""
        took = "" if step["durationMs"] is None else f"{step['durationMs']} ms"
        table.add_row(
            safe_text(step["id"]),
            safe_text(step["type"]),
            safe_text(f"{step['status'].replace('_', ' ')}{code}", _STATUS_STYLES.get(step["status"], FAINT)),
            safe_text(took, FAINT),
            _short_data({**data.get(step["id"], {}), **_taken(step.get("target", {}))}),
        )
    return table


def _taken(target: Mapping[str, Any]) -> dict[str, str]:
    """The node that a step acted on, as far as the step's own data do not say it."""
    if "bounds" not in target:
        return {}
    name = target.get("resourceId") or target.get("text", "")
    return {"node": f"{name} {target['bounds']}, {target['matched']} matched"}


def _short_data(data: Mapping[str, Any]) -> Text:
    lines = [f"{key}: {'(below)' if _is_long(str(value)) else value}" for key, value in data.items()]
    return safe_text("\n".join(visible(line) for line in lines), lines=True)


def _is_long(text: str) -> bool:
    return len(text) > _LONG_VALUE or "\n" in text


def validated(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for payload in data.get("executions") or [data["execution"]]:
        yield Text.assemble(("valid", GOOD), f"  {visible(payload['commandId'])}, {len(payload['actions'])} actions")
        yield _actions(payload["actions"])
    yield from warnings(data)


def plan(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for steps in data.get("plans") or [data["plan"]]:
        yield Text.assemble(("dry run", GOOD), f"  {visible(steps['commandId'])} within {steps['timeoutMs']} ms")
        yield _actions(steps["actions"])
    yield from warnings(data)


def _actions(actions: Sequence[Mapping[str, Any]]) -> Table:
    table = plain_table("step", "action", "params")
    for action in actions:
        params = json.dumps(action.get("params", {}), ensure_ascii=False)
        table.add_row(safe_text(action["id"]), safe_text(action["type"]), safe_text(params))
    return table


def version(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    generations = data["operatorGenerations"]
    yield safe_text(f"clawperator {data['cliVersion']}, for Operator {' and '.join(generations)}")
    if "actions" not in data:
        return
    table = plain_table("action", "command", *(f"Operator {generation}" for generation in generations))
    for row in data["actions"]:
        answers = [row["operator"][generation] for generation in generations]
        styles = [GOOD if words == "yes" else BAD if words == "no" else UNSURE for words in answers]
        table.add_row(row["action"], row["command"], *map(Text, answers, styles))
    yield table


def compatibility(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    verdict = ("compatible", GOOD) if data["compatible"] else ("not compatible", BAD)
    apk = data.get("apkVersion", "unknown")
    yield Text.assemble(
        verdict, f"  clawperator {data['cliVersion']}, {visible(data['receiverPackage'])} {visible(apk)}"
    )
    if data.get("error"):
        yield from error(data["error"])
    for line in data.get("remediation", ()):
        yield safe_text(f"  - {line}")


def locks(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["locks"]:
        yield safe_text("No device is locked.", GOOD)
        return
    table = plain_table("device", "state", "pid", "command", "source")
    for lock in data["locks"]:
        state = safe_text(lock["state"], GOOD if lock["state"] == "free" else UNSURE)
        table.add_row(
            safe_text(lock["deviceId"]),
            state,
            *(safe_text(lock.get(key, "")) for key in ("pid", "commandId", "source")),
        )
    yield table


def event(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """One line of ``watch``."""
    import time

    clock = time.strftime("%H:%M:%S", time.localtime(data["at"]))
    told = {key: value for key, value in data.items() if key not in ("at", "event", "deviceId", "text", "raw")}
    words = "  ".join(f"{key}={value}" for key, value in told.items())
    yield Text.assemble((clock, FAINT), "  ", (visible(data["event"]), GOOD), "  ", visible(words))


def _facts(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    for key, value in data.items():
        shown = value if isinstance(value, str) else json.dumps(value, ensure_ascii=False)
        yield safe_text(f"  {key}: {shown}", FAINT)
