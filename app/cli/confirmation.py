"""What is asked before something is done that cannot be taken back; without a person to ask it is refused."""

from __future__ import annotations

from clawperator.app.cli import diagnostics
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


def configure(parser: Parser) -> None:
    """The flags of a command that asks."""
    parser.switch("--yes", about="confirm without asking")
    parser.switch("--no-input", about="fail instead of asking")


def may_ask(options: Namespace) -> bool:
    """Whether somebody can be asked, and may be."""
    return not options.no_input and diagnostics.can_ask()


def confirm(options: Namespace, question: str, *, refusal: str) -> None:
    """Return if the person says yes, or ``--yes`` said it before.

    Raises ``EngineError`` (NOT_CONFIRMED) where there is no terminal to ask on (``refusal`` says what was not done), or the
    answer is no.
    """
    if options.yes:
        return
    if not may_ask(options):
        raise EngineError(ErrorCode.NOT_CONFIRMED, f"{refusal}. Pass --yes to confirm")
    if not diagnostics.ask(question):
        raise EngineError(ErrorCode.NOT_CONFIRMED, "Not confirmed. Nothing was changed")
