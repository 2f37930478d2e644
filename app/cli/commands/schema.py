"""``schema``: the contracts as JSON Schema, made from the models that validate."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser


class Schema(Command):
    usage = "<name>"
    notes = "Names: execution, action, matcher, envelope, error, …; an unknown name lists them all."
    examples = ("execution",)

    def configure(self, parser: Parser) -> None:
        parser.word("name", about="contract name", suggest=("execution", "action", "matcher", "envelope", "error"))

    def run(self, options: Namespace) -> Answer:
        from clawperator.engine.json_schema import SCHEMAS, json_schema

        if options.name not in SCHEMAS:
            wrong = "schema requires <name>" if options.name is None else f"Unknown schema: {options.name}"
            raise EngineError(
                ErrorCode.USAGE,
                f"{wrong}. Names: {', '.join(SCHEMAS)}",
                extra={"example": "clawperator schema execution"},
            )
        return Answer(json_schema(options.name))
