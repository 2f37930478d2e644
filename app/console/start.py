"""Opens the console: on the user's devices, on a server's, on saved dumps, or on an open engine."""

from __future__ import annotations

import asyncio
import os
import sys
import time
from collections.abc import Callable, Mapping, Sequence
from contextlib import AbstractAsyncContextManager, AsyncExitStack
from functools import partial
from importlib import import_module
from pathlib import Path
from types import MappingProxyType, TracebackType
from typing import TYPE_CHECKING, Any, Self, cast

from textual.app import InvalidThemeError

from clawperator.app import interrupts
from clawperator.app.console import terminal
from clawperator.app.console.app import ConsoleApp
from clawperator.app.console.crash import CrashReports
from clawperator.app.console.inspect.pictures import choose_graphics, open_graphics
from clawperator.app.console.preferences import DEFAULTS, Preferences
from clawperator.app.console.startup import Opening
from clawperator.app.extras import not_installed, require_nats
from clawperator.app.interrupts import INTERRUPTED
from clawperator.app.signals import signal_handlers
from clawperator.engine.config.active_profile import load_profile
from clawperator.engine.config.settings import crash_path
from clawperator.engine.errors import EngineError, ErrorCode

if TYPE_CHECKING:
    from clawperator.app.client.engine import RemoteEngine
    from clawperator.app.console.console_engine import ConsoleEngine
    from clawperator.app.fleet.engine import FleetEngine
    from clawperator.engine.config.settings import Settings


class LateEngine:
    """Use as ``async with LateEngine(settings, factory) as engine``; after ``open`` it has the attributes of an engine."""

    def __init__(self, settings: Settings, factory: Callable[[Settings], AbstractAsyncContextManager[Any]]) -> None:
        self.settings = settings
        self.error: EngineError | None = None
        """Why it could not be opened."""
        self._factory = factory
        self._closing = AsyncExitStack()

    def backend_of(self, device_id: str) -> str:
        """Return the backend of executions on a device; the first frame names it."""
        engine = self.__dict__.get("_engine")
        return str(self.settings.backend if engine is None else engine.backend_of(device_id))

    async def __aenter__(self) -> Self:
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        await self._closing.aclose()

    async def open(self) -> bool:
        """Import and open the engine, without blocking the loop; return false with the reason in ``error``."""
        await asyncio.to_thread(import_module, "clawperator.engine.facade")
        try:
            self._engine = await self._closing.enter_async_context(self._factory(self.settings))
        except EngineError as exc:
            self.error = exc
        return self.error is None

    def __getattr__(self, name: str) -> Any:
        if name == "_engine":
            raise AttributeError("The engine is not open")
        return getattr(self._engine, name)


EngineFactory = Callable[["Settings"], AbstractAsyncContextManager[Any]]


def default_engine(settings: Settings) -> AbstractAsyncContextManager[Any]:
    from clawperator.engine.facade import Engine

    return Engine(settings, face="console", logged=True)


def show_files(files: Sequence[str], preferences: Preferences = DEFAULTS) -> int:
    """Open the console on saved dumps, without a device and without adb; return the exit code."""
    from clawperator.app.console.offline import SavedDumps

    return asyncio.run(run_async(SavedDumps(), preferences, files=files))


def run(
    settings: Settings, preferences: Preferences = DEFAULTS, *, engine_factory: EngineFactory = default_engine
) -> int:
    """Open the console on this terminal until the user leaves it; return the exit code.

    Without a suitable terminal (none, ``TERM=dumb``) print the reason on standard error and return 1.
    """

    async def open_and_run() -> int:
        read_only = settings.read_only or load_profile(settings).read_only
        async with LateEngine(settings, engine_factory) as engine:
            code = await run_async(
                cast("ConsoleEngine", engine),
                preferences,
                wanted_device=settings.device_id,
                read_only=read_only,
                opening=engine.open,
            )
        if engine.error is not None:
            raise engine.error
        return code

    if not _can_draw(os.environ):
        return 1
    return asyncio.run(open_and_run())


def connect(url: str, token_file: str, settings: Settings, preferences: Preferences = DEFAULTS) -> int:
    """Open the console on the server at ``url``; return the exit code.

    Raises ``EngineError``: USAGE for an invalid address or token file, HOST_DEPENDENCY_MISSING without an extra.
    """
    try:
        from clawperator.app.client.engine import RemoteEngine
        from clawperator.app.client.http_client import Names
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("httpx", "httpx_sse"):
            raise
        raise not_installed("server", f"A console before a server needs the package '{exc.name}'") from exc
    engine = RemoteEngine(
        url,
        token_file=token_file,
        receiver_package=_package(settings),
        read_only=settings.read_only,
        strict=False,  # as the console on its own devices
        names=Names("--connect", "--token-file", "--token-file <file>"),
    )
    return _run_remote(engine, settings, preferences, not_offered(f"{engine.host} is a remote server. Run there:"))


def join_fleet(servers: str, settings: Settings, preferences: Preferences = DEFAULTS) -> int:
    """Open the console on the devices of a fleet; return the exit code.

    Raises ``EngineError``: as ``app.fleet.connection``, HOST_DEPENDENCY_MISSING without an extra.
    """
    require_nats()
    try:
        from clawperator.app.fleet.engine import FleetEngine
    except ModuleNotFoundError as exc:
        if (exc.name or "").partition(".")[0] not in ("httpx", "httpx_sse"):
            raise
        raise not_installed("server", f"A console before a fleet needs the package '{exc.name}'") from exc
    engine = FleetEngine(servers, receiver_package=_package(settings), read_only=settings.read_only)
    return _run_remote(engine, settings, preferences, not_offered("Only the host of a device can do that. Run there:"))


def not_offered(there: str) -> dict[str, str]:
    """Return the actions that only the computer of a device can run, with its command after ``there``."""
    return {
        "fix": f"{there} clawperator doctor --fix",
        "full_run": f"{there} clawperator doctor --full",
        "operator_setup": f"{there} clawperator operator setup",
        "pair": f"{there} clawperator devices pair --qr",
        "provision": f"{there} clawperator provision emulator. S starts an existing one",
        "run_skill": f"{there} clawperator skills run. i puts the compiled skill into the draft, which runs there",
    }


def _package(settings: Settings) -> str:
    return settings.receiver_package if settings.package_chosen else ""


def _run_remote(
    engine: RemoteEngine | FleetEngine, settings: Settings, preferences: Preferences, without: Mapping[str, str]
) -> int:
    async def open_and_run() -> int:
        async with engine:
            return await run_async(
                cast("ConsoleEngine", engine),
                preferences,
                wanted_device=settings.device_id,
                read_only=settings.read_only,
                remote=engine.host,
                without=without,
            )

    if not _can_draw(os.environ):
        return 1
    return asyncio.run(open_and_run())


async def run_async(
    engine: ConsoleEngine,
    preferences: Preferences = DEFAULTS,
    *,
    demo: bool = False,
    wanted_device: str = "",
    files: Sequence[str] = (),
    read_only: bool = False,
    remote: str = "",
    without: Mapping[str, str] = MappingProxyType({}),
    opening: Opening | None = None,
) -> int:
    """As ``run``, with an engine, in the running loop.

    ``remote``, ``without`` and ``opening`` as in ``ConsoleApp``.

    Raises ``EngineError``: USAGE for an unknown theme, HOST_DEPENDENCY_MISSING for pictures without their extra.
    """
    if not _can_draw(os.environ):
        return 1
    if os.environ.get("NO_COLOR") == "":
        del os.environ["NO_COLOR"]  # empty means unset, but not to Textual
    encoding = sys.stdout.encoding or "ascii"
    look = terminal.choose_look(os.environ, theme=preferences.theme, ascii_only=preferences.ascii, encoding=encoding)
    choice = choose_graphics(os.environ, preferences.pictures, look=look)
    graphics = open_graphics(choice, asked=preferences.pictures == choice)
    try:
        app = ConsoleApp(
            engine,
            look=look,
            wanted_device=wanted_device,
            demo=demo,
            files=files,
            graphics=graphics,
            pictures=choice != "none",
            crashes=CrashReports(
                Path(crash_path(os.environ)),
                lambda: time.strftime("%Y-%m-%d %H:%M:%S"),
                lambda text: engine.events.typed.text(text),  # noqa: PLW0108 -- the engine may open later
            ),
            read_only=read_only,
            preferences=preferences,
            remote=remote,
            without=without,
            opening=opening,
        )
    except InvalidThemeError as exc:
        raise EngineError(ErrorCode.USAGE, f"Unknown theme: {look.theme}", hint=str(exc)) from exc
    terminals = [descriptor for descriptor in (0, 1, 2) if os.isatty(descriptor)]
    app.leave = partial(_leave, app, terminals)
    interrupts.last_words = _restorer(terminals)
    with signal_handlers(app.leave):
        code = await app.run_async(mouse=preferences.mouse)
    return (code or 0) if app.return_code in (None, 0) else app.return_code


_AS_BEFORE = b"\x1b[?1000l\x1b[?1003l\x1b[?1006l\x1b[?2004l\x1b[<u\x1b[?1049l\x1b[?25h"
"""Mouse, bracketed paste and keyboard protocol off, the normal screen and its cursor back."""


def _restorer(terminals: Sequence[int]) -> Callable[[], int] | None:
    """Return what gives the terminal back when the console hangs and is interrupted a second time."""
    if not terminals or os.name != "posix":
        return None
    import termios

    before = termios.tcgetattr(terminals[0])

    def restore() -> int:
        termios.tcsetattr(terminals[0], termios.TCSANOW, before)
        os.set_blocking(terminals[-1], False)  # its output may be stopped
        os.write(terminals[-1], _AS_BEFORE)
        return INTERRUPTED

    return restore


def _leave(app: ConsoleApp, terminals: Sequence[int]) -> None:
    """End ``app``. Hung-up descriptors of ``terminals`` are replaced: writing to them fails."""
    for descriptor in terminals:
        if not os.isatty(descriptor):
            nothing = os.open(os.devnull, os.O_RDWR)
            os.dup2(nothing, descriptor)
            os.close(nothing)
    app.exit(return_code=INTERRUPTED)


def _can_draw(env: Mapping[str, str]) -> bool:
    interactive = sys.stdin.isatty() and sys.stdout.isatty() and sys.stderr.isatty()  # Textual draws on stderr
    if terminal.refuses(env, interactive=interactive):
        sys.stderr.write(f"{terminal.REFUSAL}\n")
        return False
    return True
