"""``sim``: simulated devices behind a socket, for any adb client."""

from __future__ import annotations

from clawperator.app.cli.command import Command, Options
from clawperator.app.cli.parsing.flags import Flag, Rest, switch
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
    usage = (
        "[--devices <n>] [--scenario <file>] [--generation <n>] [--port <n>] "
        "[--emulator-pair | --server | --run -- <command> …]"
    )
    notes = (
        "Prints one JSON line when the devices are ready, then serves them until Ctrl-C. By default each device "
        "is a port for `adb connect`. With --emulator-pair, it is an emulator: a pair of ports from 5554 to 5585, where each adb "
        "server looks when it starts; a running server is notified, as a booting emulator does. --server is a whole adb "
        "server, for machines without adb. There, a scenario with `wireless:` is a device to pair with.\n\n"
        "--run starts such a server on a free port, runs the command with an environment in which every adb client uses it, "
        "ends the devices with the command, and exits with its exit code, as a shell does: 128 and the number of a signal, 127 if there is no "
        "such program, 126 if it cannot be run. stdout is the command's alone. The folder of this program is the last one on "
        "its PATH. Ctrl-C, SIGTERM and SIGHUP end the command first, with the processes that it left behind unless stdin is a terminal."
    )
    examples = (
        "",
        "--run -- pytest tests",
        "--run --devices 3 -- ./try.sh",
        "--emulator-pair",
        "--devices 3 --generation 0.5",
        "--scenario faults.yaml",
        "--server --port 6037",
    )
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
        switch("--run", "run a command with the devices, and end them with it"),
        Rest("command", "the command of --run, with its arguments"),
    )

    def run(self, options: Options) -> int:
        server = options.server or options.run
        if server and options.emulator_pair:
            other = "--server" if options.server else "--run"
            raise EngineError(ErrorCode.USAGE, f"{other} and --emulator-pair cannot be combined")
        if options.run != bool(options.command):
            what = "a command after --" if options.run else "--run for a command after --"
            raise self.missing(what, example="--run -- pytest tests")
        port = options.port or 0
        _check_ports(port, 1 if server else options.devices * (1 + options.emulator_pair), options)
        generation: Any = options.generation
        from clawperator.app.cli.simulators import run_with, serve, simulated_devices

        devices = simulated_devices(options.devices, options.scenario, generation)
        if options.run:
            return run_with(devices, options.command, port=port)
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
