"""``skills lint|ci|install-hook``: what should not stand in skills, before somebody else reads it."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.skills import add_registry_flag, registry
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.values import text_value
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.skills.lint import Finding, LintRules

_SKILL = "com.example.shop.search"


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
        f"{_SKILL} --registry builtin",
        "--all --output pretty",
        "--staged --terms-file terms.txt",
        "--history",
        "--file draft.recipe.md",
    )

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="skill id", suggest="skills")
        parser.switch("--all", about="check every skill in the registry")
        parser.switch("--staged", about="check the lines that the next git commit adds")
        parser.switch("--history", about="search all git commits and their messages for blocked terms")
        parser.value("--file", metavar="<file>", about="check one file, in a skill or elsewhere", file=True)
        add_registry_flag(parser)
        _add_rule_flags(parser)

    def run(self, options: Namespace) -> Answer:
        chosen = [options.id is not None, options.all, options.staged, options.history, options.file is not None]
        if sum(chosen) != 1:
            raise EngineError(
                ErrorCode.USAGE,
                "skills lint requires exactly one of <id>, --all, --staged, --history, --file <file>",
                extra={"example": f"clawperator skills lint {_SKILL}"},
            )
        rules = _rules(options)
        warnings = _warnings(rules) if options.staged or options.history else []
        if options.history:
            findings = _history(rules, warnings)
        else:
            findings = _staged(rules) if options.staged else _in_files(options, rules, warnings)
        counts = {name: sum(finding.severity == name for finding in findings) for name in ("error", "warning", "info")}
        document = {
            "ok": not counts["error"],
            "findings": [finding.to_dict() for finding in findings],
            "counts": counts,
            **({"warnings": warnings} if warnings else {}),
        }
        return Answer(document, view="lint", failed=bool(counts["error"]))


class Ci(Command):
    usage = "[--registry <file|builtin>] [--terms-file <file>] [--policy <file>] [options]"
    notes = (
        "Checks metadata, registry, files, indexes, recipes, templates, deterministic compilation, inputs, literals, policy and lints.\n"
        "Uses no device and writes nothing. Exits with 1 if a check fails."
    )
    examples = ("", "--registry builtin --output pretty")

    def configure(self, parser: Parser) -> None:
        add_registry_flag(parser)
        _add_rule_flags(parser)

    def run(self, options: Namespace) -> Answer:
        from clawperator.engine.skills.ci import run_ci

        opened = registry(options)
        checks = run_ci(opened, _rules(options))
        failed = [check.id for check in checks if not check.ok]
        document = {
            "ok": not failed,
            "registryPath": opened.path,
            "skills": len(opened.skills),
            "failed": failed,
            "checks": [check.to_dict() for check in checks],
        }
        return Answer(document, view="skills_ci", failed=bool(failed))


class InstallHook(Command):
    usage = "[--repo <folder>] [--terms-file <file>] [options]"
    notes = "Installs a pre-commit hook that runs `skills lint --staged`. An existing hook is not replaced."
    examples = ("", "--repo ../skills --terms-file ~/terms.txt")

    def configure(self, parser: Parser) -> None:
        parser.value("--repo", metavar="<folder>", about="use this git repository [the current one]", file=True)
        _add_terms_flag(parser)

    def run(self, options: Namespace) -> Answer:
        import asyncio
        import os

        from clawperator.app.cli.context import guard
        from clawperator.engine.skills.git_hook import install_hook

        folder = os.path.abspath(os.path.expanduser(options.repo or os.curdir))
        path, changed = asyncio.run(install_hook(os.environ, folder, options.terms_file, guard=guard(options)))
        message = "The hook was installed" if changed else "The hook is already installed"
        return Answer({"ok": True, "hookPath": path, "installed": changed, "message": message}, view="hook_installed")


def _add_rule_flags(parser: Parser) -> None:
    _add_terms_flag(parser)
    parser.value(
        "--policy",
        metavar="<file>",
        about="use this policy file instead of policy.toml in the config folder",
        file=True,
    )


def _add_terms_flag(parser: Parser) -> None:
    parser.value(
        "--terms-file",
        metavar="<file>",
        about="use this list of blocked terms instead of ~/.clawperator/blocked-terms.txt",
        file=True,
    )


def _rules(options: Namespace) -> LintRules:
    from datetime import datetime

    from clawperator.app.cli.context import settings
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.skills.blocked_terms import load_blocked
    from clawperator.engine.skills.lint import LintRules

    chosen = settings(options)
    today = datetime.now().astimezone().date()
    return LintRules(today, load_profile(chosen), load_blocked(chosen.environment, options.terms_file))


def _warnings(rules: LintRules) -> list[dict[str, str]]:
    """That there is no list of blocked terms: finding none then means nothing."""
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


def _in_files(options: Namespace, rules: LintRules, warnings: list[dict[str, str]]) -> list[Finding]:
    import os

    from clawperator.engine.skills.lint import lint_all, lint_files, skill_files

    if options.file is not None:
        return lint_files([(os.path.expanduser(options.file), options.file)], rules)
    if options.id is None:
        from clawperator.app.cli.context import guard
        from clawperator.engine.skills.scaffold import open_or_make

        opened, created = open_or_make(os.environ, text_value("--registry", options.registry), guard=guard(options))
        if created:
            message = f"Created a new registry: {opened.path}. Add a skill with `clawperator skills new`."
            warnings.append({"code": "REGISTRY_CREATED", "path": opened.path, "message": message})
        return lint_all(opened, rules)
    opened = registry(options)
    return lint_files(skill_files(opened, options.id), rules)
