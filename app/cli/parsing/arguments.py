"""From words to options. A command line is either understood completely or refused: nothing doubtful is dispatched.

argparse declares, describes and completes. Assigning is done by a scan of our own, because argparse guesses where a caller
must not be guessed at: values that look like flags, flags given twice, ``--`` as a value, words without a meaning.
"""

from __future__ import annotations

from argparse import ArgumentParser, Namespace, RawDescriptionHelpFormatter
from collections import deque

from clawperator.app.cli.parsing.values import integer, timeout_ms
from clawperator.app.cli.table import COMMANDS, GROUPS, first_words, subcommands
from clawperator.engine.contracts.limits import MAX_WAIT_MS
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterable, Sequence
    from typing import NoReturn

    from clawperator.app.cli.command import Command

_HELP = ("--help", "-h")
_GLOBAL_VALUES = (
    "--device-id",
    "--device",
    "--receiver-package",
    "--operator-package",
    "--output",
    "--format",
    "--timeout-ms",
    "--timeout",
    "--wait",
    "--log-level",
)
LOG_LEVELS = ("debug", "info", "warn", "error")
_GLOBAL_SWITCHES = ("--json", "--verbose", "--version", "--no-daemon", *_HELP)
FORMATS = ("json", "pretty")
OPTIONS_HELP = "Options of every command: clawperator help options"
_FLAT_SPELLINGS = ("--device", "--operator-package")
"""Who spells a global flag so gets the flat names for package and codes in the answer."""
_SPELLINGS = {
    "emulators": "emulator",
    "recording": "record",
    "tap": "click",
    "fill": "type",
    "open-uri": "open",
    "open-url": "open",
    "read-kv": "read-value",
    "wait-for-navigation": "wait-for-nav",
    "press-key": "press",
    "close-app": "close",
}
"""Other first words for the same commands."""
_CANONICAL = {"setup": "operator setup", "install": "operator setup"}
"""First words that are no commands, and what is meant (cli.md#commands)."""


class HelpWantedError(Exception):
    """``--help`` stood where a flag may stand; ``topic`` is the command or group it is about, or ''."""

    def __init__(self, topic: str = "") -> None:
        super().__init__(topic)
        self.topic = topic


class Flag:
    """One option as the scan knows it: how many values it takes, and which of them are allowed (empty: any)."""

    __slots__ = ("choices", "code", "count", "dest")

    def __init__(self, dest: str, count: int, choices: Sequence[str], code: ErrorCode) -> None:
        self.dest = dest
        self.count = count
        self.choices = choices
        self.code = code


class Parser(ArgumentParser):
    """An argparse parser that also remembers its flags for ``read``, and never exits or prints by itself."""

    def __init__(self, prog: str, *, usage: str = "", description: str = "", epilog: str = "") -> None:
        super().__init__(
            prog=prog,
            usage=f"{prog} {usage}".replace("%", "%%") if usage else None,
            description=description,
            epilog=epilog,
            add_help=False,
            allow_abbrev=False,
            exit_on_error=False,
            formatter_class=RawDescriptionHelpFormatter,
        )
        self.flags: dict[str, Flag] = {}
        self.words: list[str] = []
        self.many = ""
        self.rest = ""
        self.completions: dict[str, Sequence[str] | str] = {}
        self.files: set[str] = set()
        self._own = self.add_argument_group("options")
        self._global = self.add_argument_group("global options, allowed anywhere")

    def value(
        self,
        *names: str,
        metavar: str | tuple[str, ...],
        about: str,
        choices: Sequence[str] = (),
        suggest: Sequence[str] | str = (),
        file: bool = False,
        code: ErrorCode = ErrorCode.USAGE,
        everywhere: bool = False,
    ) -> None:
        """A flag with a value (or with two: ``metavar`` is a pair then).

        Values outside ``choices`` are refused. ``suggest`` and ``file`` feed shell completion only; a text names a source of
        ``candidates``. ``code`` is the error's when the value is missing or the flag is given twice.
        """
        count = 1 if isinstance(metavar, str) else len(metavar)
        group = self._global if everywhere else self._own
        action = group.add_argument(*names, metavar=metavar, help=about, nargs=None if count == 1 else count)
        self._remember(names, Flag(action.dest, count, choices, code))
        self.completions[action.dest] = choices or suggest
        if file:
            self.files.add(action.dest)

    def switch(self, *names: str, about: str, everywhere: bool = False) -> None:
        """A flag without a value."""
        group = self._global if everywhere else self._own
        action = group.add_argument(*names, action="store_true", help=about)
        self._remember(names, Flag(action.dest, 0, (), ErrorCode.USAGE))

    def word(self, name: str, *, about: str, suggest: Sequence[str] | str = (), many: bool = False) -> None:
        """A positional argument; whether it may be absent is the command's business."""
        self.add_argument(name, nargs="*" if many else "?", metavar=f"<{name}>", help=about)
        self.completions[name] = suggest
        if many:
            self.many = name
        else:
            self.words.append(name)

    def after_dashes(self, name: str, *, about: str) -> None:
        """Everything behind a lone ``--``, untouched, for somebody else."""
        self.rest = name
        self._own.add_argument(f"-- <{name}>", dest=name, action="store_const", const=[], default=[], help=about)

    def error(self, message: str) -> NoReturn:
        """A second net for complaints of argparse: the scan leaves it none."""
        raise EngineError(ErrorCode.USAGE, message)

    def own_help(self) -> str:
        """The help without the global options, which have a topic of their own."""
        self._action_groups.remove(self._global)
        try:
            return self.format_help()
        finally:
            self._action_groups.append(self._global)

    def about(self, flag: str) -> str:
        """What the help says of a flag."""
        return str(self._option_string_actions[flag].help)

    def _remember(self, names: Iterable[str], flag: Flag) -> None:
        for name in names:
            self.flags[name] = flag


def find_command(arguments: Sequence[str]) -> tuple[str, list[str], list[str]]:
    """Split a command line into the command's words, its other arguments, and those after a lone ``--``.

    Only global flags may stand before or between the words of a command. The words are '' when there are none; a
    group without its second word is returned as that group's word.

    Raises ``HelpWantedError``, and ``EngineError`` (UNKNOWN_COMMAND, USAGE) when a word or an early flag is unknown.
    """
    end = arguments.index("--") if "--" in arguments else len(arguments)
    line, after_dashes = arguments[:end], list(arguments[end + 1 :])
    help_wanted = not set(_HELP).isdisjoint(line)
    words, rest, searching = "", list[str](), True
    pending = deque(line)
    while pending:
        argument = pending.popleft()
        if _looks_like_flag(argument):
            name, equals, _ = argument.partition("=")
            rest += [argument, *_take(pending, 1 if name in _GLOBAL_VALUES and not equals else 0)]
            if name not in _GLOBAL_VALUES + _GLOBAL_SWITCHES:
                if not (words or help_wanted):
                    raise unrecognised(name, _GLOBAL_VALUES + _GLOBAL_SWITCHES)
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
    """The words so far with one more, in the table's spelling."""
    return f"{words} {word}" if words else spelled(word)


def spelled(words: str) -> str:
    """Command words as the table spells them: some first words have other names."""
    first, space, rest = words.partition(" ")
    return f"{_SPELLINGS.get(first, first)}{space}{rest}"


def _unknown_word(group: str, word: str) -> EngineError:
    from clawperator.app.cli.parsing.suggest import closest_command

    if not group and word in _CANONICAL:
        canonical = f"clawperator {_CANONICAL[word]}"
        return EngineError(ErrorCode.USAGE, f"Use {canonical}", extra={"canonical": canonical})
    nearest = closest_command(word, subcommands(group) if group else first_words())
    extra = {"suggestion": f"{group} {nearest}".strip()} if nearest else {}
    meant = f" Did you mean '{nearest}'?" if nearest else ""
    if not group:
        return EngineError(ErrorCode.UNKNOWN_COMMAND, f"Unknown command: {word}.{meant}", extra=extra)
    message = f"Unknown action subcommand '{word}'. Valid: {GROUPS[group]}" if group == "action" else GROUPS[group]
    example = {"example": f"clawperator {group} {next(subcommands(group))}"}
    return EngineError(ErrorCode.USAGE, message, hint=f"Run `clawperator help {group}`.", extra={**extra, **example})


def unrecognised(flag: str, known: Iterable[str]) -> EngineError:
    """The refusal of a flag that does not exist, with the one that was probably meant."""
    from clawperator.app.cli.parsing.suggest import closest_flag

    nearest = closest_flag(flag, known)
    meant = f". Did you mean '{nearest}'?" if nearest else ""
    return EngineError(
        ErrorCode.USAGE, f"unrecognized flag '{flag}'{meant}", extra={"suggestion": nearest} if nearest else None
    )


def build_parser(command: Command) -> Parser:
    """The parser of one command, global options included."""
    examples = "\n".join(f"  clawperator {command.words} {example}".rstrip() for example in command.examples)
    parser = Parser(
        f"clawperator {command.words}",
        usage=command.usage,
        description="\n\n".join(filter(None, (f"{COMMANDS[command.words][1]}.", command.notes))),
        epilog="\n\n".join((*([f"examples:\n{examples}"] if examples else ()), OPTIONS_HELP)),
    )
    command.configure(parser)
    add_globals(parser, command.formats)
    return parser


def add_globals(parser: Parser, formats: Sequence[str] = FORMATS) -> None:
    """The options that every command takes (the ones that ``find_command`` steps over)."""
    parser.value(
        "--device-id", "--device", metavar="<serial>", about="use this device", suggest="devices", everywhere=True
    )
    parser.value(
        "--receiver-package",
        "--operator-package",
        metavar="<package>",
        about="use this Operator app package",
        everywhere=True,
    )
    parser.value(
        "--output",
        "--format",
        metavar=f"<{'|'.join(formats)}>",
        choices=formats,
        about="print JSON or human-readable output [json]",
        everywhere=True,
    )
    parser.switch("--json", about="print JSON (same as --output json)", everywhere=True)
    parser.value(
        "--timeout-ms",
        "--timeout",
        metavar="<ms>",
        about="limit the whole execution to this time, 1000 to 120000",
        everywhere=True,
    )
    parser.value(
        "--wait",
        metavar="<ms>",
        about="wait up to this long for a device that is in use [0]",
        everywhere=True,
    )
    parser.value(
        "--log-level",
        metavar="<level>",
        choices=LOG_LEVELS,
        about="set the log file's level: debug, info, warn, error [info]",
        everywhere=True,
    )
    parser.switch("--verbose", about="log progress to stderr", everywhere=True)
    parser.switch("--help", "-h", about="show this help", everywhere=True)
    parser.switch("--version", about="print the version", everywhere=True)
    parser.switch("--no-daemon", about="ignored; accepted for compatibility with existing skills", everywhere=True)


def read(parser: Parser, words: str, arguments: Sequence[str], after_dashes: Sequence[str] = ()) -> Namespace:
    """The options of a command line from which ``find_command`` took the words.

    Raises ``HelpWantedError``; ``EngineError`` (mostly USAGE) for everything that is not exactly a known flag with its value.
    """
    options = parser.parse_args([])
    for name, value in _scan(parser, words, arguments).items():
        setattr(options, name, value)
    if parser.rest:
        setattr(options, parser.rest, list(after_dashes))
    elif after_dashes:
        raise EngineError(ErrorCode.USAGE, f"clawperator {words} takes no arguments after '--'")
    if options.json and options.output == "pretty":
        raise EngineError(ErrorCode.USAGE, "--json and --output pretty cannot be combined")
    for flag, text in (("--device-id", options.device_id), ("--receiver-package", options.receiver_package)):
        if text is not None and not text.strip():
            raise EngineError(ErrorCode.USAGE, f"{flag} value must not be blank")
    options.timeout_ms = timeout_ms(options.timeout_ms)
    options.wait = integer("--wait", options.wait, 0, MAX_WAIT_MS)
    options.speaks_flat = any(argument.partition("=")[0] in _FLAT_SPELLINGS for argument in arguments)
    return options


def _scan(parser: Parser, words: str, arguments: Sequence[str]) -> dict[str, object]:
    """What the command line gives to which option, or a refusal."""
    pending = deque(arguments)
    given: dict[str, object] = {}
    positionals: list[str] = []
    while pending:
        argument = pending.popleft()
        if argument in _HELP:
            raise HelpWantedError(words)
        if not _looks_like_flag(argument):
            positionals.append(argument)
            continue
        name, equals, inline = argument.partition("=")
        flag = parser.flags.get(name)
        if flag is None:
            raise unrecognised(name, parser.flags)
        if flag.count and flag.dest in given:
            raise EngineError(flag.code, f"{name} must not appear more than once")
        given[flag.dest] = _value(name, flag, [inline] if equals else _take(pending, flag.count))
    return given | _positionals(parser, positionals)


def _positionals(parser: Parser, values: list[str]) -> dict[str, object]:
    if len(values) > len(parser.words) and not parser.many:
        hint = f"Usage: {parser.usage}"
        raise EngineError(ErrorCode.USAGE, f"unexpected argument '{values[len(parser.words)]}'", hint=hint)
    return {parser.many: values} if parser.many else dict(zip(parser.words, values, strict=False))


def _looks_like_flag(argument: str) -> bool:
    """A lone dash is a value: it stands for stdin."""
    return argument.startswith("-") and argument != "-"


def _take(pending: deque[str], count: int) -> list[str]:
    """Up to ``count`` values from the front; a word that starts with a dash is never taken for one."""
    values: list[str] = []
    while len(values) < count and pending and not _looks_like_flag(pending[0]):
        values.append(pending.popleft())
    return values


def _value(name: str, flag: Flag, values: list[str]) -> object:
    """What ``flag`` is set to; refuses missing values, spare ones, and ones outside its choices."""
    if len(values) > flag.count:
        raise EngineError(flag.code, f"{name} takes no value")
    if len(values) < flag.count:
        wanted = "a value" if flag.count == 1 else f"{flag.count} values"
        hint = f"Write {name}=<value> for a value that starts with a dash." if flag.count == 1 else ""
        raise EngineError(flag.code, f"{name} requires {wanted}", hint=hint)
    if flag.choices and values[0] not in flag.choices:
        raise EngineError(flag.code, f"{name} must be one of: {', '.join(flag.choices)}")
    if not flag.count:
        return True
    return values[0] if flag.count == 1 else values
