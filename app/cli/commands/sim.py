"""``sim``: simulated devices behind a socket, for any adb client and for as long as it runs."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.arguments import Parser

GENERATIONS = ("0.3", "0.5")
MAX_DEVICES = 64


class Sim(Command):
    long_lived = True
    usage = "[--devices <n>] [--scenario <file>] [--generation 0.3|0.5] [--port <n>] [--emulator-pair | --server]"
    notes = (
        "Prints one JSON line as soon as the devices can be reached, then serves them until Ctrl-C. By default each device "
        "is a port for `adb connect`; --emulator-pair takes a pair of ports that adb finds by itself; --server is a "
        "whole adb server, for machines without adb. There, a scenario with `wireless:` is a device to pair with."
    )
    examples = ("", "--devices 3 --generation 0.5", "--scenario faults.yaml", "--server --port 6037")

    def configure(self, parser: Parser) -> None:
        parser.value("--devices", metavar="<n>", about=f"how many devices, 1 to {MAX_DEVICES}")
        parser.value("--scenario", metavar="<file>", about="what goes wrong, and when (YAML)", file=True)
        parser.value("--generation", metavar="0.3|0.5", choices=GENERATIONS, about="which Operator app (default 0.3)")
        parser.value("--port", metavar="<n>", about="the first port (default: any free one)")
        parser.switch("--emulator-pair", about="listen where adb looks for emulators")
        parser.switch("--server", about="speak for an adb server instead of for the devices")

    def run(self, options: Namespace) -> int:
        if options.server and options.emulator_pair:
            raise EngineError(ErrorCode.USAGE, "--server and --emulator-pair contradict each other")
        count = integer("--devices", options.devices, 1, MAX_DEVICES) or 1
        port = integer("--port", options.port, 1, 65_535) or 0
        generation: Any = options.generation or GENERATIONS[0]
        from clawperator.app.cli.simulated import serve, simulated_devices

        devices = simulated_devices(count, options.scenario, generation)
        serve(devices, server=options.server, port=port, emulator_pair=options.emulator_pair)
        return 0
