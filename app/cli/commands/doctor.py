"""``doctor``: every check in its order, and what to do about those that do not pass."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.arguments import Parser
    from clawperator.engine import Engine
    from clawperator.engine.doctor.check import Check


class Doctor(Command):
    usage = "[--check-only] [options]"
    notes = "Exit code 1 when a critical check fails, unless --check-only is given."
    examples = ("", "--output pretty", "--device-id emulator-5554 --check-only")

    def configure(self, parser: Parser) -> None:
        parser.switch("--check-only", about="exit 0 whatever the checks find")

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.session import run

        checks, report = run(options, _examine)
        critical = {check.id for check in checks if check.critical}
        failed = not report["criticalOk"] and not options.check_only
        return Answer(report, view="doctor", data=(report, critical), failed=failed, indent=2)


async def _examine(engine: Engine) -> tuple[list[Check], dict[str, Any]]:
    from clawperator.engine.doctor.run import report
    from clawperator.engine.events import CheckFinished

    doctor = engine.doctor()
    checks: list[Check] = []
    async for check in doctor.checks():
        checks.append(check)
        engine.events.publish(CheckFinished(device_id=doctor.device_id or None, check=check.to_dict()))
    return checks, report(checks, device_id=doctor.device_id, package=engine.settings.receiver_package)
