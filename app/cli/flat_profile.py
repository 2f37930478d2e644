"""The flat profile: how its commands are called, and the names that its answers use (cli.md#commands).

The engine uses the classic names; for callers of the flat commands they are translated on the way out.
"""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.parsing.values import invalid
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.flat_names import flat_named

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any

    from clawperator.app.cli.command import Answer, Options
    from clawperator.engine.executions.validate import Profile


class Flat(Command):
    """Mixed into a command of the flat profile, in front of its base."""

    flag_code = ErrorCode.EXECUTION_VALIDATION_FAILED
    surface = "flat"

    def need(self, value: Any) -> Any:
        """Return ``value``, or raise the error about the missing selector."""
        if value is None:
            raise self.missing("a selector", ErrorCode.MISSING_SELECTOR)
        return value

    def argument(self, what: str, positional: str | None, **flags: str | None) -> str:
        """Return what was given as a positional argument or by one of ``flags`` (their names, with ``_`` for ``-``).

        Raises ``EngineError``: MISSING_ARGUMENT, or EXECUTION_VALIDATION_FAILED where it was given twice.
        """
        value = given_once(self.words, what, positional, flags)
        if value is None:
            raise self.missing(what, ErrorCode.MISSING_ARGUMENT)
        return value


def given_once(words: str, what: str, positional: str | None, flags: Mapping[str, str | None]) -> str | None:
    """Return the one value that was given, or ``None``; a second one is refused even if it is the same."""
    named = [name for name, value in flags.items() if value is not None]
    spelled = [f"--{name.replace('_', '-')}" for name in named]
    if positional is not None and named:
        raise invalid(f"{words}: pass {what} as a positional argument or via {spelled[0]}, not both.")
    if len(named) > 1:
        raise invalid(f"{words}: pass {what} via {spelled[0]} or via {spelled[1]}, not both.")
    return flags[named[0]] if named else positional


def profile(options: Options) -> Profile:
    """Return the profile of the command that these options belong to."""
    return "flat" if getattr(options, "surface", "") == "flat" else "classic"


def flat_error(error: EngineError) -> EngineError:
    """Return ``error`` under the names of the flat profile."""
    named = flat_named({"code": error.code.value, "details": error.details, "extra": error.extra})
    code = ErrorCode.known(named["code"]) or error.code
    hint = code.hint if error.hint == error.code.hint else error.hint
    hint = hint.replace("--receiver-package", "--operator-package").replace("receiverPackage", "operatorPackage")
    return EngineError(code, error.message, hint=hint, details=named["details"], extra=named["extra"])


def for_both_profiles(run: Callable[[Any, Options], Answer]) -> Callable[[Any, Options], Answer]:
    """Decorate ``run`` of a command that both profiles know by the same words.

    The answer names the package twice, as both profiles do; to a command line with ``--operator-package`` or ``--device``, it
    uses the flat names alone, codes included.
    """

    def named(command: Any, options: Options) -> Answer:
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
