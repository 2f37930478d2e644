"""Commands that are one call of the engine: the result of the call is the answer."""

from __future__ import annotations

from contextlib import nullcontext

from clawperator.app.cli import progress
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.flat_profile import for_both_profiles
from clawperator.app.cli.parsing.common_flags import PROGRESS_FLAG
from clawperator.engine.progress import unreported

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine import Engine


class EngineCommand(Command):
    """Base: subclasses say what they call, and answer with its result.

    With ``PROGRESS_FLAG`` among its flags, the command shows the stages of the call on stderr.
    """

    def check(self, options: Options) -> None:
        """Refuse a wrong command line, before anything is started."""

    async def call(self, engine: Engine, options: Options) -> Answer:
        """Call the engine; ``options.on_progress`` takes the stages of the work."""
        raise NotImplementedError

    def run(self, options: Options) -> Answer:
        self.check(options)
        from clawperator.app.cli.session import run

        with progress.shown(options) if PROGRESS_FLAG in self.flags else nullcontext(unreported) as options.on_progress:
            return run(options, lambda engine: self.call(engine, options))


class SharedEngineCommand(EngineCommand):
    """One that both profiles know by the same words."""

    @for_both_profiles
    def run(self, options: Options) -> Answer:
        return super().run(options)
