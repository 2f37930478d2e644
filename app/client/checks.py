"""The doctor's checks on the server's computer; fixes are run there too."""

from __future__ import annotations

from collections.abc import AsyncIterator, Awaitable, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

from clawperator.app.client.wire import Checks
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import OnProgress, unreported

if TYPE_CHECKING:
    from clawperator.engine.doctor.fix import PlannedFix

DOCTOR_SECONDS = 180.0


class RemoteDoctor:
    """``DoctorRun`` on another computer, without ``full`` runs; ``ask`` returns all its checks."""

    def __init__(self, ask: Callable[[], Awaitable[Checks]], *, full: bool, backend: str) -> None:
        from clawperator.engine.doctor.catalog import CATALOG
        from clawperator.engine.doctor.verdict import concerns

        if full:
            words = "The server makes no full run: that builds and installs an app"
            raise EngineError(
                ErrorCode.BACKEND_UNAVAILABLE, words, hint="Run on its computer: clawperator doctor --full."
            )
        wanted = (step.id for step in CATALOG if not step.full)
        self.ids = tuple(name for name in wanted if backend != "stock" or concerns(name, backend))
        self._ask = ask

    async def checks(self, *, only: str = "", since: str = "") -> AsyncIterator[Mapping[str, Any]]:
        """Run all checks; yield those that were requested."""
        begun = not since
        for check in (await self._ask()).checks:
            begun = begun or check.id == since
            if begun and only in ("", check.id):
                yield check.to_dict()


class NoFixer:
    """Runs no fixes."""

    def plan(self, checks: Sequence[Any], device_id: str) -> tuple[PlannedFix, ...]:  # noqa: ARG002  # the shape of a fixer
        return ()

    async def run(self, fix: PlannedFix, on_progress: OnProgress = unreported) -> NoReturn:  # noqa: ARG002  # the shape of a fixer
        words = "Fixes are run on the server's own computer"
        raise EngineError(ErrorCode.BACKEND_UNAVAILABLE, words, hint="Run there: clawperator doctor --fix.")
