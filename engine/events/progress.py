"""How long work tells where it is: one small value per piece of news, for stderr, the console and HTTP alike."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import dataclass
from typing import Any, Literal

StageState = Literal["running", "done", "failed", "skipped"]


@dataclass(frozen=True, slots=True)
class Stage:
    """News of one stage of a job; a stage may be told many times while it runs, and exactly once how it ended.

    ``elapsed_ms`` counts from the beginning of this stage, ``limit_ms`` is what it may take (0: no limit). ``fraction`` is
    between 0 and 1 where progress can be measured, else ``None``. ``message`` is for people: what is being done, a line of
    a tool's output, or why it failed; it may hold text of a device or of a tool and is escaped where it is shown.
    """

    job: str
    name: str
    state: StageState
    elapsed_ms: float = 0.0
    limit_ms: float = 0.0
    fraction: float | None = None
    message: str = ""

    def to_dict(self) -> dict[str, Any]:
        """One line of ``--json-progress``."""
        line: dict[str, Any] = {
            "event": "progress",
            "job": self.job,
            "stage": self.name,
            "state": self.state,
            "elapsedMs": round(self.elapsed_ms),
        }
        if self.limit_ms:
            line["limitMs"] = round(self.limit_ms)
        if self.fraction is not None:
            line["fraction"] = round(self.fraction, 4)
        if self.message:
            line["message"] = self.message
        return line


Tell = Callable[[Stage], object]
"""Who hears of the stages. Called in the event loop; must not block."""


def unreported(_: object) -> None:
    """Ignore progress: for callers that want only the result."""
