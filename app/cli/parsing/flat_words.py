"""The flat surface: how its commands are given, and the names that its answers use (cli.md#commands).

The engine has one vocabulary, the classic one; for callers of the flat commands it is translated on the way out.
"""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.parsing.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.flat_names import flat_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Mapping
    from typing import Any

    from clawperator.app.cli.output import Answer
    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.executions.validate import Profile


class Flat(Command):
    """Mixed into a command of the flat surface, in front of its base."""

    def configure(self, parser: Parser) -> None:
        super().configure(parser)
        parser.set_defaults(surface="flat")
        for flag in parser.flags.values():
            flag.code = ErrorCode.EXECUTION_VALIDATION_FAILED

    def need(self, value: Any) -> Any:
        """``value``, or the error about the selector that is missing."""
        if value is None:
            raise EngineError(ErrorCode.MISSING_SELECTOR, f"{self.words} requires a selector", extra=self._example())
        return value

    def argument(self, what: str, positional: str | None, **flags: str | None) -> str:
        """What was given as a positional argument or by one of ``flags`` (their names, with ``_`` for ``-``).

        Raises ``EngineError``: MISSING_ARGUMENT, or EXECUTION_VALIDATION_FAILED where it was given twice.
        """
        value = given_once(self.words, what, positional, flags)
        if value is None:
            raise self.missing(what)
        return value

    def missing(self, what: str) -> EngineError:
        """The error about an argument that has to be given."""
        return EngineError(ErrorCode.MISSING_ARGUMENT, f"{self.words} requires {what}", extra=self._example())

    def _example(self) -> dict[str, str]:
        return {"example": f"clawperator {self.words} {self.examples[0]}"}


def given_once(words: str, what: str, positional: str | None, flags: Mapping[str, str | None]) -> str | None:
    """The one value that was given, or ``None``; a second one is refused even if it is the same."""
    named = [name for name, value in flags.items() if value is not None]
    spelled = [f"--{name.replace('_', '-')}" for name in named]
    if positional is not None and named:
        raise invalid(f"{words}: pass {what} as a positional argument or via {spelled[0]}, not both.")
    if len(named) > 1:
        raise invalid(f"{words}: pass {what} via {spelled[0]} or via {spelled[1]}, not both.")
    return flags[named[0]] if named else positional


def profile(options: Namespace) -> Profile:
    """The profile of the command that these options belong to."""
    return "flat" if getattr(options, "surface", "") == "flat" else "classic"


def flat_error(error: EngineError) -> EngineError:
    """``error`` under the names of the flat surface."""
    named = flat_named({"code": error.code.value, "details": error.details, "extra": error.extra})
    code = ErrorCode.known(named["code"]) or error.code
    hint = code.hint if error.hint == error.code.hint else error.hint
    hint = hint.replace("--receiver-package", "--operator-package").replace("receiverPackage", "operatorPackage")
    return EngineError(code, error.message, hint=hint, details=named["details"], extra=named["extra"])


def for_both_surfaces(run: Callable[[Any, Namespace], Answer]) -> Callable[[Any, Namespace], Answer]:
    """Decorates ``run`` of a command that both surfaces know by the same words.

    The package stands in the answer under both of its names; who said ``--operator-package`` or ``--device`` is answered in the
    flat names alone, codes included.
    """

    def named(command: Any, options: Namespace) -> Answer:
        speaks_flat = getattr(options, "speaks_flat", False)
        try:
            answer = run(command, options)
        except EngineError as exc:
            if speaks_flat:
                raise flat_error(exc) from exc
            exc.extra = _with_both_names(exc.extra)
            raise
        answer.document = flat_named(answer.document) if speaks_flat else _with_both_names(answer.document)
        return answer

    return named


def _with_both_names(document: Mapping[str, Any]) -> dict[str, Any]:
    named = {"operatorPackage": document["receiverPackage"]} if "receiverPackage" in document else {}
    return {**document, **named}
