"""``lock status``: who has which device, read from the lock files; nothing is asked of adb."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


class LockStatus(Command):
    notes = "Without --device-id, lists every device that is locked or settling after an unknown outcome."
    examples = ("", "--device-id emulator-5554")

    def run(self, options: Namespace) -> Answer:
        from clawperator.app.cli.context import settings
        from clawperator.engine import Engine

        engine = Engine(settings(options))
        locks = [engine.lock(options.device_id)] if options.device_id else engine.locks()
        return Answer({"locks": [lock.to_dict() for lock in locks]}, view="locks")
