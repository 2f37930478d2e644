"""``execute``: a payload from a file, the command line or stdin; checked only, planned only, or run."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.flat_words import given_once, profile
from clawperator.app.cli.output import Answer
from clawperator.app.cli.values import integer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.arguments import Parser
    from clawperator.engine.executions.validate import Validated

_UNREADABLE = "Failed to read or parse execution file"
MAX_PAYLOAD_FILE_BYTES = 4 * 1024 * 1024
"""Far above any payload that the contract allows, indentation included; keeps a wrong path from filling the memory."""


class Execute(Command):
    usage = "(<json|file|-> | --execution <json|file|->) [--validate-only | --dry-run] [options]"
    notes = "The payload is JSON text (it starts with '{'), a file, or '-' for stdin. --payload is another name of --execution."
    examples = (
        "--execution plan.json",
        "--execution plan.json --dry-run",
        "--execution - --timeout-ms 20000 < plan.json",
    )

    def configure(self, parser: Parser) -> None:
        parser.word("plan", about="the payload")
        parser.files.add("plan")
        parser.value("--execution", metavar="<json|file|->", about="the payload", file=True)
        parser.value("--payload", metavar="<json|file|->", about="the payload", file=True)
        add_check_flags(parser)
        add_result_flags(parser, pictures=True)

    def run(self, options: Namespace) -> Answer:
        given = {"execution": options.execution, "payload": options.payload}
        return checked_or_run(self.read(given_once(self.words, "the payload", options.plan, given)), options)

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

    def configure(self, parser: Parser) -> None:
        parser.value("--goal", metavar="<text>", about="what to reach")

    def run(self, options: Namespace) -> Answer:
        if options.goal is None:
            raise EngineError(ErrorCode.USAGE, "execute best-effort requires --goal <text>")
        raise EngineError(
            ErrorCode.NOT_IMPLEMENTED,
            "execute best-effort is not implemented; send a plan with execute --execution",
            extra={"goal": options.goal},
        )


def add_check_flags(parser: Parser) -> None:
    parser.switch("--validate-only", about="check the payload; touch no device")
    parser.switch("--dry-run", about="show the plan; touch no device (wins over --validate-only)")


def add_result_flags(parser: Parser, *, pictures: bool = False) -> None:
    """The flags of every command that runs an execution; ``pictures`` for those whose plan may take screenshots."""
    parser.switch("--raw-envelope", about="the device's envelope as it came, without derived codes and host keys")
    parser.value("--max-snapshot-bytes", metavar="<n>", about="cut the text of a UI tree after n bytes")
    if pictures:
        parser.switch("--overwrite", about="let a screenshot replace an existing file")
    add_history_flag(parser)
    add_policy_flags(parser)


def add_history_flag(parser: Parser) -> None:
    """The flag of everything that runs executions."""
    parser.switch("--no-history", about="keep no record of what runs")


def add_policy_flags(parser: Parser) -> None:
    """The flags that limit what may be done and what is written down about it."""
    parser.value(
        "--policy", metavar="<file>", about="the policy instead of policy.toml in the config folder", file=True
    )
    parser.switch("--safe-logs", about="keep texts of screens out of the log and the history")


def read_payload(source: str) -> object:
    """The parsed JSON of ``--execution``.

    Raises ``EngineError`` (EXECUTION_VALIDATION_FAILED) where it cannot be read or is not JSON.
    """
    from clawperator.engine.executions.validate import parse_json

    source = source.strip()
    inline = source.startswith("{")
    try:
        return parse_json(source if inline else read_bytes(source))
    except EngineError as exc:
        message = "Invalid JSON for --execution" if inline else f"{_UNREADABLE}: {exc.message}"
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, hint="", details=exc.details) from exc
    except (OSError, ValueError) as exc:
        reason = getattr(exc, "strerror", None) or exc
        hint = "Give a file, JSON text that starts with '{', or - for stdin."
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, f"{_UNREADABLE}: {reason}", hint=hint) from exc


def read_bytes(source: str) -> bytes:
    """The bytes of a file or, for ``-``, of stdin; bounded."""
    import sys

    if source == "-":
        data = sys.stdin.buffer.read(MAX_PAYLOAD_FILE_BYTES + 1) if sys.stdin is not None else b""
    else:
        with open(source, "rb") as stream:
            data = stream.read(MAX_PAYLOAD_FILE_BYTES + 1)
    if len(data) > MAX_PAYLOAD_FILE_BYTES:
        raise ValueError(f"more than {MAX_PAYLOAD_FILE_BYTES} bytes")
    return data


def checked_or_run(payload: object, options: Namespace) -> Answer:
    """``--dry-run`` and ``--validate-only`` (execution contract §13), for which nothing of adb is even imported; else it runs."""
    if not (options.dry_run or options.validate_only):
        from clawperator.app.cli.executing import execute

        return execute(payload, options)
    from clawperator.engine.executions.validate import validate

    validated = validate(payload, timeout_ms=options.timeout_ms, profile=profile(options))
    max_snapshot_bytes(options)
    document = _plan(validated) if options.dry_run else {"ok": True, "validated": True, "execution": validated.payload}
    if validated.warnings:
        document["warnings"] = [warning.to_dict() for warning in validated.warnings]
    return Answer(document, view="plan" if options.dry_run else "validated")


def _plan(validated: Validated) -> dict[str, Any]:
    payload = validated.payload
    actions = payload["actions"]
    plan = {
        "commandId": payload["commandId"],
        "timeoutMs": payload["timeoutMs"],
        "actionCount": len(actions),
        "actions": [{"id": a["id"], "type": a["type"], "params": a.get("params", {})} for a in actions],
    }
    return {"ok": True, "dryRun": True, "plan": plan}


def max_snapshot_bytes(options: Namespace) -> int | None:
    return integer("--max-snapshot-bytes", options.max_snapshot_bytes, 1, 2**31)
