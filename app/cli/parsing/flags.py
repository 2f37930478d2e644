"""What a command accepts, declared as values: flags, arguments, and everything behind ``--``."""

from __future__ import annotations

from clawperator.engine.config.environment import FORMATS, LEVELS
from clawperator.engine.contracts.limits import BACKENDS, MAX_WAIT_MS
from clawperator.engine.errors import ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.engine.errors import EngineError


class Flag:
    """One option. A pair as ``metavar`` makes it take two values; without a ``metavar`` it takes none.

    Values outside ``choices`` are refused; ``bounds`` makes the value an integer within them. ``default`` is the value without
    the flag, and the help shows it. ``suggest`` and ``file`` feed shell completion only; a text names a source of
    ``completions``. ``code`` is the error's for a missing or repeated value; ``selects`` marks the flags that choose a node.
    """

    def __init__(
        self,
        names: str | tuple[str, ...],
        metavar: str | tuple[str, ...] | None,
        about: str,
        *,
        choices: Sequence[str] = (),
        suggest: Sequence[str] | str = (),
        file: bool = False,
        bounds: tuple[int, int] | None = None,
        default: str | int | None = None,
        code: ErrorCode = ErrorCode.USAGE,
        selects: bool = False,
    ) -> None:
        self.names = (names,) if isinstance(names, str) else names
        self.dest = self.names[0].lstrip("-").replace("-", "_")
        self.metavar = metavar
        self.count = 0 if metavar is None else 1 if isinstance(metavar, str) else len(metavar)
        self.about = about if default is None else f"{about} [{default}]"
        self.form = metavar if isinstance(metavar, str) else " ".join(metavar or ())
        self.selects = selects
        self.choices = choices
        self.suggest = choices or suggest
        self.file = file
        self.bounds = bounds
        self.default = default
        self.code = code


def switch(names: str | tuple[str, ...], about: str) -> Flag:
    """Declare a flag without a value."""
    return Flag(names, None, about)


class Word:
    """A positional argument, or with ``many`` all of them. The command checks whether it is present."""

    def __init__(
        self, name: str, about: str, *, suggest: Sequence[str] | str = (), file: bool = False, many: bool = False
    ) -> None:
        self.name = name
        self.about = about
        self.suggest = suggest
        self.file = file
        self.many = many


class Rest:
    """Everything behind a lone ``--``, unchanged.

    With ``undeclared``, the options have under that name an ``Undeclared``: flags and words that only ``run`` can judge.
    """

    def __init__(self, name: str, about: str, *, undeclared: str = "") -> None:
        self.name = name
        self.about = about
        self.undeclared = undeclared


class Undeclared:
    """Flags with their values, and words, that the command does not declare. ``refusal`` is the error about the first of them."""

    def __init__(self) -> None:
        self.flags: dict[str, str] = {}
        self.words: list[str] = []
        self.refusal: EngineError | None = None


Declared = Flag | Word | Rest


def global_flags(formats: Sequence[str] = FORMATS) -> tuple[Flag, ...]:
    """The options of every command, which may also stand before its words."""
    return (
        Flag(("--device-id", "--device"), "<serial>", "use this device", suggest="devices"),
        Flag(("--receiver-package", "--operator-package"), "<package>", "use this Operator app package"),
        Flag(
            "--backend",
            "<name>",
            "reach the device through the Operator app, or without one [operator]",
            choices=BACKENDS,
        ),
        switch("--allow-unbind", "let the stock backend unbind the Operator's service while it reads a screen"),
        switch("--compressed", "let the stock backend leave out decoration: some screens that move can be read so"),
        Flag(
            ("--output", "--format"),
            f"<{'|'.join(formats)}>",
            "print JSON or human-readable output [json]",
            choices=formats,
        ),
        switch("--json", "print JSON (same as --output json)"),
        Flag(("--timeout-ms", "--timeout"), "<ms>", "limit the whole execution to this time, 1000 to 120000"),
        Flag("--wait", "<ms>", "wait up to this long for a device that is in use [0]", bounds=(0, MAX_WAIT_MS)),
        Flag("--log-level", "<level>", f"set the log file's level: {', '.join(LEVELS)} [info]", choices=LEVELS),
        switch("--verbose", "log progress to stderr"),
        switch(("--help", "-h"), "show this help"),
        switch(("--version", "-V"), "print the version"),
        switch(("--no-warm", "--no-daemon"), "run in a new process even if a warm one is running"),
    )
