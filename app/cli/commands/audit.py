"""``history audit``: requests to devices and their outcomes. As light as ``history`` itself."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import limit_flag
from clawperator.app.cli.parsing.flags import Flag, switch

EVENTS = ("execute", "allowed", "result", "refused", "compile")


class Audit(Command):
    usage = "[--event <event>] [--limit <n>] [--before <number>] [--jsonl] [options]"
    notes = (
        "Newest first. execute: a device accepted an execution; allowed: another operation was permitted; result: how either ended;\n"
        "refused: the policy, a rule of the server or a lock denied it (rule); compile: an artifact of a skill became an execution,\n"
        "or failed to (code). Each entry names the caller (caller, profile), the origin (face, peer), the operation (operation,\n"
        "actionTypes) and the outcome, and has no text of a screen. --device-id lists the entries of one device only. If hasMore is\n"
        "true, pass --before with the last number to list older entries."
    )
    examples = ("", "--event refused --output pretty", "--limit 1000 --jsonl")
    flags = (
        Flag("--event", "<event>", f"list only entries of this kind: {', '.join(EVENTS)} [all]", choices=EVENTS),
        limit_flag("entries", 50, 10_000),
        Flag("--before", "<number>", "list entries older than this one", bounds=(1, 2**62)),
        switch("--jsonl", "print one JSON document per entry and line"),
    )

    def run(self, options: Options) -> Answer | int:
        from clawperator.app.cli.commands.history import open_history

        with open_history(options) as history:
            found = history.audit(
                options.limit + 1,
                options.before,
                events=(options.event,) if options.event else (),
                device_id=options.device_id or "",
            )
        entries = [entry.to_dict() for entry in found[: options.limit]]
        if options.jsonl:
            for entry in entries:
                output.print_json(entry)
            return 0
        return Answer({"ok": True, "audit": entries, "hasMore": len(found) > options.limit}, view="audit")
