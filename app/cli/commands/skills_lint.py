"""``skills lint|ci|install-hook``: what should not stand in skills, before somebody else reads it."""

from __future__ import annotations

from clawperator.app.cli.command import Command
from clawperator.app.cli.commands.skills import add_registry_flag, registry
from clawperator.app.cli.output import Answer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.arguments import Parser
    from clawperator.engine.skills.lint import Finding, Rules

_SKILL = "com.example.shop.search"


class Lint(Command):
    usage = "<id> | --all | --staged | --file <file> [--registry <file|builtin>] [--policy <file>] [options]"
    notes = (
        "Looks for literals of one person or device, terms of ~/.clawperator/blocked-terms.txt (which are never printed), and what\n"
        "recipes should not do. Exit 1 where a finding is an error. --staged looks at the lines that the next git commit of this\n"
        "folder adds."
    )
    examples = (f"{_SKILL} --registry builtin", "--all --output pretty", "--staged", "--file draft.recipe.md")

    def configure(self, parser: Parser) -> None:
        parser.word("id", about="the skill's id")
        parser.switch("--all", about="every skill of the registry")
        parser.switch("--staged", about="what the next git commit adds")
        parser.value("--file", metavar="<file>", about="one file, of a skill or not", file=True)
        add_registry_flag(parser)
        _add_policy_flag(parser)

    def run(self, options: Namespace) -> Answer:
        chosen = [options.id is not None, options.all, options.staged, options.file is not None]
        if sum(chosen) != 1:
            raise EngineError(
                ErrorCode.USAGE,
                "skills lint requires exactly one of <id>, --all, --staged, --file <file>",
                extra={"example": f"clawperator skills lint {_SKILL}"},
            )
        rules = _rules(options)
        findings = _staged(rules) if options.staged else _in_files(options, rules)
        counts = {name: sum(finding.severity == name for finding in findings) for name in ("error", "warning", "info")}
        document = {
            "ok": not counts["error"],
            "findings": [finding.to_dict() for finding in findings],
            "counts": counts,
        }
        return Answer(document, view="lint", failed=bool(counts["error"]))


class Ci(Command):
    usage = "[--registry <file|builtin>] [--policy <file>] [options]"
    notes = (
        "Metadata, registry, files, indexes, recipes, templates, deterministic compilation, inputs, literals, policy and lints.\n"
        "Touches no device and writes nothing. Exit 1 where a check fails."
    )
    examples = ("", "--registry builtin --output pretty")

    def configure(self, parser: Parser) -> None:
        add_registry_flag(parser)
        _add_policy_flag(parser)

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
    usage = "[--repo <folder>] [options]"
    notes = "Writes a pre-commit hook that runs `skills lint --staged`. A hook of somebody else stays as it is."
    examples = ("", "--repo ../skills")

    def configure(self, parser: Parser) -> None:
        parser.value("--repo", metavar="<folder>", about="the git repository (the one of this folder)", file=True)

    def run(self, options: Namespace) -> Answer:
        import asyncio
        import os

        from clawperator.engine.skills.hook import install_hook

        folder = os.path.abspath(os.path.expanduser(options.repo or os.curdir))
        path, changed = asyncio.run(install_hook(os.environ, folder))
        message = "The hook is installed" if changed else "The hook was installed already"
        return Answer({"ok": True, "hookPath": path, "installed": changed, "message": message}, view="hook_installed")


def _add_policy_flag(parser: Parser) -> None:
    parser.value(
        "--policy", metavar="<file>", about="the policy instead of policy.toml in the config folder", file=True
    )


def _rules(options: Namespace) -> Rules:
    from datetime import datetime

    from clawperator.app.cli.session import settings
    from clawperator.engine.policy import load_profile
    from clawperator.engine.skills.blocked import load_blocked
    from clawperator.engine.skills.lint import Rules

    chosen = settings(options)
    today = datetime.now().astimezone().date()
    return Rules(today, load_profile(chosen), load_blocked(chosen.environment))


def _staged(rules: Rules) -> list[Finding]:
    import asyncio
    import os

    from clawperator.engine.skills.lint import lint_staged
    from clawperator.engine.skills.staged import staged_files

    return lint_staged(asyncio.run(staged_files(os.environ)), rules)


def _in_files(options: Namespace, rules: Rules) -> list[Finding]:
    import os

    from clawperator.engine.skills.lint import lint_files, skill_files

    if options.file is not None:
        return lint_files([(os.path.expanduser(options.file), options.file)], rules)
    opened = registry(options)
    ids = [options.id] if options.id is not None else [str(entry.get("id", "")) for entry in opened.skills]
    return [finding for skill_id in ids for finding in lint_files(skill_files(opened, skill_id), rules)]
