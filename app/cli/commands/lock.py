"""``lock status``: the device locks, read from the lock files; adb is asked only where a phone may be in use by another serial."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options


class LockStatus(Command):
    notes = "Without --device-id, lists every device that is locked or settling after an unknown outcome."
    examples = ("", "--device-id emulator-5554")

    def run(self, options: Options) -> Answer:
        import asyncio

        from clawperator.app.cli.settings import resolve_settings
        from clawperator.engine import Engine

        engine = Engine(resolve_settings(options))
        locks = [asyncio.run(engine.lock_of(options.device_id))] if options.device_id else engine.locks()
        return Answer({"locks": [lock.to_dict() for lock in locks]}, view="devices.locks")
