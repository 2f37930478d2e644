"""An engine for the time of one command: settings in, events to stderr where asked for, SIGINT to an honest answer."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.app import interrupts
from clawperator.app.cli import deferred, diagnostics
from clawperator.app.cli.context import FACE, settings
from clawperator.app.signals import hearing
from clawperator.engine import Engine, Settings
from clawperator.engine.errors import interruption

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clawperator.engine import EngineError
    from clawperator.engine.executions.attempt import Attempt

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
    interrupts.outcome = interrupt.error
    answers: list[T] = []
    try:
        asyncio.run(_session(enter, use, interrupt, answers, own=surroundings is None, verbose=options.verbose))
    except KeyboardInterrupt as exc:  # before the session, while it was cleaned up after, or a second one
        if not answers:
            raise interrupt.error("error: unknown" if interrupt.began else "not_sent") from exc
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
            engine.recorders.append(interrupt)
            with interrupt.over():
                answers.append(await use(engine))
    except asyncio.CancelledError as exc:
        if not answers:  # an interrupt that comes after the answer changes nothing about it
            raise interrupt.error() from exc


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
    from clawperator.engine.diagnostics.log_file import LogRecorder, open_log

    recorder, log = LogRecorder(), open_log(engine.settings, warn=diagnostics.warn)
    engine.recorders.append(recorder)
    if log.wants("debug"):
        engine.server.trace.listener = recorder.heard
    deferred.later(lambda _: recorder.write(log))


class _Interrupt:
    """SIGINT, SIGTERM or SIGHUP cancels the current task; as a recorder of the engine it knows what was dispatched.

    The next SIGINT is Python's own.
    """

    def __init__(self) -> None:
        self._attempt: Attempt | None = None
        self._outcome: object = None
        self.began = False
        """Something may have been dispatched."""

    def dispatched(self, attempt: Attempt) -> None:
        self._attempt, self._outcome = attempt, None

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:  # noqa: ARG002 -- a recorder's form
        self._attempt, self._outcome = attempt, result.get("outcome")

    @contextmanager
    def over(self) -> Iterator[None]:
        """React to SIGINT while the current task works with an engine."""
        task = asyncio.current_task()
        self.began = True

        def cancel() -> None:
            end()
            if task is not None:
                task.cancel()

        with hearing(cancel) as end:
            yield

    def error(self, status: str = "not_sent") -> EngineError:
        """Return the interrupt as an error about the last execution; where there was none, with the ``status``."""
        if (attempt := self._attempt) is None:
            return interruption(status)
        names = {"executionId": attempt.execution_id}
        if attempt.device_id is not None:
            names["deviceId"] = attempt.device_id
        error = interruption("sent" if attempt.trace.was_dispatched else "not_sent", **names)
        if self._outcome:
            error.extra["outcome"] = self._outcome
        return error


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
