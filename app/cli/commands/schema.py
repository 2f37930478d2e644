"""``schema``, ``config schema`` and ``policy schema``: the contracts as JSON Schema, made from the models that validate."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import Word


class Schema(Command):
    usage = "<name>"
    notes = "Names: execution, action, matcher, envelope, error, …; an unknown name lists them all."
    examples = ("execution",)
    flags = (Word("name", "contract name", suggest=("execution", "action", "matcher", "envelope", "error")),)

    def run(self, options: Options) -> Answer:
        from clawperator.engine.json_schema import SCHEMAS, json_schema

        if options.name not in SCHEMAS:
            wrong = "schema requires <name>" if options.name is None else f"Unknown schema: {options.name}"
            raise self.usage_error(f"{wrong}. Names: {', '.join(SCHEMAS)}")
        return Answer(json_schema(options.name))


class _FileSchema(Command):
    examples = ("",)
    name = ""

    def run(self, options: Options) -> Answer:  # noqa: ARG002 -- there are no options
        from clawperator.engine.json_schema import json_schema

        return Answer(json_schema(self.name))


class SettingsSchema(_FileSchema):
    notes = "The same as `clawperator schema settings`; editors that know JSON Schema can complete and check the file with it."
    name = "settings"


class PolicySchema(_FileSchema):
    notes = "The same as `clawperator schema policy`; editors that know JSON Schema can complete and check the file with it."
    name = "policy"
