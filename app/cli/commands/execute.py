"""``execute``: a payload from a file, the command line or stdin; checked only, planned only, or run."""

from __future__ import annotations

import os
from contextlib import contextmanager

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.flat_words import given_once, profile
from clawperator.app.cli.parsing.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator, Mapping
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser

_UNREADABLE = "Failed to read or parse execution file"
MAX_PAYLOAD_FILE_BYTES = 4 * 1024 * 1024
"""Far above any payload that the contract allows, indentation included; keeps a wrong path from filling the memory."""


class Execute(Command):
    usage = "(<json|file|-> | --execution <json|file|->) [--validate-only | --dry-run] [options]"
    notes = (
        "The payload is JSON text (starting with '{'), a file, or '-' for stdin. --payload is an alias of --execution. The output of\n"
        "`skills compile-artifact` is also accepted: its executions run in order, as with `skills run --artifact`."
    )
    examples = (
        "--execution plan.json --dry-run",
        "--execution - --timeout-ms 20000 < plan.json",
        "--execution compiled.json",
    )

    def configure(self, parser: Parser) -> None:
        parser.word("plan", about="payload")
        parser.files.add("plan")
        parser.value("--execution", metavar="<json|file|->", about="run this payload", file=True)
        parser.value("--payload", metavar="<json|file|->", about="run this payload", file=True)
        add_check_flags(parser)
        add_result_flags(parser, pictures=True)

    def run(self, options: Namespace) -> Answer:
        given = {"execution": options.execution, "payload": options.payload}
        source = given_once(self.words, "the payload", options.plan, given)
        with naming_the_file(source):
            return checked_or_run(self.read(source), options)

    def read(self, source: str | None) -> object:
        """The parsed JSON behind the one argument."""
        if source is None:
            raise EngineError(
                ErrorCode.USAGE,
                "execute requires --execution <json-or-file>",
                extra={"example": "clawperator execute --execution plan.json"},
            )
        return read_payload(source)


class BestEffort(Command):
    usage = "--goal <text>"
    reserved = True

    def configure(self, parser: Parser) -> None:
        parser.value("--goal", metavar="<text>", about="describe the goal")

    def run(self, options: Namespace) -> Answer:
        raise EngineError(
            ErrorCode.NOT_IMPLEMENTED,
            "execute best-effort is not implemented; send a plan with execute --execution",
            extra={"goal": options.goal} if options.goal is not None else None,
        )


def add_check_flags(parser: Parser) -> None:
    parser.switch("--validate-only", about="validate the payload without a device")
    parser.switch("--dry-run", about="show the plan without a device (overrides --validate-only)")


def add_result_flags(parser: Parser, *, pictures: bool = False) -> None:
    """The flags of every command that runs an execution; ``pictures`` for those whose plan may take screenshots."""
    parser.switch("--raw-envelope", about="print the device's envelope unchanged, without derived codes and host keys")
    parser.value("--max-snapshot-bytes", metavar="<n>", about="truncate UI tree text after n bytes")
    if pictures:
        parser.switch("--overwrite", about="allow a screenshot to replace an existing file")
    add_history_flag(parser)
    add_policy_flags(parser)


def add_history_flag(parser: Parser) -> None:
    """The flag of everything that runs executions."""
    parser.switch("--no-history", about="do not record runs in the history")


def add_policy_flags(parser: Parser) -> None:
    """The flags that limit what may be done and what is written down about it."""
    parser.value(
        "--policy",
        metavar="<file>",
        about="use this policy file instead of policy.toml in the config folder",
        file=True,
    )
    parser.switch("--safe-logs", about="keep screen texts out of the log and the history")


def read_payload(source: str) -> object:
    """The parsed JSON of ``--execution``.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = is_json_text(source)
    try:
        return parse_json(source if inline else read_bytes(source))
    except EngineError as exc:
        message = "Invalid JSON for --execution" if inline else f"{_UNREADABLE}: {file_name(source)}: {exc.message}"
        raise EngineError(exc.code, message, hint=exc.hint, details=exc.details) from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        hint = "Pass a file, JSON text that starts with '{', or - for stdin."
        message = f"{_UNREADABLE}: {file_name(source)}: {reason}"
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint=hint) from exc


def is_json_text(source: str) -> bool:
    """Whether an argument is the payload itself; behind a byte order mark, too, for which it is refused like a file."""
    return source.removeprefix("\ufeff").startswith("{")


def file_name(source: str) -> str:
    """How messages name the file of an argument."""
    return "stdin" if source == "-" else source[:200]


@contextmanager
def naming_the_file(source: str | None) -> Iterator[None]:
    """Put the name of the plan's file in front of what is wrong with its content."""
    try:
        yield
    except EngineError as exc:
        path = (source or "").strip()
        if (path == "-" or os.path.exists(path)) and _is_about_the_content(exc):
            name = file_name(path)
            exc.message = f"{name}: {exc.message}"
            exc.details["file"] = name
        raise


def _is_about_the_content(error: EngineError) -> bool:
    return "issues" in error.details or error.code in (
        ErrorCode.EXECUTION_ACTION_UNSUPPORTED,
        ErrorCode.PAYLOAD_TOO_LARGE,
    )


def read_bytes(source: str) -> bytes:
    """The bytes of a file or, for ``-``, of stdin; bounded. Raises ``OSError``, ``ValueError``."""
    if source == "-":
        from clawperator.engine.files.stdin import read_stdin

        data = read_stdin(MAX_PAYLOAD_FILE_BYTES + 1)
    else:
        with open(source, "rb") as stream:
            data = stream.read(MAX_PAYLOAD_FILE_BYTES + 1)
    if len(data) > MAX_PAYLOAD_FILE_BYTES:
        raise ValueError(f"more than {MAX_PAYLOAD_FILE_BYTES} bytes")
    return data


def checked_or_run(payload: object, options: Namespace) -> Answer:
    """``--dry-run`` and ``--validate-only`` (execution.md#validation), for which nothing of adb is even imported; else it runs."""
    from clawperator.engine.skills.compiled import is_compiled

    compiled = is_compiled(payload)
    if not (options.dry_run or options.validate_only):
        from clawperator.app.cli import execution

        return execution.play_compiled(payload, options) if compiled else execution.execute(payload, options)
    if compiled:
        return _checked_compiled(payload, options)
    from clawperator.engine.executions.validate import validate

    validated = validate(payload, timeout_ms=options.timeout_ms, profile=profile(options))
    max_snapshot_bytes(options)
    if options.dry_run:
        document = {"ok": True, "dryRun": True, "plan": _plan(validated.payload)}
    else:
        document = {"ok": True, "validated": True, "execution": validated.payload}
    if validated.warnings:
        document["warnings"] = [warning.to_dict() for warning in validated.warnings]
    return Answer(document, view="plan" if options.dry_run else "validated")


def _checked_compiled(payload: object, options: Namespace) -> Answer:
    """The same for what ``compile-artifact`` printed: every execution of it."""
    from clawperator.engine.skills.compiled_json import checked, read_compiled, remarks

    compiled = read_compiled(payload, timeout_ms=options.timeout_ms)
    max_snapshot_bytes(options)
    if not options.dry_run:
        return Answer(checked(compiled), view="validated")
    plans = [_plan(payload) for payload in compiled.executions]
    return Answer({"ok": True, "dryRun": True, "plans": plans, **remarks(compiled)}, view="plan")


def _plan(payload: Mapping[str, Any]) -> dict[str, Any]:
    actions = payload["actions"]
    return {
        "commandId": payload["commandId"],
        "timeoutMs": payload["timeoutMs"],
        "actionCount": len(actions),
        "actions": [{"id": a["id"], "type": a["type"], "params": a.get("params", {})} for a in actions],
    }


def max_snapshot_bytes(options: Namespace) -> int | None:
    return integer("--max-snapshot-bytes", options.max_snapshot_bytes, 1, 2**31)
