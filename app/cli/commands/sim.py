"""``sim``: simulated devices behind a socket, for any adb client."""

from __future__ import annotations

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.flags import Flag, switch
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.version import OPERATOR_RELEASES

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

GENERATIONS = tuple(OPERATOR_RELEASES)
MAX_DEVICES = 64
LAST_PORT = 65_535


class Sim(Command):
    long_lived = True
    usage = "[--devices <n>] [--scenario <file>] [--generation <n>] [--port <n>] [--emulator-pair | --server]"
    notes = (
        "Prints one JSON line when the devices are ready, then serves them until Ctrl-C. By default each device "
        "is a port for `adb connect`. With --emulator-pair, it is an emulator: a pair of ports from 5554 to 5585, where each adb "
        "server looks when it starts; a running server is notified, as a booting emulator does. --server is a whole adb "
        "server, for machines without adb. There, a scenario with `wireless:` is a device to pair with."
    )
    examples = ("", "--emulator-pair", "--devices 3 --generation 0.5", "--scenario faults.yaml", "--server --port 6037")
    flags = (
        Flag("--devices", "<n>", f"simulate n devices, 1 to {MAX_DEVICES}", bounds=(1, MAX_DEVICES), default=1),
        Flag("--scenario", "<file>", "load devices and faults from this scenario file (YAML)", file=True),
        Flag(
            "--generation",
            "|".join(GENERATIONS),
            "simulate this Operator generation",
            choices=GENERATIONS,
            default=GENERATIONS[-1],
        ),
        Flag("--port", "<n>", "start at this port [a free one]", bounds=(1, LAST_PORT)),
        switch("--emulator-pair", "act as an emulator, on the ports that adb scans"),
        switch("--server", "act as an adb server instead of as devices"),
    )

    def run(self, options: Options) -> int:
        if options.server and options.emulator_pair:
            raise EngineError(ErrorCode.USAGE, "--server and --emulator-pair cannot be combined")
        port = options.port or 0
        _check_ports(port, 1 if options.server else options.devices * (1 + options.emulator_pair), options)
        generation: Any = options.generation
        from clawperator.app.cli.simulators import serve, simulated_devices

        devices = simulated_devices(options.devices, options.scenario, generation)
        serve(devices, server=options.server, port=port, emulator_pair=options.emulator_pair)
        return 0


def _check_ports(first: int, count: int, options: Options) -> None:
    """Raise ``EngineError`` (USAGE) if ``count`` ports from ``first`` are not possible."""
    if options.emulator_pair and first % 2:
        message = f"--port {first} is odd: an emulator's console port is even, and its adb port the one above"
        raise EngineError(ErrorCode.USAGE, message)
    if first + count - 1 > LAST_PORT:
        message = f"--port {first} is too high for {count} ports: the last port is {LAST_PORT}"
        raise EngineError(ErrorCode.USAGE, message)
