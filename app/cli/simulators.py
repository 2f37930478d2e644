"""Simulated devices for ``demo`` and ``sim``."""

from __future__ import annotations

import asyncio
import os
import signal
import sys
from collections.abc import Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, contextmanager, suppress
from sysconfig import get_path
from tempfile import TemporaryDirectory
from typing import TYPE_CHECKING, Any, get_args

from clawperator.app.cli import diagnostics, output
from clawperator.app.signals import ENDING
from clawperator.engine import EngineError, ErrorCode, Settings
from clawperator.engine.adb.protocol import server_address
from clawperator.engine.config.environment import DEVICE_VARIABLES
from clawperator.engine.process import sessions
from clawperator.engine.runtime.plan import Generation
from clawperator.engine.simulator.device import create_device
from clawperator.engine.simulator.run import SCANNED, Simulation
from clawperator.engine.simulator.scenario import Scenario, load_scenario

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Sequence

    from clawperator.engine.simulator.device import SimulatedDevice

NOT_FOUND, NOT_RUNNABLE = 127, 126
Signals = asyncio.Queue[signal.Signals]


async def run_attached(command: Sequence[str], env: Mapping[str, str]) -> int:
    """Return the exit code: the command's, 128 and the number of the signal that ended it, or 127 and 126 where it cannot start.

    On a terminal it stays in our session and gets Ctrl-C from there. Elsewhere it has a session of its own, which is ended as a
    whole, also when this process is killed.
    """
    alone = sys.stdin is None or not sys.stdin.isatty()
    with _signals() as came:
        try:  # descriptors stay open: a shell's <(…) is one
            child = await asyncio.create_subprocess_exec(*command, env=env, start_new_session=alone, close_fds=False)
        except (OSError, ValueError) as exc:
            diagnostics.note(f"Cannot run {command[0]}: {getattr(exc, 'strerror', None) or exc}")
            return NOT_FOUND if isinstance(exc, FileNotFoundError) else NOT_RUNNABLE
        if alone:
            sessions.register(child.pid)
        passing_on = asyncio.create_task(_pass_on(came, child, alone=alone))
        try:
            code = await child.wait()
        finally:
            passing_on.cancel()
            if alone:
                sessions.kill(child.pid)
                sessions.unregister(child.pid)
    return code if code >= 0 else 128 - code


@contextmanager
def _signals() -> Iterator[Signals]:
    """Collect what would end this process; a signal that is ignored for us stays so. The program may want many a Ctrl-C."""
    came, loop = Signals(), asyncio.get_running_loop()
    taken = [number for number in ENDING if signal.getsignal(number) is not signal.SIG_IGN]
    for number in taken:
        loop.add_signal_handler(number, came.put_nowait, number)
    try:
        yield came
    finally:
        for number in taken:
            loop.remove_signal_handler(number)


async def _pass_on(came: Signals, child: asyncio.subprocess.Process, *, alone: bool) -> None:
    """Send each signal to the command, unless it is Ctrl-C of its own terminal, and kill what has not ended in time."""
    loop, limit = asyncio.get_running_loop(), None
    with suppress(ProcessLookupError):
        while True:
            try:
                async with asyncio.timeout_at(limit):
                    number = await came.get()
            except TimeoutError:
                child.kill()
                return
            if alone:
                sessions.send(child.pid, number)
            elif number != signal.SIGINT:
                child.send_signal(number)
            if limit is None and (alone or number != signal.SIGINT):
                limit = loop.time() + sessions.PATIENCE


NEWEST: Generation = get_args(Generation)[-1]
"""Of what people install today."""
LOCAL = ("127.0.0.1", "localhost", "::1")


@asynccontextmanager
async def one_device() -> AsyncIterator[Settings]:
    """Yield settings for an engine that sees one simulated device and nothing else of this computer.

    Locks, history and recent trees go to a temporary folder: the serial may be that of a real emulator.
    """
    with TemporaryDirectory(prefix="clawperator-demo-") as folder:
        async with Simulation([create_device(generation=NEWEST)], mode="server") as simulation:
            places = {"lock_dir": f"{folder}/.clawperator/locks", "history_path": f"{folder}/history.db"}
            yield Settings.resolve(places, {**simulation.env(), "XDG_STATE_HOME": folder})


def simulated_devices(count: int, scenario_file: str | None, generation: Generation) -> list[SimulatedDevice]:
    """Return ``count`` devices of one scenario. Raises ``EngineError`` (FILE_NOT_READABLE, SCENARIO_INVALID) for a scenario that is unreadable or invalid."""
    scenario = Scenario() if scenario_file is None else load_scenario(scenario_file)
    return [create_device(scenario, index=index, generation=generation) for index in range(count)]


def serve(devices: Sequence[SimulatedDevice], *, server: bool, port: int, emulator_pair: bool) -> None:
    """Serve ``devices`` until SIGINT: as an adb server, or each on a port of its own."""
    mode: Any = "server" if server else "adbd"
    with suppress(KeyboardInterrupt):
        asyncio.run(
            _serve(Simulation(devices, mode=mode, port=port, emulator_pair=emulator_pair, first_pair=SCANNED.start))
        )


async def _serve(simulation: Simulation) -> None:
    async with _listening(simulation):
        announced = await _announced(simulation) if simulation.emulator_pair else {}
        output.print_json({**address(simulation), **announced})
        await asyncio.get_running_loop().create_future()


def run_with(devices: Sequence[SimulatedDevice], command: Sequence[str], *, port: int) -> int:
    """Run ``command`` with ``devices`` behind an adb server of their own, and return its exit code as a shell does."""
    return asyncio.run(_run_with(Simulation(devices, port=port), command))


async def _run_with(simulation: Simulation, command: Sequence[str]) -> int:
    async with _listening(simulation):
        if diagnostics.is_terminal():
            diagnostics.note(f"Simulated: {', '.join(simulation.serials)}, as long as this command runs")
        return await run_attached(command, _environment(simulation))


def _environment(simulation: Simulation) -> dict[str, str]:
    """Return ours with the simulated adb server as the only one, and with one device as the one that is meant."""
    others = ("ADB_SERVER_SOCKET", *DEVICE_VARIABLES)
    inherited = {name: value for name, value in os.environ.items() if name not in others}
    path = os.pathsep.join(filter(None, (inherited.get("PATH", os.defpath), get_path("scripts"))))
    chosen = dict.fromkeys(DEVICE_VARIABLES, simulation.serials[0]) if len(simulation.serials) == 1 else {}
    return {**inherited, **simulation.env(), **chosen, "PATH": path}


async def _announced(simulation: Simulation) -> dict[str, Any]:
    """Announce the emulators to the local adb server, as emulators do; without one, return the hint what to do."""
    host, port, path = server_address(os.environ)
    if host in LOCAL and not path:
        with suppress(OSError):
            await simulation.attach(port, host)
            return {"adbServer": f"{host}:{port}"}
    if all(port in SCANNED for port in simulation.ports):
        hint = "No adb server is running. The next one lists these devices: adb start-server"
    else:
        hint = f"adb only scans ports {SCANNED[0]} to {SCANNED[-1]}. Choose --port in that range, or start adb and run sim again"
    return {"adbServer": None, "hint": hint}


@asynccontextmanager
async def _listening(simulation: Simulation) -> AsyncIterator[None]:
    try:
        await simulation.__aenter__()
    except OSError as exc:
        raise EngineError(ErrorCode.ADDRESS_UNAVAILABLE, f"The simulation cannot listen: {exc}") from exc
    try:
        yield
    finally:
        await simulation.__aexit__(None, None, None)


def address(simulation: Simulation) -> dict[str, Any]:
    """Return what a client needs to reach the devices."""
    found: dict[str, Any] = {
        "ok": True,
        "mode": simulation.mode,
        "host": simulation.host,
        "ports": list(simulation.ports),
        "serials": list(simulation.serials),
    }
    if simulation.mode == "server":
        network = {"wireless": [phone.to_dict() for phone in simulation.phones]} if simulation.phones else {}
        return {**found, **network, "env": dict(simulation.env())}
    if simulation.emulator_pair:
        return found
    return {**found, "connect": [f"adb connect {simulation.host}:{port}" for port in simulation.ports]}
