"""Completions of an unfinished command line: commands, flags and values, including serials, skill ids, runs and AVDs.

The shell asks at every tab: nothing is started, waits are short, and errors produce no completions.
"""

from __future__ import annotations

import os
import re

from clawperator.app.cli.command import build_parser, global_parser, load
from clawperator.app.cli.command_table import COMMANDS, GROUPS, first_words, subcommands
from clawperator.app.cli.parsing.lookup import joined

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Callable, Iterator, Mapping, Sequence

    from clawperator.app.cli.parsing.parser import Parser

Candidate = tuple[str, str]
"""A word and its meaning, which may be empty."""
FILES: Candidate = (":files", "")
"""Stands for any file."""
_SAFE = re.compile(r"[\w.:@/+%-]+", re.ASCII)
"""A word that needs no quotes in a shell: names come from devices and files."""
_ADB_SECONDS = 0.05
_RUNS = 20


def completions(words: Sequence[str]) -> list[Candidate]:
    """Return the completions of the last of ``words``, which may be empty or partial."""
    *before, partial = words or [""]
    if "--" in before:
        return [FILES]
    command, positionals, pending = _read(before)
    if before[:2] == ["help", "errors"]:
        return [one for one in _codes({}) if one[0].startswith(partial)]
    parser = build_parser(load(command)) if command in COMMANDS else global_parser()
    name, equals, _ = partial.partition("=")
    if equals and name in parser.flags:
        found = [(f"{name}={word}", about) for word, about in _values(parser, parser.flags[name].dest)]
    elif pending:
        found = list(_values(parser, parser.flags[pending].dest)) if pending in parser.flags else []
    elif partial.startswith("-"):
        found = [(name, flag.about) for name, flag in parser.flags.items()]
    else:
        found = [*_commands(command), *_positional(parser, positionals)]
    return [one for one in found if one == FILES or one[0].startswith(partial)]


def _read(words: Sequence[str]) -> tuple[str, int, str]:
    """The command so far, its number of other words, and the flag that lacks its value."""
    command, positionals, pending = "", 0, ""
    flags = global_parser().flags
    for word in words:
        if pending:
            pending = ""
        elif word.startswith("-"):
            flag = flags.get(word)
            pending = word if flag and flag.count else ""
        elif (longer := joined(command, word)) in COMMANDS or longer in GROUPS:
            command = longer
            if command in COMMANDS:
                flags = build_parser(load(command)).flags
        else:
            positionals += 1
    return command, positionals, pending


def _commands(command: str) -> Iterator[Candidate]:
    words = first_words() if not command else subcommands(command)
    for word in words:
        whole = f"{command} {word}".strip()
        yield word, COMMANDS[whole][1] if whole in COMMANDS else GROUPS.get(word, "")


def _positional(parser: Parser, number: int) -> Iterator[Candidate]:
    if number < len(parser.words):
        yield from _values(parser, parser.words[number])
    elif parser.many:
        yield from _values(parser, parser.many)


def _values(parser: Parser, dest: str) -> Iterator[Candidate]:
    known = parser.completions.get(dest, ())
    if isinstance(known, str):
        try:
            if known not in _OBSERVING or _may_observe(os.environ):
                yield from (one for one in _SOURCES[known](os.environ) if _SAFE.fullmatch(one[0]))
        except Exception:  # noqa: BLE001, S110 -- a shell that completes has no place for an error
            pass
    else:
        yield from ((word, "") for word in known)
    if dest in parser.files:
        yield FILES


_OBSERVING = ("devices", "runs", "avds")
"""Sources that need the capability to observe, as the commands that list them."""


def _may_observe(env: Mapping[str, str]) -> bool:
    """Raises ``EngineError`` for a policy that cannot be read."""
    from clawperator.engine.config.environment import policy_applies, settings_path

    if not policy_applies():
        return True
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.config.settings import Settings

    return load_profile(Settings.resolve({}, env, file=settings_path())).allows_capability("observe")


def _devices(env: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.engine.adb import blocking

    for entry in blocking.devices(env, timeout=_ADB_SECONDS, start=False):
        yield entry.serial, entry.model or entry.state


def _skills(env: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.engine.skills.registry import open_registry

    for skill in open_registry(env, fallback=True).skills:
        yield skill["id"], str(skill.get("summary", ""))


def _runs(env: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.engine.config.environment import settings_path
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.filters.grammar import Filter
    from clawperator.engine.history.store import History

    with History.open(Settings.resolve({}, env, file=settings_path()).history_path, create=False) as history:
        for run in history.runs(Filter(), limit=_RUNS):
            yield str(run.number), f"{run.status} {run.command_id}"


def _avds(env: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.engine.emulators.avds import avd_home

    for name in sorted(os.listdir(avd_home(env))):
        if name.endswith(".ini"):
            yield name.removesuffix(".ini"), ""


def _topics(_: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.app.cli.help import TOPICS

    yield from ((topic, "") for topic in TOPICS)
    yield from _commands("")


def _codes(_: Mapping[str, str]) -> Iterator[Candidate]:
    from clawperator.engine.errors import ErrorCode

    yield from ((code.value, code.meaning) for code in ErrorCode)


_SOURCES: Mapping[str, Callable[[Mapping[str, str]], Iterator[Candidate]]] = {
    "devices": _devices,
    "skills": _skills,
    "runs": _runs,
    "avds": _avds,
    "help": _topics,
    "errors": _codes,
}
