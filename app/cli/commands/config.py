"""``config``: where the settings are, what they come to and who chose it, and what is wrong with the file."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Command
from clawperator.app.cli.output import Answer

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Iterator

    from clawperator.app.cli.parsing.arguments import Parser
    from clawperator.engine.config.settings_file import Problem


class ConfigPath(Command):
    notes = "Reads only the settings file, which can set the history path, and creates nothing."
    examples = ("", "--output pretty")

    def run(self, options: Namespace) -> Answer:  # noqa: ARG002 -- the same for every device
        places = [{"what": what, "path": path, "exists": os.path.lexists(path)} for what, path in _places()]
        return Answer({"places": places}, view="places")


class ConfigShow(Command):
    notes = "Precedence: flags, environment variables, the settings file, defaults."
    examples = ("", "--output pretty", "--device-id emulator-5554")

    def run(self, options: Namespace) -> Answer:
        from clawperator.engine.config.effective import effective
        from clawperator.engine.config.environment import settings_path

        path = settings_path()
        flags = {"device_id": options.device_id, "receiver_package": options.receiver_package}
        rows = list(effective(path, flags, os.environ))
        return Answer({"path": path, "exists": os.path.lexists(path), "settings": rows}, view="settings")


class ConfigCheck(Command):
    usage = "[<file>] [options]"
    notes = "Exits with 1 if the file has errors. A missing file counts as empty unless it is named explicitly."
    examples = ("", "./settings.toml", "--output pretty")

    def configure(self, parser: Parser) -> None:
        parser.word("file", about="file to check instead of the active one")
        parser.files.add("file")

    def run(self, options: Namespace) -> Answer:
        from clawperator.engine.config.environment import settings_path
        from clawperator.engine.config.settings_file import read
        from clawperator.engine.errors import EngineError, ErrorCode

        path = options.file or settings_path()
        text = read(path)
        if text is None and options.file is not None:
            raise EngineError(ErrorCode.FILE_NOT_READABLE, f"{path} does not exist", details={"file": path})
        found = [problem._asdict() for problem in _problems(text or "")]
        report = {"ok": not found, "path": path, "exists": text is not None, "problems": found}
        return Answer(report, view="checked", failed=bool(found))


class ConfigSchema(Command):
    notes = "The same as `clawperator schema settings`; editors that know JSON Schema can complete and check the file with it."
    examples = ("",)

    def run(self, options: Namespace) -> Answer:  # noqa: ARG002 -- there is nothing to choose
        from clawperator.engine.json_schema import json_schema

        return Answer(json_schema("settings"))


def _places() -> Iterator[tuple[str, str]]:
    """What is kept where; a settings file that cannot be read moves nothing."""
    from clawperator.engine import EngineError
    from clawperator.engine.config import environment, settings

    path = environment.settings_path()
    try:
        chosen = settings.Settings.resolve(file=path)
    except EngineError:
        chosen = settings.Settings.resolve()
    yield "settings", path
    yield "policy", chosen.policy_path or environment.policy_path()
    yield "themes", settings.themes_folder()
    yield "log", chosen.log_dir
    yield "history", chosen.history_path
    yield "drafts", settings.console_folder(os.environ)
    yield "crash", settings.crash_path(os.environ)
    yield "locks", chosen.lock_dir


def _problems(text: str) -> list[Problem]:
    """Everything that is wrong with a settings file, the user's own keys included."""
    from clawperator.engine.config.settings_file import examine

    values, problems = examine(text)
    if values is None or not values.keymap:
        return problems
    from clawperator.app.console.keymap import problems as key_problems

    return key_problems(values.keymap, text)
