"""The drawing of every document of ``--output pretty``."""

from __future__ import annotations

import json
from typing import TYPE_CHECKING, Any

from clawperator.app.cli.pretty import (
    artifacts,
    devices,
    doctor,
    emulators,
    executions,
    history,
    logs,
    operator,
    recordings,
    settings,
    skill_runs,
    skills,
    trees,
)
from clawperator.app.cli.pretty.toolbox import Drawing, render, safe_text

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping


def indented(data: object) -> Drawing:
    """Draw a document without a drawing of its own: indented JSON."""
    yield safe_text(json.dumps(data, ensure_ascii=False, indent=2), lines=True)


DRAWINGS: Mapping[str, Callable[[Any], Drawing]] = {
    "": indented,
    "audit": history.audit,
    "avd": emulators.avd,
    "avd_deleted": emulators.avd_deleted,
    "avds": emulators.avds,
    "bundle": settings.bundle,
    "changes": trees.changes,
    "checked": settings.checked,
    "compatibility": operator.compatibility,
    "compiled_artifact": artifacts.compiled_artifact,
    "connected": devices.connected,
    "crash_log": operator.crash_log,
    "devices": devices.devices,
    "disconnected": devices.disconnected,
    "device_row": executions.device_row,
    "discovered": devices.discovered,
    "doctor": doctor.doctor,
    "emulator_started": emulators.emulator_started,
    "emulator_stopped": emulators.emulator_stopped,
    "emulators": emulators.emulators,
    "error": executions.error,
    "event": logs.event,
    "execution": executions.execution,
    "exported": history.exported,
    "fan_out_summary": executions.fan_out_summary,
    "granted": operator.granted,
    "hook_installed": skills.hook_installed,
    "index_checked": skills.index_checked,
    "index_written": skills.index_written,
    "lint": skills.lint,
    "fleet_devices": devices.fleet,
    "locks": devices.locks,
    "log_lines": logs.log_lines,
    "matches": trees.matches,
    "operator_fetch": operator.operator_fetch,
    "operator_setup": operator.operator_setup,
    "operator_status": operator.operator_status,
    "packages": devices.packages,
    "paired": devices.paired,
    "paths": settings.paths,
    "plan": executions.plan,
    "play_report": skill_runs.play_report,
    "policy": settings.policy,
    "policy_checked": settings.policy_checked,
    "provisioned": emulators.provisioned,
    "pruned": history.pruned,
    "recording_drafted": recordings.recording_drafted,
    "recording_parsed": recordings.recording_parsed,
    "recording_pulled": recordings.recording_pulled,
    "replayed": recordings.replayed,
    "run": history.run,
    "run_tree": history.run_tree,
    "runs": history.runs,
    "settings": settings.settings,
    "skill": skills.skill,
    "skill_created": skills.skill_created,
    "skill_run": skill_runs.skill_run,
    "skill_valid": skills.skill_valid,
    "skills": skills.skills,
    "skills_ci": skills.skills_ci,
    "skills_valid": skills.skills_valid,
    "suggestions": trees.suggestions,
    "synced": skills.synced,
    "tree_view": trees.tree_view,
    "unchanged_tree": trees.unchanged_tree,
    "validated": executions.validated,
    "version": operator.version,
}
"""``Answer.view`` of the commands → the function that draws ``Answer.data``."""


def draw(view: str, data: Any) -> bytes:
    """Return the drawing of ``data`` as the bytes for stdout."""
    return render(DRAWINGS[view](data))
