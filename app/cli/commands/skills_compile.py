"""``skills compile-artifact``: the executions of an artifact. Uses no device."""

from __future__ import annotations

from functools import partial

from clawperator.app.cli import after_output, diagnostics
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import HISTORY_FLAG, POLICY_FLAGS, REGISTRY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word
from clawperator.app.cli.parsing.values import text_value
from clawperator.app.cli.settings import policy_guard
from clawperator.app.cli.skills_registry import EXAMPLE, registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.history.records import AuditRecord


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
        guard = policy_guard(options)
        guard.record = partial(_write_later, guard.settings)
        found = registry(options)
        from clawperator.engine.skills.artifact import compile_for

        compiled = compile_for(guard, found, skill_id, artifact, options.vars)
        return Answer(compiled.to_dict(), view="skill_runs.compiled_artifact")


def _write_later(chosen: Settings, row: AuditRecord) -> None:
    """Write the entry of the audit after the answer."""

    def write(_leaving: bool) -> None:
        from clawperator.engine.history.audit_rows import write_audit

        for trouble in write_audit(chosen, row):
            diagnostics.warn(trouble)

    after_output.schedule(write)
