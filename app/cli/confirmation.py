"""Confirmation of what cannot be undone; without a terminal to ask on it is refused."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.cli.command import Options


def may_ask(options: Options) -> bool:
    """Whether ``--no-input`` allows a question and a person can answer it."""
    return not options.no_input and diagnostics.can_ask()


def confirm(options: Options, question: str, *, refusal: str) -> None:
    """Return if the person confirms, or ``--yes`` was passed.

    Raises ``EngineError`` (NOT_CONFIRMED) without a terminal to ask on (``refusal`` is the message then), or after a no.
    """
    if options.yes:
        return
    if not may_ask(options):
        raise EngineError(ErrorCode.NOT_CONFIRMED, f"{refusal}. Pass --yes to confirm")
    if not diagnostics.ask(question):
        raise EngineError(ErrorCode.NOT_CONFIRMED, "Not confirmed. Nothing was changed")
