"""``doctor``: every check in order, what to do about failures, and the automatic fixes."""

from __future__ import annotations

import os
from contextlib import contextmanager

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.flat_profile import for_both_profiles
from clawperator.app.cli.parsing.common_flags import JUNIT_FLAG
from clawperator.app.cli.parsing.flags import Flag, switch

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Sequence

    from clawperator.engine import Engine
    from clawperator.engine.doctor.check import Check
    from clawperator.engine.doctor.fix import FixResult, PlannedFix


class Doctor(Command):
    usage = "[--fix] [--full] [--check-only] [options]"
    notes = (
        "verdict is ready, ready_with_hints or not_ready. Exits with 1 when not_ready, unless --check-only is given.\n"
        "--fix runs the automatic fixes of failed checks once, in order, and does not repeat the checks. It restarts only the\n"
        "adb server that clawperator uses, no others."
    )
    examples = ("", "--output pretty", "--device-id emulator-5554 --check-only", "--fix", "--junit doctor.xml")
    flags = (
        switch("--fix", "run the automatic fixes of checks that do not pass"),
        switch("--full", "build, install, start and smoke-test the Operator app as well"),
        switch("--check-only", "exit with 0 regardless of the result"),
        switch("--strict-version", "require exactly this contract version of the Operator app"),
        Flag("--project", "<folder>", "use this Android project of the Operator app with --full", file=True),
        JUNIT_FLAG,
    )

    @for_both_profiles
    def run(self, options: Options) -> Answer:
        from clawperator.app.cli.session import run
        from clawperator.engine.doctor.run import report

        with _junit_file(options) as write_junit:
            found = run(options, lambda engine: _examine(engine, options))
            if options.junit is not None:
                write_junit(found.junit())
        results = run(options, lambda engine: _fix(engine, found.fixes)) if found.fixes else []
        executed = {result.step for result in results}
        answer = report(
            found.checks, device_id=found.device_id, package=found.package, executed=executed, backend=found.backend
        )
        if options.fix:
            answer["fixResults"] = [result.to_dict() for result in results]
        critical = {check.id for check in found.checks if check.critical}
        failed = not answer["ok"] and not options.check_only
        return Answer(answer, view="doctor.doctor", data=(answer, critical), failed=failed, indent=2)


@contextmanager
def _junit_file(options: Options) -> Iterator[Callable[[bytes], object]]:
    """Yield what writes the file's content; without ``--junit`` it writes nothing.

    An existing file is replaced in one step when the block ends, and kept if it fails. Raises ``EngineError`` as ``Guard.new_file`` does.
    """
    if options.junit is None:
        yield lambda _: None
        return
    from clawperator.app.cli.settings import policy_guard

    with policy_guard(options).new_file(os.path.expanduser(options.junit), replace=True, what="--junit") as stream:
        yield stream.write


class _Findings:
    """The results of one examination; ``ids`` are those of every possible check, ``fixes`` the ones to run."""

    def __init__(self, ids: Sequence[str], package: str, backend: str, began: float) -> None:
        self.ids = ids
        self.package = package
        self.backend = backend
        self.device_id = ""
        self.checks: list[Check] = []
        self.fixes: Sequence[PlannedFix] = ()
        self._began = began

    def junit(self) -> bytes:
        from clawperator.engine.doctor.junit import junit_xml

        return junit_xml(self.checks, self.ids, device_id=self.device_id, package=self.package, at=self._began)

    def show_progress(self) -> None:
        """Redraw the last line of the terminal, if stderr is one."""
        if diagnostics.is_terminal():
            done = self.ids.index(self.checks[-1].id) + 1 if self.checks else 0
            bad = sum(check.status != "pass" for check in self.checks)
            current = self.ids[done] if done < len(self.ids) else "done"
            remarks = f", {bad} not passed" if bad else ""
            diagnostics.redraw(f"[clawperator] doctor {done}/{len(self.ids)}{remarks}: {current}")


async def _examine(engine: Engine, options: Options) -> _Findings:
    import time

    from clawperator.engine.config.policy import SETUP_OPERATOR
    from clawperator.engine.diagnostics.log_file import follow_bus, open_log
    from clawperator.engine.events.types import CheckFinished

    if options.fix:
        engine.guard.permit(SETUP_OPERATOR, "run the fixes of the doctor")
    doctor = engine.doctor(full=options.full, strict=options.strict_version)
    doctor.project = options.project or ""
    found = _Findings(doctor.ids, engine.settings.receiver_package, doctor.backend, time.time())
    try:
        found.show_progress()
        async with follow_bus(engine.events, open_log(engine.settings, warn=diagnostics.warn)):
            async for check in doctor.checks():
                found.checks.append(check)
                found.show_progress()
                engine.events.publish(CheckFinished(device_id=doctor.device_id or None, check=check.to_dict()))
    finally:
        if diagnostics.is_terminal():
            diagnostics.redraw("")
    found.device_id, found.package = doctor.device_id, doctor.package
    if options.fix:
        found.fixes = engine.fixer().plan(found.checks, doctor.device_id)
    return found


async def _fix(engine: Engine, fixes: Sequence[PlannedFix]) -> list[FixResult]:
    """Run each fix once, in order, and log it to stderr."""
    fixer = engine.fixer()
    results: list[FixResult] = []
    for fix in fixes:
        for line in fix.preview:
            diagnostics.note(f"fix for {fix.check_id}: {line}")
        result = await fixer.run(fix)
        diagnostics.note(f"fix for {fix.check_id}: {'done' if result.ok else 'failed'}: {result.output}")
        results.append(result)
    return results
