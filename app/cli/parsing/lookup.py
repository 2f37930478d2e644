"""Which command a command line names."""

from __future__ import annotations

from collections import deque

from clawperator.app.cli.command_table import COMMANDS, GROUPS, subcommands
from clawperator.app.cli.parsing.flags import global_flags
from clawperator.app.cli.parsing.parser import HELP, HelpWantedError, looks_like_flag, take, unrecognised
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.verbs.catalogue import VERBS

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

_GLOBAL = {name: flag for flag in global_flags() for name in flag.names}
_SPELLINGS = {
    "emulators": "emulator",
    "recording": "record",
    "skill": "skills",
    **{name: verb.command for verb in VERBS.values() for name in verb.also},
}
"""Other first words for the same commands."""
_CANONICAL = {"setup": "operator setup", "install": "operator setup"}
"""First words that are no commands → the command (cli.md#commands)."""

_PLAIN_GROUPS = ("observe", "inspect")
"""Groups whose USAGE is their form alone (cli.md#commands)."""


def find_command(arguments: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Split a command line into the command's words, its other arguments, and those after a lone ``--``.

    Only global flags may stand before or between the words of a command. The words are '' when there are none; a
    group without its second word is returned as that group's word.

    Raises ``HelpWantedError``, and ``EngineError`` (UNKNOWN_COMMAND, USAGE) when a word or an early flag is unknown.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    line, after_dashes = arguments[:end], list(arguments[end + 1 :])
    help_wanted = not set(HELP).isdisjoint(line)
    words, rest, searching = "", list[str](), True
    pending = deque(line)
    while pending:
        argument = pending.popleft()
        if looks_like_flag(argument):
            name, equals, _ = argument.partition("=")
            flag = _GLOBAL.get(name)
            rest += [argument, *take(pending, flag.count if flag and not equals else 0)]
            if flag is None:
                if not (words or help_wanted):
                    raise unrecognised(name, _GLOBAL)
                searching = False
        elif searching and ((found := joined(words, argument)) in COMMANDS or found in GROUPS):
            words = found
        elif words in COMMANDS:
            rest.append(argument)
            searching = False
        elif (help_wanted and not searching) or (words and argument == "help"):
            raise HelpWantedError(words)
        else:
            raise _unknown_word(words, argument)
    if help_wanted and words not in COMMANDS:
        raise HelpWantedError(words)
    return words, rest, after_dashes


def joined(words: str, word: str) -> str:
    """Return the words so far with one more, in the table's spelling."""
    return f"{words} {word}" if words else spelled(word)


def spelled(words: str) -> str:
    """Return command words as the table spells them: some first words have aliases."""
    first, space, rest = words.partition(" ")
    return f"{_SPELLINGS.get(first, first)}{space}{rest}"


def _unknown_word(group: str, word: str) -> EngineError:
    from clawperator.app.cli.parsing.suggest import meant_command

    if not group and word in _CANONICAL:
        canonical = f"clawperator {_CANONICAL[word]}"
        hint = f"Run `{canonical}`. `clawperator app install` installs other apps."
        return EngineError(ErrorCode.USAGE, f"Use {canonical}", hint=hint, extra={"canonical": canonical})
    nearest, hint = meant_command(group, word)
    extra = {"suggestion": nearest} if nearest else {}
    if not group:
        meant = f" Did you mean '{nearest}'?" if nearest else ""
        return EngineError(ErrorCode.UNKNOWN_COMMAND, f"Unknown command: {word}.{meant}", hint=hint, extra=extra)
    plain = group in _PLAIN_GROUPS
    message = GROUPS[group] if plain else f"Unknown {group} subcommand '{word}'. Valid: {GROUPS[group]}"
    example = {"example": f"clawperator {group} {next(subcommands(group))}"}
    asked = f"Did you mean `clawperator {nearest}`? " if nearest else ""
    return EngineError(
        ErrorCode.USAGE, message, hint=f"{asked}Run `clawperator help {group}`.", extra={**extra, **example}
    )
