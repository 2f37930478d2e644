"""The questions of one run: each is asked at most once, as soon as it can be, whoever needs its answer first.

What does not depend on each other is asked at the same time: on a healthy device the whole run is six round trips deep
(server and devices; features; every question to the shell; and three of the handshake).
"""

from __future__ import annotations

import asyncio
import os
import shutil
import time
from collections.abc import Awaitable, Callable, Coroutine, Mapping, Sequence
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.binary import find_adb
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.doctor import accessibility, device_health
from clawperator.engine.doctor.adb_servers import ServerProcess, running_servers
from clawperator.engine.doctor.check import ANSWER_SECONDS, Check
from clawperator.engine.doctor.device import discovery
from clawperator.engine.doctor.readiness import Send
from clawperator.engine.errors import EngineError
from clawperator.engine.process.child import CannotStartError, capture
from clawperator.engine.process.output import BoundedOutput

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

    from clawperator.engine.adb.parse import DeviceEntry
    from clawperator.engine.adb.server import AdbServer
    from clawperator.engine.config.settings import Settings

T = TypeVar("T")

SYSTEM = (
    ("getprop", "ro.build.version.sdk"),
    ("wm", "size"),
    ("wm", "density"),
    ("logcat", "-b", "main", "-g"),
    ("date", "+%s"),
)
SETTINGS = (
    ("settings", "get", "global", "development_settings_enabled"),
    ("settings", "get", "global", "adb_enabled"),
    *accessibility.SWITCHES,
)
SERVICES = (accessibility.DUMP, ("ps", "-A", "-o", "PID,USER,ARGS"), ("ps",))
"""The second ``ps`` is for Android before 8, which knows no options."""


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
    """A check makes no sense, because ``check``, which it needs, does not pass."""

    def __init__(self, check: Check) -> None:
        super().__init__(check.summary)
        self.check = check


class Probes:
    """Asks, and remembers. ``find`` makes the check of an id; ``ids`` are those of this run, in report order."""

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
        self.settings = settings
        self.send = send
        self.project = project
        self.strict = strict
        self.serial = ""
        """Of the device that was found; empty before."""
        self.elapsed: dict[str, float] = {}
        """Milliseconds that each question took, by its name."""
        self._wanted = wanted
        self._ids = frozenset(ids)
        self._find = find
        self._tasks: dict[str, asyncio.Task[Any]] = {}

    @property
    def env(self) -> dict[str, str]:
        return dict(self.settings.environment)

    async def close(self) -> None:
        """End whatever is still being asked."""
        tasks = list(self._tasks.values())
        for task in tasks:
            task.cancel()
        await asyncio.gather(*tasks, return_exceptions=True)

    def begin(self, check_id: str) -> asyncio.Task[Check]:
        """The check as a task: begun now, or before by one that needed it."""
        return self._once(f"check {check_id}", lambda: self._find(check_id))

    async def need(self, check_id: str) -> Check:
        """The check of ``check_id``, which passes. Raises ``BlockedError``."""
        check = await self.begin(check_id)
        if check.status != "pass":
            raise BlockedError(check)
        return check

    async def after(self, *check_ids: str) -> None:
        """Wait for checks that act on the world, where they are part of this run. Raises ``BlockedError`` where one stops it."""
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
        """How long the body takes counts as the time of the question ``name``."""
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
        """Path of the adb program (empty: none) and what it says of its version (``None``: it does not run)."""

        async def ask() -> tuple[str, str | None]:
            try:
                path = find_adb(self.env, self.settings.adb_path or None)
            except EngineError:
                return "", None
            return path, await version_of(path, "version", env=self.env)

        return await self._asked("adb", ask)

    async def server_version(self) -> int | EngineError:
        """The adb server's protocol version; starts a server where none runs. Or why none answers."""

        async def ask() -> int | EngineError:
            try:
                return await self.server.version()
            except EngineError as exc:
                return exc

        return await self._asked("server", ask)

    async def server_answers(self) -> bool:
        """Whether a server is there already; starts none."""
        try:
            (await self.server.connect(start=False)).close()
        except EngineError:
            return False
        return True

    async def adb_servers(self) -> tuple[ServerProcess, ...] | None:
        """Looked for after ours has answered, so that it is among them."""

        async def ask() -> tuple[ServerProcess, ...] | None:
            return await asyncio.to_thread(running_servers)

        await self.server_version()
        return await self._asked("servers", ask)

    # -- the device

    async def discover(self) -> Check:
        """Which device this run is about."""

        async def ask() -> tuple[DeviceEntry, ...]:
            return await self.server.devices()

        found, self.serial = discovery(await self._asked("devices", ask), self._wanted)
        return found

    async def device(self) -> AdbDevice:
        """Raises ``BlockedError`` where there is none."""
        await self.need("device.discovery")
        return AdbDevice(self.server, self.serial)

    async def system(self) -> tuple[list[BatchOutput], float]:
        """Answers to ``SYSTEM``, and our clock (seconds since the epoch) as they came."""

        async def ask() -> tuple[list[BatchOutput], float]:
            parts = await run_commands(device, SYSTEM, timeout=ANSWER_SECONDS)
            return parts, time.time()

        device = await self._ready()
        return await self._asked("system", ask)

    async def packages(self) -> list[BatchOutput]:
        """``pm list packages`` for both variants, and ``dumpsys package`` of the chosen one."""
        base = self.package.removesuffix(".dev")
        return await self._parts("packages", (("pm", "list", "packages", base), ("dumpsys", "package", self.package)))

    async def settings_values(self) -> list[BatchOutput]:
        return await self._parts("settings", SETTINGS)

    async def services(self) -> list[BatchOutput]:
        return await self._parts("services", SERVICES)

    async def screen(self) -> list[BatchOutput]:
        return await self._parts("screen", device_health.SCREEN)

    async def _parts(self, name: str, commands: Sequence[Sequence[str]]) -> list[BatchOutput]:
        device = await self._ready()
        return await self._asked(name, lambda: run_commands(device, commands, timeout=ANSWER_SECONDS))

    async def _ready(self) -> AdbDevice:
        """The device, once everything that this run changes on it is done."""
        device = await self.device()
        await self.after("build.android.install", "build.android.launch")
        return device


def project_folder(env: dict[str, str], chosen: str = "") -> str:
    """Where the Operator's Android project is: ``chosen``, else CLAWPERATOR_ANDROID_PROJECT, else here if here is one; or ''."""
    named = chosen or env.get("CLAWPERATOR_ANDROID_PROJECT", "")
    if named:
        return os.path.abspath(os.path.expanduser(named))
    here = os.getcwd()
    return here if os.path.isfile(os.path.join(here, "gradlew")) else ""
