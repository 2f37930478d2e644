"""An engine for the duration of one command, with the handling of signals and the records of what ran."""

from __future__ import annotations

import asyncio
import signal
from collections.abc import Awaitable, Callable
from contextlib import AbstractAsyncContextManager, asynccontextmanager, contextmanager
from functools import partial
from typing import TYPE_CHECKING, Any, TypeVar

from clawperator.app import interrupts
from clawperator.app.cli import after_output, diagnostics
from clawperator.app.cli.settings import FACE, resolve_settings
from clawperator.app.signals import signal_handlers
from clawperator.engine import Engine, Settings
from clawperator.engine.config.settings import usual_lock_folder
from clawperator.engine.errors import EngineError, ErrorCode, interruption

if TYPE_CHECKING:
    from collections.abc import AsyncIterator, Iterator, Mapping

    from clawperator.app.cli.command import Options
    from clawperator.engine.executions.attempt import Attempt

T = TypeVar("T")


def run(
    options: Options,
    use: Callable[[Engine], Awaitable[T]],
    *,
    settings_source: Callable[[], AbstractAsyncContextManager[Settings]] | None = None,
    remote: bool = False,
) -> T:
    """Call ``use`` with an engine and return its answer.

    ``remote``: ``use`` respects ``--fleet``, which is refused otherwise. ``settings_source`` provides the settings of commands that do not work on the user's own devices.

    Raises what ``use`` raises; ``EngineError`` (INTERRUPTED) after SIGINT.
    """
    if getattr(options, "fleet", None) is not None and not remote:
        raise EngineError(
            ErrorCode.NOT_IMPLEMENTED, "This command cannot run on a fleet; send a plan with execute --fleet"
        )
    enter = settings_source or partial(_own_devices, options)
    interrupt = _Interrupt()
    interrupts.outcome = interrupt.error
    answers: list[T] = []
    try:
        asyncio.run(_session(enter, use, interrupt, answers, own=settings_source is None, verbose=options.verbose))
    except KeyboardInterrupt as exc:  # before the session, during its cleanup, or a second one
        if not answers:
            raise interrupt.error("error: unknown" if interrupt.began else "not_sent") from exc
    finally:
        if signal.getsignal(signal.SIGINT) is interrupts.count_and_raise:
            signal.signal(signal.SIGINT, signal.default_int_handler)
    return answers[0]


@asynccontextmanager
async def _own_devices(options: Options) -> AsyncIterator[Settings]:
    yield resolve_settings(options)


async def _session(
    settings_source: Callable[[], AbstractAsyncContextManager[Settings]],
    use: Callable[[Engine], Awaitable[T]],
    interrupt: _Interrupt,
    answers: list[T],
    *,
    own: bool,
    verbose: bool,
) -> None:
    try:
        async with (
            settings_source() as chosen,
            Engine(chosen, face=FACE) as engine,
            _verbose_events(engine, verbose=verbose),
        ):
            if own:
                engine.trees.hold()
                after_output.schedule(lambda _: engine.trees.close())
                _warn_of_moved_locks(chosen)
                _schedule_history(engine)
                _schedule_log(engine)
            engine.recorders.append(interrupt)
            with interrupt.over():
                answers.append(await use(engine))
    except asyncio.CancelledError as exc:
        if not answers:  # an interrupt that comes after the answer changes nothing about it
            raise interrupt.error() from exc


def _warn_of_moved_locks(settings: Settings) -> None:
    """Warn that programs of this user with another home do not see this one's locks."""
    usual = usual_lock_folder(settings.environment)
    if settings.lock_dir != usual:
        diagnostics.warn(f"{usual} cannot be written: the device locks are in {settings.lock_dir}")


def _schedule_history(engine: Engine) -> None:
    """Write the run to the history after the answer, and warn if that fails."""
    history = engine.history
    if history is None:
        return
    history.hold()

    def finish(leaving: bool) -> None:
        history.close(leaving=leaving)
        for trouble in history.troubles:
            diagnostics.warn(trouble)

    after_output.schedule(finish)


def _schedule_log(engine: Engine) -> None:
    """Write the run to the log file after the answer."""
    from clawperator.engine.diagnostics.log_file import LogRecorder, open_log

    recorder, log = LogRecorder(), open_log(engine.settings, warn=diagnostics.warn)
    engine.recorders.append(recorder)
    if log.wants("debug"):
        engine.server.trace.listener = recorder.heard
    after_output.schedule(lambda _: recorder.write(log))


class _Interrupt:
    """Cancels the current task on SIGINT, SIGTERM or SIGHUP; as a recorder of the engine it knows what was dispatched.

    Python handles the next SIGINT.
    """

    def __init__(self) -> None:
        self._attempt: Attempt | None = None
        self._outcome: object = None
        self.began = False
        """Whether something may have been dispatched."""

    def dispatched(self, attempt: Attempt) -> None:
        self._attempt, self._outcome = attempt, None

    def ended(self, attempt: Attempt, result: Mapping[str, Any], duration_ms: float) -> None:  # noqa: ARG002 -- a recorder's form
        self._attempt, self._outcome = attempt, result.get("outcome")

    @contextmanager
    def over(self) -> Iterator[None]:
        """Handle signals while the current task works with an engine."""
        task = asyncio.current_task()
        self.began = True

        def cancel() -> None:
            end()
            if signal.getsignal(signal.SIGINT) is signal.default_int_handler:
                signal.signal(signal.SIGINT, interrupts.count_and_raise)
            if task is not None:
                task.cancel()

        with signal_handlers(cancel) as end:
            yield

    def error(self, status: str = "not_sent") -> EngineError:
        """Return the interrupt as an error about the last execution; without one, with the ``status``."""
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
async def _verbose_events(engine: Engine, *, verbose: bool) -> AsyncIterator[None]:
    """Log the engine's events to stderr while ``verbose``."""
    if not verbose:
        yield
        return
    from clawperator.app.cli.verbose_log import write_events

    with engine.events.subscribe() as subscription:
        task = asyncio.create_task(write_events(subscription), name="verbose log")
        try:
            yield
        finally:
            subscription.close()
            await task
