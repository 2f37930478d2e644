"""``sim``: simulated devices behind a socket, for any adb client and for as long as it runs."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser

GENERATIONS = ("0.3", "0.5")
MAX_DEVICES = 64
LAST_PORT = 65_535


class Sim(Command):
    long_lived = True
    usage = "[--devices <n>] [--scenario <file>] [--generation 0.3|0.5] [--port <n>] [--emulator-pair | --server]"
    notes = (
        "Prints one JSON line when the devices are ready, then serves them until Ctrl-C. By default each device "
        "is a port for `adb connect`. With --emulator-pair, it is an emulator: a pair of ports from 5554 to 5585, where each adb "
        "server looks when it starts; a running server is notified, as a booting emulator does. --server is a whole adb "
        "server, for machines without adb. There, a scenario with `wireless:` is a device to pair with."
    )
    examples = ("", "--emulator-pair", "--devices 3 --generation 0.5", "--scenario faults.yaml", "--server --port 6037")

    def configure(self, parser: Parser) -> None:
        parser.value("--devices", metavar="<n>", about=f"simulate n devices, 1 to {MAX_DEVICES}")
        parser.value(
            "--scenario", metavar="<file>", about="load devices and faults from this scenario file (YAML)", file=True
        )
        parser.value(
            "--generation", metavar="0.3|0.5", choices=GENERATIONS, about="simulate this Operator generation [0.3]"
        )
        parser.value("--port", metavar="<n>", about="start at this port [a free one]")
        parser.switch("--emulator-pair", about="act as an emulator, on the ports that adb scans")
        parser.switch("--server", about="act as an adb server instead of as devices")

    def run(self, options: Namespace) -> int:
        if options.server and options.emulator_pair:
            raise EngineError(ErrorCode.USAGE, "--server and --emulator-pair cannot be combined")
        count = integer("--devices", options.devices, 1, MAX_DEVICES) or 1
        port = integer("--port", options.port, 1, LAST_PORT) or 0
        _check_ports(port, 1 if options.server else count * (1 + options.emulator_pair), pair=options.emulator_pair)
        generation: Any = options.generation or GENERATIONS[0]
        from clawperator.app.cli.simulators import serve, simulated_devices

        devices = simulated_devices(count, options.scenario, generation)
        serve(devices, server=options.server, port=port, emulator_pair=options.emulator_pair)
        return 0


def _check_ports(first: int, count: int, *, pair: bool) -> None:
    """Raises ``EngineError`` (USAGE) where so many ports do not fit."""
    if pair and first % 2:
        raise EngineError(
            ErrorCode.USAGE,
            f"--port {first} is odd: an emulator's console port is even, and its adb port the one above",
        )
    if first + count - 1 > LAST_PORT:
        raise EngineError(
            ErrorCode.USAGE, f"--port {first} is too high for {count} ports: the last port is {LAST_PORT}"
        )
