"""``history audit``: who asked what of which device, and what was refused. As light as ``history`` itself."""

from __future__ import annotations

from clawperator.app.cli import output
from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import integer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser

EVENTS = ("execute", "allowed", "result", "refused", "compile")
_PAGE = 50
_MOST = 10_000


class Audit(Command):
    usage = "[--event <event>] [--limit <n>] [--before <number>] [--jsonl] [options]"
    notes = (
        "Newest first. execute: an execution was admitted to a device; allowed: an operation that is no execution was permitted;\n"
        "result: how either ended; refused: the policy, a rule of the server or a lock was against it (rule); compile: an artifact\n"
        "of a skill became an execution, or could not (code). Each says who (caller, profile), from where (face, peer), what\n"
        "(operation, actionTypes) and the verdict. No text of a screen is in it. --device-id takes one device's entries only. Where hasMore is true, --before with the\n"
        "last number shows what is older."
    )
    examples = ("", "--event refused --output pretty", "--limit 1000 --jsonl")

    def configure(self, parser: Parser) -> None:
        parser.value("--event", metavar="<event>", choices=EVENTS, about="list only entries of this kind")
        parser.value("--limit", metavar="<n>", about=f"list at most n entries [{_PAGE}]")
        parser.value("--before", metavar="<number>", about="list entries older than this one")
        parser.switch("--jsonl", about="print one JSON document per entry and line")

    def run(self, options: Namespace) -> Answer | int:
        from clawperator.app.cli.commands.history import open_history

        limit = integer("--limit", options.limit, 1, _MOST) or _PAGE
        before = integer("--before", options.before, 1, 2**62)
        with open_history(options) as history:
            found = history.audit(
                limit + 1,
                before,
                events=(options.event,) if options.event else (),
                device_id=options.device_id or "",
            )
        entries = [entry.to_dict() for entry in found[:limit]]
        if options.jsonl:
            for entry in entries:
                output.print_json(entry)
            return 0
        return Answer({"ok": True, "audit": entries, "hasMore": len(found) > limit}, view="audit")
