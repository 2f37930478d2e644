"""``devices``: the adb server's list, read over one blocking socket. A light command: no event loop, no settings file."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.engine.adb import blocking

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace


class Devices(Command):
    notes = "Devices in other states than 'device' are listed too: offline, unauthorized, recovery, …"
    examples = ("", "--output pretty")

    def run(self, options: Namespace) -> Answer:  # noqa: ARG002 -- the list needs no option
        entries = blocking.devices(os.environ)
        document = {"devices": [{"serial": entry.serial, "state": str(entry.state)} for entry in entries]}
        return Answer(document, view="devices", data=entries)
