"""Checks of a full run: build, install and start the Operator app from its sources (doctor.md#checks)."""

from __future__ import annotations

import os
from collections.abc import Mapping

from clawperator.engine.adb.android_user import am
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.contracts.operator_identity import brand_of
from clawperator.engine.doctor.check import ANSWER_SECONDS, Check, manual
from clawperator.engine.errors import ErrorCode
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput

BUILD_SECONDS = 1_800.0
"""Time limit of Gradle, whose first build downloads all dependencies."""
_TAIL_BYTES = 64 * 1024
_TAIL_LINES = 20
_TAIL_CHARACTERS = 3_000
_STEPS = {
    "build.android.assemble": (
        ":app:assembleDebug",
        ErrorCode.ANDROID_BUILD_FAILED,
        "The Operator app builds",
        "The Operator app does not build",
    ),
    "build.android.install": (
        ":app:installDebug",
        ErrorCode.ANDROID_INSTALL_FAILED,
        "The built Operator app was installed",
        "The built Operator app could not be installed",
    ),
}


async def run_gradle(
    check_id: str, project: str, env: Mapping[str, str], *, device_id: str = "", seconds: float = BUILD_SECONDS
) -> Check:
    """Run the Gradle task of ``check_id`` in the folder ``project`` ('' if unknown), for ``device_id`` if given."""
    task, code, passed, failed = _STEPS[check_id]
    script = _gradlew(project)
    if not script:
        where = f"{project} contains no gradlew" if project else "The Android project's folder is unknown"
        step = "Pass --project <folder of the Operator's Android project>, or set CLAWPERATOR_ANDROID_PROJECT."
        return Check(check_id, "fail", failed, code, where, "Specify the Android project", manual(step))
    title, fix = "Read Gradle's output", manual(f"Run ./gradlew {task} in {project} and read its output.")
    try:
        done = await capture(
            ["./gradlew", task],
            {**env, **({"ANDROID_SERIAL": device_id} if device_id else {})},
            stdout=BoundedOutput(0, _TAIL_BYTES),
            stderr=BoundedOutput(0),
            merge_stderr=True,
            seconds=seconds,
            patience=0.0,
            folder=project,
        )
    except CannotStartError as exc:
        why = f"./gradlew cannot be run: {getattr(exc.reason, 'strerror', None) or exc}"
        return Check(check_id, "fail", failed, code, why, "Make gradlew executable", manual(f"chmod +x {script}"))
    except TimeoutError:
        return Check(check_id, "fail", failed, code, f"Gradle took more than {seconds:.0f} s", title, fix)
    if done.exit_code:
        evidence = {"exitCode": done.exit_code, "project": project}
        return Check(check_id, "fail", failed, code, tail(done.stdout.ending), title, fix, evidence=evidence)
    return Check(check_id, "pass", passed, evidence={"task": task, "project": project})


def _gradlew(project: str) -> str:
    """Return the build script of ``project``; empty if it has none."""
    script = os.path.join(project, "gradlew")
    return script if project and os.path.isfile(script) else ""


def tail(text: str) -> str:
    """Return the end of a long output."""
    return "\n".join(text.rstrip().splitlines()[-_TAIL_LINES:])[-_TAIL_CHARACTERS:]


async def launch(device: AdbDevice, package: str) -> Check:
    """Start the Operator's activity; ``am`` exits with 0 even if the activity does not exist."""
    check_id = "build.android.launch"
    result = await device.shell(am("start", "-n", f"{package}/{brand_of(package).activity}"), timeout=ANSWER_SECONDS)
    output = f"{result.stderr.decode(errors='replace')}\n{result.text}"
    complaint = next((line.strip() for line in output.splitlines() if line.startswith("Error: ")), "")
    if result.ok and not complaint:
        return Check(check_id, "pass", f"{package} was started")
    return Check(
        check_id,
        "fail",
        f"{package} could not be started",
        ErrorCode.ANDROID_APP_LAUNCH_FAILED,
        complaint or result.error_text,
        "Choose the built variant",
        manual("For a debug build, pass --receiver-package with its .dev package. Otherwise, reinstall the app."),
    )
