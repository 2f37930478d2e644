"""``skills compile-artifact``: what an artifact would do, as executions. No device is touched and nothing is run."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.execute import add_history_flag, add_policy_flags
from clawperator.app.cli.commands.skills import add_registry_flag, registry
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from typing import Any

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.skills.compiled import Compiled

_EXAMPLE = "com.example.shop.search"


class CompileArtifact(Command):
    usage = "<id> --artifact <name> [--vars <json>] [--registry <file|builtin>] [options]"
    notes = (
        "The artifact is <name>.recipe.json (a payload with {{NAME}} in its texts) or <name>.recipe.md (a Markdown recipe with\n"
        "inputs); without a suffix, the first existing one. --vars is one JSON object of strings, numbers and booleans. The same\n"
        "file and variables always produce the same bytes; --vars may include COMMAND_ID and TASK_ID. Executions that the policy\n"
        "denies are refused at compile time."
    )
    examples = (
        f'{_EXAMPLE} --artifact search --vars \'{{"query":"shoes"}}\' --registry builtin',
        f"--skill-id {_EXAMPLE} --artifact search.recipe.md --output pretty",
    )

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="skill id", suggest="skills")
        parser.value("--skill-id", metavar="<id>", about="compile this skill, as an alternative to <id>")
        parser.value("--artifact", metavar="<name>", about="compile this artifact; the suffix is optional")
        parser.value("--vars", metavar="<json>", about="set variables or inputs with one JSON object [{}]")
        add_registry_flag(parser)
        add_history_flag(parser)
        add_policy_flags(parser)

    def run(self, options: Namespace) -> Answer:
        skill_id, artifact = _wanted(options)
        chosen = _settings(options)
        found = registry(options)
        from clawperator.engine.config.active_profile import load_profile
        from clawperator.engine.skills.artifact import compile_artifact

        profile = load_profile(chosen)
        try:
            compiled = compile_artifact(found, skill_id, artifact, options.vars, profile=profile)
        except EngineError as exc:
            _note(chosen, skill_id, artifact, error=exc)
            raise
        _note(chosen, skill_id, compiled.artifact, **_facts(compiled))
        return Answer(compiled.to_dict(), view="compiled_artifact")


def _wanted(options: Namespace) -> tuple[str, str]:
    """Which artifact of which skill. Raises ``USAGE``."""
    example = {"example": f"clawperator skills compile-artifact {_EXAMPLE} --artifact search"}
    if None not in (options.id, options.skill_id):
        raise EngineError(ErrorCode.USAGE, "use <id> OR --skill-id, not both", extra=example)
    skill_id = text_value("--skill-id", options.id if options.skill_id is None else options.skill_id)
    artifact = text_value("--artifact", options.artifact)
    if skill_id is None or artifact is None:
        message = "skills compile-artifact requires <id> and --artifact <name>"
        raise EngineError(ErrorCode.USAGE, message, extra=example)
    return skill_id, artifact


def _settings(options: Namespace) -> Settings:
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings

    flags = {
        "history_enabled": False if options.no_history else None,
        "policy_path": options.policy,
        "safe_logs": options.safe_logs or None,
    }
    return Settings.resolve(flags, file=settings_path())


def _facts(compiled: Compiled) -> dict[str, Any]:
    return {"execution": compiled.execution, "recipe_id": (compiled.recipe or {}).get("id", "")}


def _note(chosen: Settings, skill_id: str, artifact: str, **facts: Any) -> None:
    """The audit gets its row when the answer is out."""
    from clawperator.app.cli import deferred, diagnostics

    def note(_leaving: bool) -> None:
        from clawperator.engine.history.audit_rows import audit_compile

        for trouble in audit_compile(chosen, skill_id=skill_id, artifact=artifact, **facts):
            diagnostics.warn(trouble)

    deferred.later(note)
