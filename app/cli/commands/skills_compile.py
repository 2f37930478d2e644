"""``skills compile-artifact``: the executions of an artifact. Uses no device."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS, REGISTRY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.app.cli.parsing.values import text_value
from clawperator.app.cli.skills_registry import EXAMPLE, registry
from clawperator.engine.errors import EngineError

TYPE_CHECKING = False
if TYPE_CHECKING:
    from typing import Any

    from clawperator.engine.config.settings import Settings


class CompileArtifact(Command):
    usage = "<id> --artifact <name> [--vars <json>] [--registry <file|builtin>] [options]"
    notes = (
        "The artifact is <name>.recipe.json (a payload with {{NAME}} in its texts) or <name>.recipe.md (a Markdown recipe with\n"
        "inputs); without a suffix, the first existing one. --vars is one JSON object of strings, numbers and booleans. The same\n"
        "file and variables always produce the same bytes; --vars may include COMMAND_ID and TASK_ID. Executions that the policy\n"
        "denies are refused at compile time."
    )
    examples = (
        f'{EXAMPLE} --artifact search --vars \'{{"query":"shoes"}}\' --registry builtin',
        f"--skill-id {EXAMPLE} --artifact search.recipe.md --output pretty",
    )
    flags = (
        Word("id", "skill id", suggest="skills"),
        Flag("--skill-id", "<id>", "compile this skill, as an alternative to <id>"),
        Flag("--artifact", "<name>", "compile this artifact; the suffix is optional"),
        Flag("--vars", "<json>", "set variables or inputs with one JSON object [{}]"),
        REGISTRY_FLAG,
        HISTORY_FLAG,
        *POLICY_FLAGS,
    )

    def run(self, options: Options) -> Answer:
        if None not in (options.id, options.skill_id):
            raise self.usage_error("use <id> OR --skill-id, not both", example=f"{EXAMPLE} --artifact search")
        skill_id = text_value("--skill-id", options.id if options.skill_id is None else options.skill_id)
        artifact = text_value("--artifact", options.artifact)
        if skill_id is None or artifact is None:
            raise self.missing("<id> and --artifact <name>", example=f"{EXAMPLE} --artifact search")
        chosen = _settings(options)
        found = registry(options)
        from clawperator.engine.config.active_profile import load_profile
        from clawperator.engine.skills.artifact import compile_artifact

        profile = load_profile(chosen)
        try:
            compiled = compile_artifact(found, skill_id, artifact, options.vars, profile=profile)
        except EngineError as exc:
            _schedule_audit(chosen, skill_id=skill_id, artifact=artifact, error=exc)
            raise
        recipe_id = (compiled.recipe or {}).get("id", "")
        facts = {"artifact": compiled.artifact, "execution": compiled.execution, "recipe_id": recipe_id}
        _schedule_audit(chosen, skill_id=skill_id, **facts)
        return Answer(compiled.to_dict(), view="compiled_artifact")


def _settings(options: Options) -> Settings:
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings

    flags = {
        "history_enabled": False if options.no_history else None,
        "policy_path": options.policy,
        "safe_logs": options.safe_logs or None,
    }
    return Settings.resolve(flags, file=settings_path())


def _schedule_audit(chosen: Settings, **facts: Any) -> None:
    """Write the entry of the audit after the answer."""
    from clawperator.app.cli import after_output, diagnostics

    def write(_leaving: bool) -> None:
        from clawperator.engine.history.audit_rows import audit_compile

        for trouble in audit_compile(chosen, **facts):
            diagnostics.warn(trouble)

    after_output.schedule(write)
