"""``devices``: the adb server's list, read over one blocking socket. A light command: no event loop, no settings file."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.engine.adb import blocking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser


class Devices(Command):
    notes = "Devices in other states than 'device' are listed too: offline, unauthorized, recovery, …"
    examples = ("", "--output pretty", "--discover")

    def configure(self, parser: Parser) -> None:
        parser.switch("--discover", about="also list what announces itself in the network (key discovered)")

    def run(self, options: Namespace) -> Answer:
        entries = blocking.devices(os.environ)
        document = {"devices": [{"serial": entry.serial, "state": str(entry.state)} for entry in entries]}
        if not options.discover:
            return Answer(document, view="devices", data=entries)
        from clawperator.app.cli.session import run

        services = run(options, lambda engine: engine.wireless.services())
        document["discovered"] = [service.to_dict() for service in services]
        return Answer(document, view="discovered", data=(entries, services))
