"""From words to options. A command line is either understood completely or refused: nothing doubtful is dispatched.

Values are assigned by a scan of our own, because argparse guesses where a caller must not be guessed at: values that look like
flags, flags given twice, ``--`` as a value, words without a meaning. argparse only formats the help, and is imported for it.
"""

from __future__ import annotations

from collections import deque
from types import SimpleNamespace

from clawperator.app.cli.parsing.flags import Flag, Undeclared, Word
from clawperator.app.cli.parsing.values import HELP_HINT, integer, timeout_ms
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from argparse import HelpFormatter
    from collections.abc import Callable, Iterable, Sequence

    from clawperator.app.cli.parsing.flags import Declared

HELP = ("--help", "-h")
_OF_EXECUTIONS = ("--brief", "--then")
_FLAT_SPELLINGS = ("--device", "--operator-package")
"""A command line with one of these is answered in the flat names for package and codes."""


class HelpWantedError(Exception):
    """``--help`` stood where a flag may stand; ``topic`` is the command or group it is about, or ''."""

    def __init__(self, topic: str = "") -> None:
        super().__init__(topic)
        self.topic = topic


class Parser:
    """What a command accepts, and the texts of its help."""

    def __init__(self, prog: str, *, usage: str = "", description: str = "", epilog: str = "") -> None:
        self.prog, self.description, self.epilog = prog, description, epilog
        self.usage = f"{prog} {usage}" if usage else ""
        self.flags: dict[str, Flag] = {}
        self.codes: dict[str, ErrorCode] = {}
        """The code of errors about a flag."""
        self.words: list[str] = []
        self.many = ""
        self.rest = ""
        self.undeclared = ""
        self.defaults: dict[str, object] = {}
        self.completions: dict[str, Sequence[str] | str] = {}
        self.files: set[str] = set()
        self._own: list[Declared] = []
        self._global: list[Declared] = []

    def add(self, *declared: Declared, code: ErrorCode | None = None, everywhere: bool = False) -> None:
        """Accept what is declared; ``code`` replaces that of the flags, ``everywhere`` makes them global options."""
        (self._global if everywhere else self._own).extend(declared)
        for one in declared:
            if isinstance(one, Flag):
                self._add_flag(one, code)
            elif isinstance(one, Word):
                self._add_word(one)
            else:
                self.rest, self.undeclared = one.name, one.undeclared
                self.defaults[one.name] = []

    def _add_flag(self, flag: Flag, code: ErrorCode | None) -> None:
        self.defaults[flag.dest] = flag.default if flag.count else False
        if flag.count:
            self._complete(flag.dest, flag.suggest, file=flag.file)
        for name in flag.names:
            self.flags[name] = flag
            self.codes[name] = code or flag.code

    def _add_word(self, word: Word) -> None:
        self.defaults[word.name] = [] if word.many else None
        self._complete(word.name, word.suggest, file=word.file)
        if word.many:
            self.many = word.name
        else:
            self.words.append(word.name)

    def _complete(self, dest: str, suggest: Sequence[str] | str, *, file: bool) -> None:
        self.completions[dest] = suggest
        if file:
            self.files.add(dest)

    def written(self, dest: str, arguments: Iterable[str]) -> str:
        """Return the flag of an option as ``arguments`` spell it, else its first name; '' if no flag sets it."""
        names = [name for name, flag in self.flags.items() if flag.dest == dest]
        given = {argument.partition("=")[0] for argument in arguments}
        return next((name for name in names if name in given), names[0] if names else "")

    def options(self) -> SimpleNamespace:
        """Return the options of a command line without any."""
        return SimpleNamespace(**self.defaults)

    def format_help(self, formatter: Callable[..., HelpFormatter] | None = None, *, own: bool = False) -> str:
        """Return the help; ``own`` leaves out the global options, which have a topic of their own."""
        from argparse import ArgumentParser, RawDescriptionHelpFormatter

        shown = ArgumentParser(
            prog=self.prog,
            usage=self.usage.replace("%", "%%") or None,
            description=self.description,
            epilog=self.epilog,
            add_help=False,
            formatter_class=formatter or RawDescriptionHelpFormatter,
        )
        # the names of a flag as one: Python 3.13 writes several otherwise than older ones
        for title, declared in (("options", self._own), ("global options, allowed anywhere", self._global)):
            group = shown.add_argument_group(title)
            for one in () if own and declared is self._global else declared:
                if isinstance(one, Word):
                    shown.add_argument(
                        one.name, nargs="*" if one.many else "?", metavar=f"<{one.name}>", help=one.about
                    )
                elif not isinstance(one, Flag):
                    group.add_argument(f"-- <{one.name}>", action="store_true", help=one.about)
                elif one.count:
                    count = None if one.count == 1 else one.count
                    group.add_argument(", ".join(one.names), metavar=one.metavar, help=one.about, nargs=count)
                else:
                    group.add_argument(", ".join(one.names), action="store_true", help=one.about)
        return shown.format_help()


def unrecognised(flag: str, known: Iterable[str]) -> EngineError:
    """The refusal of a flag that does not exist, with the most similar one."""
    from clawperator.app.cli.parsing.suggest import closest_flag

    nearest = closest_flag(flag, known)
    meant = f". Did you mean '{nearest}'?" if nearest else ""
    hint = f"Leave it out: {flag} is about the result of an execution." if flag in _OF_EXECUTIONS else ""
    extra = {"suggestion": nearest} if nearest else None
    return EngineError(ErrorCode.USAGE, f"unrecognized flag '{flag}'{meant}", hint=hint, extra=extra)


def read(parser: Parser, words: str, arguments: Sequence[str], after_dashes: Sequence[str] = ()) -> SimpleNamespace:
    """Return the options of a command line from which ``find_command`` took the words.

    Raises ``HelpWantedError``; ``EngineError`` (mostly USAGE) for everything that is not exactly a known flag with its value.
    """
    options = parser.options()
    vars(options).update(_scan(parser, words, arguments))
    if parser.rest:
        setattr(options, parser.rest, list(after_dashes))
    elif after_dashes:
        raise EngineError(ErrorCode.USAGE, f"clawperator {words} takes no arguments after '--'")
    if options.json and options.output == "pretty":
        raise EngineError(ErrorCode.USAGE, "--json and --output pretty cannot be combined")
    for dest in ("device_id", "receiver_package"):
        text = getattr(options, dest)
        if text is not None and not text.strip():
            raise EngineError(ErrorCode.USAGE, f"{parser.written(dest, arguments)} value must not be blank")
    options.timeout_ms = timeout_ms(options.timeout_ms, parser.written("timeout_ms", arguments))
    for flag in dict.fromkeys(flag for flag in parser.flags.values() if flag.bounds):
        setattr(options, flag.dest, _bounded(flag, getattr(options, flag.dest)))
    options.speaks_flat = any(argument.partition("=")[0] in _FLAT_SPELLINGS for argument in arguments)
    return options


def _scan(parser: Parser, words: str, arguments: Sequence[str]) -> dict[str, object]:
    """The values of the options. Raises ``EngineError`` for everything that is not understood."""
    pending = deque(arguments)
    given: dict[str, object] = {}
    positionals: list[str] = []
    undeclared = Undeclared()
    while pending:
        argument = pending.popleft()
        if argument in HELP:
            raise HelpWantedError(words)
        if not looks_like_flag(argument):
            positionals.append(argument)
            continue
        name, equals, inline = argument.partition("=")
        flag = parser.flags.get(name)
        if flag is None:
            _keep(undeclared, parser, name, [inline] if equals else take(pending, 1))
            continue
        if flag.count and flag.dest in given:
            raise EngineError(parser.codes[name], f"{name} must not appear more than once", hint=HELP_HINT)
        given[flag.dest] = _value(name, flag, parser.codes[name], [inline] if equals else take(pending, flag.count))
    if parser.undeclared:
        given[parser.undeclared] = undeclared
        undeclared.words = positionals[len(parser.words) :]
        del positionals[len(parser.words) :]
        if undeclared.words and undeclared.refusal is None:
            undeclared.refusal = _unexpected(parser, undeclared.words)
    return given | _positionals(parser, positionals)


def _keep(undeclared: Undeclared, parser: Parser, name: str, values: list[str]) -> None:
    """Keep a flag that is not declared, with its value, for a command that judges it itself; else refuse it."""
    refusal = unrecognised(name, parser.flags)
    if not (parser.undeclared and values and name.startswith("--")):
        raise undeclared.refusal or refusal
    if name in undeclared.flags:
        raise EngineError(ErrorCode.USAGE, f"{name} must not appear more than once", hint=HELP_HINT)
    undeclared.flags[name] = values[0]
    undeclared.refusal = undeclared.refusal or refusal


def _positionals(parser: Parser, values: list[str]) -> dict[str, object]:
    if len(values) > len(parser.words) and not parser.many:
        raise _unexpected(parser, values[len(parser.words) :])
    return {parser.many: values} if parser.many else dict(zip(parser.words, values, strict=False))


def _unexpected(parser: Parser, spare: Sequence[str]) -> EngineError:
    hint = f"{_spare_argument(parser, spare)}Usage: {parser.usage}"
    return EngineError(ErrorCode.USAGE, f"unexpected argument '{spare[0]}'", hint=hint)


def _spare_argument(parser: Parser, spare: Sequence[str]) -> str:
    """What was probably meant by arguments that the command does not take, as the beginning of a hint."""
    if parser.words:
        return "Quote an argument that contains spaces. "
    if [word.isdigit() for word in spare] == [True, True]:
        points = {"--coordinate": " ".join(spare), "--at": ",".join(spare)}
        return next(
            (f"Pass a point with {name} {point}. " for name, point in points.items() if name in parser.flags), ""
        )
    selecting = next((name for name in ("--text", "--id") if name in parser.flags and parser.flags[name].selects), "")
    return f"Choose a node with {selecting} '{spare[0]}'. " if selecting else ""


def looks_like_flag(argument: str) -> bool:
    """Whether an argument is a flag; a lone dash is a value, which stands for stdin."""
    return argument.startswith("-") and argument != "-"


def take(pending: deque[str], count: int) -> list[str]:
    """Return up to ``count`` values from the front; a word that starts with a dash is never one."""
    values: list[str] = []
    while len(values) < count and pending and not looks_like_flag(pending[0]):
        values.append(pending.popleft())
    return values


def _value(name: str, flag: Flag, code: ErrorCode, values: list[str]) -> object:
    """The value of ``flag``; refuses missing values, spare ones, and ones outside its choices."""
    if len(values) > flag.count:
        raise EngineError(code, f"{name} takes no value")
    if len(values) < flag.count:
        wanted = "a value" if flag.count == 1 else f"{flag.count} values"
        dash = f" Write {name}=<value> for a value that starts with a dash." if flag.count == 1 else ""
        raise EngineError(code, f"{name} requires {wanted}", hint=f"Pass {name} {flag.form}.{dash}")
    if flag.choices and values[0] not in flag.choices:
        details = {} if code is ErrorCode.USAGE else {"path": name}
        message = f"{name} must be one of: {', '.join(flag.choices)}"
        raise EngineError(code, message, hint=HELP_HINT, details=details)
    if not flag.count:
        return True
    return values[0] if flag.count == 1 else values


def _bounded(flag: Flag, value: str | list[str] | int | None) -> object:
    """The integer or integers of a flag with ``bounds``; a default is one already."""
    assert flag.bounds is not None
    name, hint = flag.names[0], f"Pass {flag.names[0]} {flag.form}: {flag.about}."
    if isinstance(value, list):
        return [integer(name, text, *flag.bounds, hint=hint) for text in value]
    return integer(name, value, *flag.bounds, hint=hint) if isinstance(value, str) else value
