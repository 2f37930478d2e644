"""``skills lint|ci``: personal literals, blocked terms and bad practice in skills."""

from __future__ import annotations

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import POLICY_FLAG, REGISTRY_FLAG
from clawperator.app.cli.parsing.flags import Flag, Word, switch
from clawperator.app.cli.parsing.values import text_value
from clawperator.app.cli.skills_registry import EXAMPLE, registry

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.skills.lint import Finding, LintRules

_TERMS_FLAG = Flag(
    "--terms-file", "<file>", "use this list of blocked terms [~/.clawperator/blocked-terms.txt]", file=True
)


class Lint(Command):
    usage = (
        "<id> | --all | --staged | --history | --file <file> [--registry <file|builtin>] [--terms-file <file>] [--policy <file>]\n"
        "[options]"
    )
    notes = (
        "Finds literals specific to a person or device, blocked terms (one per line in ~/.clawperator/blocked-terms.txt, or in\n"
        "--terms-file), and bad practice in recipes. Exits with 1 if a finding is an error. --staged checks the lines that the\n"
        "next git commit in this folder adds; --history searches all its commits for blocked terms."
    )
    examples = (
        f"{EXAMPLE} --registry builtin",
        "--all --output pretty",
        "--staged --terms-file terms.txt",
        "--history",
        "--file draft.recipe.md",
    )
    flags = (
        Word("id", "skill id", suggest="skills"),
        switch("--all", "check every skill in the registry"),
        switch("--staged", "check the lines that the next git commit adds"),
        switch("--history", "search all git commits and their messages for blocked terms"),
        Flag("--file", "<file>", "check one file, in a skill or elsewhere", file=True),
        REGISTRY_FLAG,
        _TERMS_FLAG,
        POLICY_FLAG,
    )

    def run(self, options: Options) -> Answer:
        chosen = [options.id is not None, options.all, options.staged, options.history, options.file is not None]
        if sum(chosen) != 1:
            raise self.missing("exactly one of <id>, --all, --staged, --history, --file <file>", example=EXAMPLE)
        rules = _rules(options)
        warnings = _warnings(rules) if options.staged or options.history else []
        if options.history:
            findings = _history(rules, warnings)
        else:
            findings = _staged(rules) if options.staged else _in_files(options, rules, warnings)
        counts = {name: sum(finding.severity == name for finding in findings) for name in ("error", "warning", "info")}
        document = {
            "ok": not counts["error"],
            "findings": [finding._asdict() for finding in findings],
            "counts": counts,
            **({"warnings": warnings} if warnings else {}),
        }
        return Answer(document, view="skills.lint", failed=bool(counts["error"]))


class Ci(Command):
    usage = "[--registry <file|builtin>] [--terms-file <file>] [--policy <file>] [options]"
    notes = (
        "Runs `skills validate --all --dry-run`, `skills index --check` and `skills lint --all`. Uses no device and writes nothing.\n"
        "Exits with 1 if a check fails."
    )
    examples = ("", "--registry builtin --output pretty")
    flags = (REGISTRY_FLAG, _TERMS_FLAG, POLICY_FLAG)

    def run(self, options: Options) -> Answer:
        from clawperator.engine.skills.ci import run_ci

        opened = registry(options)
        checks = run_ci(opened, _rules(options))
        failed = [check["id"] for check in checks if not check["ok"]]
        document = {
            "ok": not failed,
            "registryPath": opened.path,
            "skills": len(opened.skills),
            "failed": failed,
            "checks": checks,
        }
        return Answer(document, view="skills.skills_ci", failed=bool(failed))


def _rules(options: Options) -> LintRules:
    from clawperator.app.cli.settings import resolve_settings
    from clawperator.engine.skills.lint import LintRules

    return LintRules.of(resolve_settings(options), options.terms_file)


def _warnings(rules: LintRules) -> list[dict[str, str]]:
    """The warning that no list of blocked terms is configured, so that none can be found."""
    if rules.blocked.terms:
        return []
    import os

    from clawperator.engine.skills.blocked_terms import blocked_path

    message = (
        "No blocked terms are configured. Write one per line to "
        f"{blocked_path(os.environ)}, or pass a file with --terms-file."
    )
    return [{"code": "BLOCKED_TERMS_MISSING", "path": "", "message": message}]


def _history(rules: LintRules, warnings: list[dict[str, str]]) -> list[Finding]:
    import asyncio
    import os

    from clawperator.engine.skills.lint import lint_history
    from clawperator.engine.skills.staged import committed_lines

    lines, cut = asyncio.run(committed_lines(os.environ))
    if cut:
        message = "The git history exceeds the read limit: the oldest commits were not checked."
        warnings.append({"code": "HISTORY_CUT", "path": "", "message": message})
    return lint_history(lines, rules.blocked)


def _staged(rules: LintRules) -> list[Finding]:
    import asyncio
    import os

    from clawperator.engine.skills.lint import lint_staged
    from clawperator.engine.skills.staged import staged_files

    return lint_staged(asyncio.run(staged_files(os.environ)), rules)


def _in_files(options: Options, rules: LintRules, warnings: list[dict[str, str]]) -> list[Finding]:
    import os

    from clawperator.engine.skills.lint import lint_all, lint_files, skill_files

    if options.file is not None:
        return lint_files([(os.path.expanduser(options.file), options.file)], rules)
    if options.id is None:
        from clawperator.app.cli.settings import policy_guard
        from clawperator.engine.skills.scaffold import open_or_make

        opened, created = open_or_make(
            os.environ, text_value("--registry", options.registry), guard=policy_guard(options)
        )
        if created:
            message = f"Created a new registry: {opened.path}. Add a skill with `clawperator skills new`."
            warnings.append({"code": "REGISTRY_CREATED", "path": opened.path, "message": message})
        return lint_all(opened, rules)
    opened = registry(options)
    return lint_files(skill_files(opened, options.id), rules)
