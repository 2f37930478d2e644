"""The probes of one run: each runs at most once, as soon as it can, and independent ones run concurrently.

A run on a healthy device is six round trips deep (server and devices; features; all shell probes; three for the handshake).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.engine.adb.accessibility import full_component
from clawperator.engine.adb.android_user import pm, settings
from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.binary import find_adb
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_packages
from clawperator.engine.adb.recognition import recognise
from clawperator.engine.adb.secure_list import entries
from clawperator.engine.contracts.operator_identity import listed_as
from clawperator.engine.doctor import accessibility, device_health, stock
from clawperator.engine.doctor.adb_servers import ServerProcess, running_servers
from clawperator.engine.doctor.check import ANSWER_SECONDS, Check
from clawperator.engine.doctor.device import discovery
from clawperator.engine.doctor.readiness import Send
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.probe import DeviceFacts
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clawperator.engine.adb.presence import DeviceEntry
    from clawperator.engine.adb.server import AdbServer
    from clawperator.engine.config.settings import Settings

T = TypeVar("T")

SYSTEM = (
    ("getprop", "ro.build.version.sdk"),
    ("wm", "size"),
    ("wm", "density"),
    ("logcat", "-b", "main", "-g"),
    ("date", "+%s"),
    ("getprop", "sys.boot_completed"),
)
SETTINGS = (
    settings("get", "global", "development_settings_enabled"),
    settings("get", "global", "adb_enabled"),
    *accessibility.SWITCHES,
    accessibility.ADVANCED_PROTECTION,
)
SERVICES = (accessibility.DUMP, ("ps", "-A", "-o", "PID,USER,ARGS"), ("ps",), *stock.LOOKUPS)
"""The second ``ps`` is for Android before 8, which has no options."""


TOOL_SECONDS = 5.0
"""How long a program may take to print its version."""
_VERSION_BYTES = 64 * 1024


async def version_of(name: str, *arguments: str, env: Mapping[str, str], both: bool = False) -> str | None:
    """Return what a program prints about itself, with ``both`` on stderr too; ``None`` if it is missing, fails or times out."""
    path = shutil.which(name, path=env.get("PATH", os.defpath))
    if path is None:
        return None
    output, ignored = BoundedOutput(0, _VERSION_BYTES), BoundedOutput(0)
    try:
        done = await capture(
            [path, *arguments],
            env,
            stdout=output,
            stderr=ignored,
            merge_stderr=both,
            seconds=TOOL_SECONDS,
            patience=0.0,
            survives_us=True,
        )
    except (CannotStartError, TimeoutError):
        return None
    return output.ending if done.exit_code == 0 else None


class BlockedError(Exception):
    """A check cannot run because its prerequisite ``check`` does not pass."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.summary)
        self.check = check


class Probes:
    """Runs probes and caches their results. ``find`` runs the check of an id; ``ids`` are those of this run."""

    def __init__(
        self,
        server: AdbServer,
        *,
        wanted: str,
        package: str,
        settings: Settings,
        send: Send,
        project: str,
        strict: bool,
        ids: Sequence[str],
        find: Callable[[str], Awaitable[Check]],
    ) -> None:
        self.server = server
        self.package = package
        """The Operator app to examine; after ``packages`` the one of the device, if none was chosen."""
        self.settings = settings
        self.send = send
        self.project = project
        self.strict = strict
        self.serial = ""
        """Of the chosen device; empty before discovery."""
        self.elapsed: dict[str, float] = {}
        """Milliseconds by the name of the probe."""
        self._wanted = wanted
        self._ids = frozenset(ids)
        self._find = find
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    @property
    def env(self) -> dict[str, str]:
        return dict(self.settings.environment)

    async def close(self) -> None:
        """Cancel running probes."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def begin(self, check_id: str) -> asyncio.Task[Check]:
        """Return the task of a check, started now unless another check needed it before."""
        return self._once(f"check {check_id}", lambda: self._find(check_id))

    async def need(self, check_id: str, *, warned: bool = False) -> Check:
        """Return the check of ``check_id``. Raises ``BlockedError`` unless it passes, or only warns and that is enough (``warned``)."""
        check = await self.begin(check_id)
        if check.status == "fail" or not (warned or check.status == "pass"):
            raise BlockedError(check)
        return check

    async def after(self, *check_ids: str) -> None:
        """Wait for checks that change something, if they belong to this run. Raises ``BlockedError`` if one stops it."""
        for check_id in check_ids:
            if check_id in self._ids and (check := await self.begin(check_id)).stops:
                raise BlockedError(check)

    def _once(self, name: str, ask: Callable[[], Awaitable[T]]) -> asyncio.Task[T]:
        async def run() -> T:
            return await ask()

        if name not in self._tasks:
            self._tasks[name] = asyncio.create_task(run(), name=f"doctor {name}")
        return self._tasks[name]

    @asynccontextmanager
    async def timed(self, name: str) -> AsyncIterator[None]:
        """Record the duration of the block as that of the probe ``name``."""
        began = time.monotonic()
        try:
            yield
        finally:
            self.elapsed[name] = (time.monotonic() - began) * 1000

    def _asked(self, name: str, ask: Callable[[], Coroutine[Any, Any, T]]) -> asyncio.Task[T]:
        async def run() -> T:
            async with self.timed(name):
                return await ask()

        return self._once(name, run)

    # -- this computer

    async def tool(self, name: str, *arguments: str, both: bool = False) -> str | None:
        return await self._asked(name, lambda: version_of(name, *arguments, env=self.env, both=both))

    async def adb(self) -> tuple[str, str | None]:
        """Return the path of the adb program ('' if not found) and its version output (``None`` if it does not run)."""

        async def ask() -> tuple[str, str | None]:
            try:
                path = find_adb(self.env, self.settings.adb_path or None)
            except EngineError:
                return "", None
            return path, await version_of(path, "version", env=self.env)

        return await self._asked("adb", ask)

    async def server_version(self) -> int | EngineError:
        """Return the adb server's protocol version, or the error; starts a server if none is running."""

        async def ask() -> int | EngineError:
            try:
                return await self.server.version()
            except EngineError as exc:
                return exc

        return await self._asked("server", ask)

    async def server_answers(self) -> bool:
        """Return whether a server is already running; does not start one."""
        try:
            (await self.server.connect(start=False)).close()
        except EngineError:
            return False
        return True

    async def adb_servers(self) -> tuple[ServerProcess, ...] | None:
        """Return the adb servers on this computer, after the one in use has answered."""

        async def ask() -> tuple[ServerProcess, ...] | None:
            return await asyncio.to_thread(running_servers)

        await self.server_version()
        return await self._asked("servers", ask)

    # -- the device

    async def discover(self) -> Check:
        """Return the check that chooses the device."""

        async def ask() -> tuple[DeviceEntry, ...]:
            listed = await self.server.devices()
            return listed if self._wanted else await recognise(self.server, listed)

        found, self.serial = discovery(await self._asked("devices", ask), self._wanted)
        return found

    async def device(self) -> AdbDevice:
        """Return the chosen device. Raises ``BlockedError`` if discovery fails."""
        await self.need("device.discovery")
        return AdbDevice(self.server, self.serial)

    async def system(self) -> tuple[list[BatchOutput], float]:
        """Return the output of ``SYSTEM``, and the host's clock (seconds since the epoch) when it arrived."""

        async def ask() -> tuple[list[BatchOutput], float]:
            parts = await run_commands(device, SYSTEM, timeout=ANSWER_SECONDS)
            return parts, time.time()

        device = await self._ready()
        return await self._asked("system", ask)

    async def packages(self) -> list[BatchOutput]:
        """Return ``pm list packages`` for both variants, and ``dumpsys package`` of the chosen one."""
        return await self._asked("packages", self._packages)

    async def _packages(self) -> list[BatchOutput]:
        device, wanted = await self._ready(), self.package
        listing = pm("list packages", listed_as(wanted))
        parts = await run_commands(device, (listing, ("dumpsys", "package", wanted)), timeout=ANSWER_SECONDS)
        if self.settings.package_chosen:
            return parts
        installed = dict.fromkeys(parse_packages(parts[0].text), -1)
        services = entries((await self.settings_values())[3].text.strip()) if len(installed) > 1 else ()
        self.package = DeviceFacts(0, installed, services=tuple(map(full_component, services))).preferred(wanted)
        if self.package != wanted:
            parts = await run_commands(device, (listing, ("dumpsys", "package", self.package)), timeout=ANSWER_SECONDS)
        return parts

    async def settings_values(self) -> list[BatchOutput]:
        return await self._parts("settings", SETTINGS)

    async def services(self) -> list[BatchOutput]:
        return await self._parts("services", SERVICES)

    async def screen(self) -> list[BatchOutput]:
        return await self._parts("screen", device_health.SCREEN)

    async def _parts(self, name: str, commands: Sequence[str | Sequence[str]]) -> list[BatchOutput]:
        device = await self._ready()
        return await self._asked(name, lambda: run_commands(device, commands, timeout=ANSWER_SECONDS))

    async def _ready(self) -> AdbDevice:
        """Return the device after this run has made its changes to it."""
        device = await self.device()
        await self.after("build.android.install", "build.android.launch")
        return device


def project_folder(env: dict[str, str], chosen: str = "") -> str:
    """Return the Operator's Gradle project: ``chosen``, CLAWPERATOR_ANDROID_PROJECT, or the current folder; or ''."""
    named = chosen or env.get("CLAWPERATOR_ANDROID_PROJECT", "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    here = os.getcwd()
    return here if os.path.isfile(os.path.join(here, "gradlew")) else ""
