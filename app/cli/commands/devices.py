"""``devices``: the adb server's list, read over one blocking socket. A light command: no event loop."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.output import print_json
from clawperator.app.cli.parsing.flags import switch
from clawperator.engine.adb import blocking
from clawperator.engine.config.environment import policy_applies
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.adb.presence import DeviceEntry


class Devices(Command):
    notes = (
        "Devices in other states than 'device' are listed too: offline, unauthorized, recovery, …\n"
        "A phone that is connected twice names its other serials (otherTransports); preferred is the one that is used by default.\n"
        "--format array prints the bare array of devices."
    )
    examples = ("", "--output pretty", "--format array", "--discover")
    formats = ("json", "pretty", "array")
    flags = (switch("--discover", "list devices discovered on the network as well (key discovered)"),)

    def run(self, options: Options) -> Answer | int:
        if options.output == "array" and options.discover:
            raise EngineError(ErrorCode.USAGE, "--format array lists devices only. Remove --discover")
        if policy_applies():
            from clawperator.app.cli.settings import policy_guard

            policy_guard(options).permit("observe", "list devices")
        entries = blocking.devices(os.environ)
        if any(not (entry.usb or entry.is_emulator) for entry in entries) and len(entries) > 1:
            entries = self._recognised(options, entries)
        rows = [entry.to_dict() for entry in entries]
        if options.output == "array":
            print_json(rows)
            return 0
        if not options.discover:
            return Answer({"devices": rows}, view="devices.devices", data=entries)
        from clawperator.app.cli.session import run

        services = run(options, lambda engine: engine.wireless.services())
        document = {"devices": rows, "discovered": [service.to_dict() for service in services]}
        return Answer(document, view="devices.discovered", data=(entries, services))

    def _recognised(self, options: Options, entries: list[DeviceEntry]) -> list[DeviceEntry]:
        """Return the rows with the other transports to the same phone; devices are asked where a row may be a second one."""
        from clawperator.engine.adb.phones import suspects

        if not suspects(entries):
            return entries
        from clawperator.app.cli.session import run
        from clawperator.engine.adb.recognition import recognise

        return list(run(options, lambda engine: recognise(engine.server, entries)))
