"""``execute``: a payload from a file, the command line or stdin; validated only, planned only, or run."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.flat_profile import given_once, profile
from clawperator.app.cli.parsing.common_flags import (
    CHECK_FLAGS,
    DEVICES_FLAGS,
    OVERWRITE_FLAG,
    RESULT_FLAGS,
    check_devices,
)
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.app.cli.payload_file import naming_the_file, read_payload
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.text.guide import PLAN

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Mapping
    from typing import Any


class Execute(Command):
    usage = "(<json|file|-> | --execution <json|file|->) [--validate-only | --dry-run] [options]"
    notes = (
        "The payload is JSON text (starting with '{' or '['), a file, or '-' for stdin. --payload is an alias of --execution. A plan of "
        "actions is enough, as a list or as an object with `actions`: ids and the other fields are filled in, and --validate-only "
        "prints the whole. The output of `skills compile-artifact` is also accepted: its executions run in order, as with "
        "`skills run --artifact`.\n\n"
        f"A plan:\n{PLAN}"
    )
    examples: tuple[str, ...] = (
        "plan.json",
        "--execution plan.json --dry-run",
        "--execution - --timeout-ms 20000 < plan.json",
        "--execution compiled.json",
        "--execution plan.json --devices tag:lab --jobs 8 --junit lab.xml",
    )
    flags = (
        Word("plan", "payload", file=True),
        Flag("--execution", "<json|file|->", "run this payload", file=True),
        Flag("--payload", "<json|file|->", "run this payload (same as --execution)", file=True),
        *CHECK_FLAGS,
        *DEVICES_FLAGS,
        *RESULT_FLAGS,
        OVERWRITE_FLAG,
    )

    def run(self, options: Options) -> Answer | int:
        check_devices(options)
        given = {"execution": options.execution, "payload": options.payload}
        source = given_once(self.words, "the payload", options.plan, given)
        with naming_the_file(source):
            payload = self.read(source)
            if options.dry_run or options.validate_only:
                if options.junit is not None:
                    raise EngineError(
                        ErrorCode.USAGE, "--junit reports a run: it needs one without --dry-run or --validate-only"
                    )
                return checked_or_run(payload, options)
            if options.devices is None:
                return reported(options, "execute", lambda: checked_or_run(payload, options))
            from clawperator.app.cli import execution

            return execution.on_devices(payload, options)

    def read(self, source: str | None) -> object:
        """Return the parsed JSON of the one argument."""
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
    flags = (Flag("--goal", "<text>", "describe the goal"),)

    def run(self, options: Options) -> Answer:
        raise EngineError(
            ErrorCode.NOT_IMPLEMENTED,
            "execute best-effort is not implemented; send a plan with execute --execution",
            extra={"goal": options.goal} if options.goal is not None else None,
        )


def reported(options: Options, words: str, run: Callable[[], Answer | int]) -> Answer | int:
    """Call ``run`` for one device, and write its end to the file of ``--junit``."""
    if options.junit is None:
        return run()
    from clawperator.app.cli import fan_out

    return fan_out.reported(options, f"clawperator {words}", run)


def checked_or_run(payload: object, options: Options) -> Answer:
    """Validate or plan the payload for ``--validate-only`` and ``--dry-run`` (execution.md#validation), else run it."""
    from clawperator.engine.skills.compiled import is_compiled

    compiled = is_compiled(payload)
    if not (options.dry_run or options.validate_only):
        from clawperator.app.cli import execution

        return execution.play_compiled(payload, options) if compiled else execution.execute(payload, options)
    if compiled:
        return _checked_compiled(payload, options)
    from clawperator.engine.executions.validate import validate

    validated = validate(payload, timeout_ms=options.timeout_ms, profile=profile(options))
    document = validated.to_answer()
    if options.dry_run:
        del document["validated"], document["execution"]
        document = {"ok": True, "dryRun": True, "plan": _plan(validated.payload), **document}
    return Answer(document, view="executions.plan" if options.dry_run else "executions.validated")


def _checked_compiled(payload: object, options: Options) -> Answer:
    """The same for every execution that ``compile-artifact`` printed."""
    from clawperator.engine.skills.compiled_json import checked, read_compiled, remarks

    compiled = read_compiled(payload, timeout_ms=options.timeout_ms)
    if not options.dry_run:
        return Answer(checked(compiled), view="executions.validated")
    plans = [_plan(payload) for payload in compiled.executions]
    return Answer({"ok": True, "dryRun": True, "plans": plans, **remarks(compiled)}, view="executions.plan")


def _plan(payload: Mapping[str, Any]) -> dict[str, Any]:
    actions = payload["actions"]
    return {
        "commandId": payload["commandId"],
        "timeoutMs": payload["timeoutMs"],
        "actionCount": len(actions),
        "actions": [{"id": a["id"], "type": a["type"], "params": a.get("params", {})} for a in actions],
    }
