"""``skills install|update|sync``: the skills repository, fetched by git and checked out at a ref."""

from __future__ import annotations

from clawperator.app.cli import progress
from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.common_flags import PROGRESS_FLAG
from clawperator.app.cli.parsing.flags import Flag
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine.skills.sync import SyncResult

_MAIN = "main"
_SAFE = (
    "If it fails, the existing skills are unchanged. Modified files of the checkout are never\n"
    "overwritten: the command then stops. CLAWPERATOR_SKILLS_REPO sets another repository."
)


class Install(Command):
    notes = f"Fetches the skills into ~/.clawperator/skills, where every command finds them.\n{_SAFE}"
    examples = ("", "--json-progress")
    flags = (PROGRESS_FLAG,)

    def run(self, options: Options) -> Answer:
        done = _sync(options, _MAIN)
        document = done.to_dict()
        document["envInstruction"] = _export_line(done.registry_path)
        return Answer(document, view="skills.synced")


class Update(Command):
    usage = "[--ref <ref>] [options]"
    notes = _SAFE
    examples = ("", "--ref v1.2.0")
    flags = (Flag("--ref", "<ref>", "check out this branch, tag or commit", default=_MAIN), PROGRESS_FLAG)

    def run(self, options: Options) -> Answer:
        return Answer(_sync(options, options.ref).to_dict(), view="skills.synced")


class Sync(Command):
    usage = "--ref <ref> [options]"
    notes = f"{_SAFE}\nA tag or commit that was fetched before needs no network."
    examples = ("--ref main", "--ref v1.2.0", "--ref 1a2b3c4d5e6f")
    flags = (Flag("--ref", "<ref>", "check out this branch, tag or commit"), PROGRESS_FLAG)

    def run(self, options: Options) -> Answer:
        if options.ref is None:
            raise self.missing("--ref <ref>")
        return Answer(_sync(options, options.ref).to_dict(), view="skills.synced")


def _sync(options: Options, ref: str) -> SyncResult:
    """Fetch and check out ``ref``, with progress on stderr."""
    import asyncio

    from clawperator.app.cli.settings import policy_guard, resolve_settings
    from clawperator.engine.skills.sync import sync

    with progress.shown(options) as on_progress:
        try:
            return asyncio.run(
                sync(resolve_settings(options), ref=ref, on_progress=on_progress, guard=policy_guard(options))
            )
        except KeyboardInterrupt as exc:
            message = "Interrupted: the skills are unchanged"
            raise EngineError(ErrorCode.INTERRUPTED, message, hint="Run the command again to fetch them.") from exc


def _export_line(path: str) -> str:
    """A line for a POSIX shell that sets the path, whatever characters it has."""
    import re

    quoted = re.sub(r'([\\$`"])', r"\\\1", path)
    return f'export CLAWPERATOR_SKILLS_REGISTRY="{quoted}"'
