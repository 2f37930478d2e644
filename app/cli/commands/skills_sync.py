"""``skills install|update|sync``: the skills repository, fetched by git and brought to a ref."""

from __future__ import annotations

from clawperator.app.cli import progress
from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.skills.sync import SyncResult

_MAIN = "main"
_SAFE = (
    "If it fails, the existing skills are unchanged. Modified files of the checkout are never\n"
    "overwritten: the command then stops. CLAWPERATOR_SKILLS_REPO sets another repository."
)


class Install(Command):
    usage = "[options]"
    notes = f"Fetches the skills into ~/.clawperator/skills, where every command finds them.\n{_SAFE}"
    examples = ("", "--json-progress")

    def configure(self, parser: Parser) -> None:
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        done = _sync(options, _MAIN)
        document = done.to_dict()
        document["envInstruction"] = _export(done.registry_path)
        return Answer(document, view="synced")


class Update(Command):
    usage = "[--ref <ref>] [options]"
    notes = _SAFE
    examples = ("", "--ref v1.2.0")

    def configure(self, parser: Parser) -> None:
        parser.value("--ref", metavar="<ref>", about="check out this branch, tag or commit [main]")
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        return Answer(_sync(options, options.ref or _MAIN).to_dict(), view="synced")


class Sync(Command):
    usage = "--ref <ref> [options]"
    notes = f"{_SAFE}\nA tag or commit that was fetched before needs no network."
    examples = ("--ref main", "--ref v1.2.0", "--ref 1a2b3c4d5e6f")

    def configure(self, parser: Parser) -> None:
        parser.value("--ref", metavar="<ref>", about="check out this branch, tag or commit")
        progress.configure(parser)

    def run(self, options: Namespace) -> Answer:
        if options.ref is None:
            message = "skills sync requires --ref <ref>"
            raise EngineError(ErrorCode.USAGE, message, extra={"example": "clawperator skills sync --ref main"})
        return Answer(_sync(options, options.ref).to_dict(), view="synced")


def _sync(options: Namespace, ref: str) -> SyncResult:
    """Do it, telling its stages on stderr. No engine is needed, and none is started."""
    import asyncio

    from clawperator.app.cli.context import guard, settings
    from clawperator.engine.skills.sync import sync

    with progress.shown(options) as tell:
        try:
            return asyncio.run(sync(settings(options), ref=ref, tell=tell, guard=guard(options)))
        except KeyboardInterrupt as exc:
            message = "Interrupted: the skills are unchanged"
            raise EngineError(ErrorCode.INTERRUPTED, message, hint="Run the command again to fetch them.") from exc


def _export(path: str) -> str:
    """A line for a POSIX shell that holds whatever the path holds."""
    import re

    quoted = re.sub(r'([\\$`"])', r"\\\1", path)
    return f'export CLAWPERATOR_SKILLS_REGISTRY="{quoted}"'
