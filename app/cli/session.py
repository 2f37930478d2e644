"""An engine for the time of one command: settings in, events to stderr where asked for, SIGINT to an honest answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, TypeVar

from clawperator.app.cli import deferred, diagnostics
from clawperator.app.cli.context import FACE, settings
from clawperator.app.signals import hearing
from clawperator.engine import Engine, Settings
from clawperator.engine.errors import interruption

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterator

    from clawperator.engine import EngineError
    from clawperator.engine.events.bus import EventBus, Subscription

T = TypeVar("T")


def run(
    options: Namespace,
    use: Callable[[Engine], Awaitable[T]],
    *,
    surroundings: Callable[[], AbstractAsyncContextManager[Settings]] | None = None,
) -> T:
    """Call ``use`` with an engine and return its answer.

    ``surroundings`` provides the settings where the command does not work on the user's own devices.

    Raises what ``use`` raises; ``EngineError`` (INTERRUPTED) after SIGINT.
    """
    enter = surroundings or partial(_own_devices, options)
    interrupt = _Interrupt()
    answers: list[T] = []
    try:
        asyncio.run(_session(enter, use, interrupt, answers, own=surroundings is None, verbose=options.verbose))
    except KeyboardInterrupt as exc:  # before the session, while it was cleaned up after, or a second one
        if not answers:
            raise interruption("error: unknown" if interrupt.began else "not_sent") from exc
    return answers[0]


@asynccontextmanager
async def _own_devices(options: Namespace) -> AsyncIterator[Settings]:
    yield settings(options)


async def _session(
    surroundings: Callable[[], AbstractAsyncContextManager[Settings]],
    use: Callable[[Engine], Awaitable[T]],
    interrupt: _Interrupt,
    answers: list[T],
    *,
    own: bool,
    verbose: bool,
) -> None:
    try:
        async with surroundings() as chosen, Engine(chosen, face=FACE) as engine, _storyteller(engine, verbose=verbose):
            if own:
                _record_afterwards(engine)
                _log_afterwards(engine)
            with interrupt.over(engine.events):
                answers.append(await use(engine))
    except asyncio.CancelledError as exc:
        if not answers:  # an interrupt that comes after the answer changes nothing about it
            raise await interrupt.error() from exc


def _record_afterwards(engine: Engine) -> None:
    """The answer goes out first; then what ran on the user's own devices is written down, and said if that did not work."""
    history = engine.history
    if history is None:
        return
    history.hold()

    def finish(leaving: bool) -> None:
        history.close(leaving=leaving)
        for trouble in history.troubles:
            diagnostics.warn(trouble)

    deferred.later(finish)


def _log_afterwards(engine: Engine) -> None:
    """What ran goes to the log file when the answer is out."""
    from clawperator.engine.diagnostics.log_file import LogKeeper, open_log

    keeper, log = LogKeeper(), open_log(engine.settings, warn=diagnostics.warn)
    engine.keepers.append(keeper)
    if log.wants("debug"):
        engine.server.trace.listener = keeper.heard
    deferred.later(lambda _: keeper.write(log))


class _Interrupt:
    """SIGINT, SIGTERM or SIGHUP cancels the current task; what the engine publishes then says whether anything was dispatched.

    Listening begins with the interrupt, so that an undisturbed execution pays for nothing. The next SIGINT is Python's own.
    """

    def __init__(self) -> None:
        self._aftermath: Subscription | None = None
        self.began = False
        """Something may have been dispatched."""

    @contextmanager
    def over(self, events: EventBus) -> Iterator[None]:
        """React to SIGINT while the current task works with an engine that publishes to ``events``."""
        task = asyncio.current_task()
        self.began = True

        def cancel() -> None:
            end()
            self._aftermath = events.subscribe()
            if task is not None:
                task.cancel()

        with hearing(cancel) as end:
            yield

    async def error(self) -> EngineError:
        """The interrupt as an error: it names the execution that was cut off, where there was one."""
        if self._aftermath is None:
            return interruption()
        from clawperator.engine.events.types import ExecutionFinished

        self._aftermath.close()
        for event in await self._aftermath.batch():
            if isinstance(event, ExecutionFinished):
                cut_off = event.result.get("error", {})
                names = {name: cut_off[name] for name in ("executionId", "deviceId") if name in cut_off}
                error = interruption(cut_off.get("broadcastDispatchStatus", "not_sent"), **names)
                if "outcome" in event.result:
                    error.extra["outcome"] = event.result["outcome"]
                return error
        return interruption()


@asynccontextmanager
async def _storyteller(engine: Engine, *, verbose: bool) -> AsyncIterator[None]:
    """Tell the engine's events on stderr while ``verbose``."""
    if not verbose:
        yield
        return
    from clawperator.app.cli.verbose_log import tell

    with engine.events.subscribe() as subscription:
        task = asyncio.create_task(tell(subscription), name="story")
        try:
            yield
        finally:
            subscription.close()
            await task
