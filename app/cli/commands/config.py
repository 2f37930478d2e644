"""``config``: the settings, their sources, their paths, and the errors of the settings file."""

from __future__ import annotations

import os

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.parsing.flags import Word
from clawperator.engine.config.environment import settings_path
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator

    from clawperator.engine.config.toml_lines import Problem


class ConfigPath(Command):
    notes = "Reads only the settings file, which can set the history path, and creates nothing."
    examples = ("", "--output pretty")

    def run(self, options: Options) -> Answer:  # noqa: ARG002 -- the same for every device
        places = [{"what": what, "path": path, "exists": os.path.lexists(path)} for what, path in _paths()]
        return Answer({"places": places}, view="settings.paths")


class ConfigShow(Command):
    notes = "Precedence: flags, environment variables, the settings file, defaults."
    examples = ("", "--output pretty", "--device-id emulator-5554")

    def run(self, options: Options) -> Answer:
        from clawperator.engine.config.effective import effective

        path = settings_path()
        flags = {"device_id": options.device_id, "receiver_package": options.receiver_package}
        rows = list(effective(path, flags, os.environ))
        return Answer({"path": path, "exists": os.path.lexists(path), "settings": rows}, view="settings.settings")


class ConfigCheck(Command):
    usage = "[<file>] [options]"
    notes = "Exits with 1 if the file has errors. A missing file counts as empty unless it is named explicitly."
    examples = ("", "./settings.toml", "--output pretty")
    flags = (Word("file", "file to check instead of the active one", file=True),)

    def run(self, options: Options) -> Answer:
        from clawperator.engine.config.settings_file import read

        path = options.file or settings_path()
        text = read(path)
        if text is None and options.file is not None:
            raise EngineError(ErrorCode.FILE_NOT_READABLE, f"{path} does not exist", details={"file": path})
        found = [problem._asdict() for problem in _problems(text or "")]
        report = {"ok": not found, "path": path, "exists": text is not None, "problems": found}
        return Answer(report, view="settings.checked", failed=bool(found))


def _paths() -> Iterator[tuple[str, str]]:
    """Every kind of file and its path; a settings file that cannot be read changes none."""
    from clawperator.engine.config import environment, settings

    path = settings_path()
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
    """Every error of a settings file, including the user's key bindings."""
    from clawperator.engine.config.settings_file import examine

    values, problems = examine(text)
    if values is None or not values.keymap:
        return problems
    from clawperator.app.console.keymap import problems as key_problems

    return key_problems(values.keymap, text)
