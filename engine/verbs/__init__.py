"""The verbs: what describes one, and `catalogue`, where each stands once. The contract and all faces derive from it.

Plain classes, because every command may load them.
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Iterator
    from typing import Any

FIRST_GENERATION = "0.3"
MAX_EXECUTION_TIMEOUT_MS = 120_000
SPARE_MS = 5_000
"""Time limit of an execution beyond that of its waiting action (execution.md#timeouts)."""
MAX_DISPLAY = 999_999

READS, ACTS, MANAGES = "reads", "acts", "manages"
"""What a verb does to a device: nothing; what a user does at the screen; installing, deleting, permissions and settings."""


def kebab(name: str) -> str:
    """Return the name of a parameter as a flag has it."""
    return "".join(f"-{letter.lower()}" if letter.isupper() else letter for letter in name)


class Param:
    """A parameter: its name on all faces, its kind, and what it means; ``wire`` is its name in a payload.

    The kind is the type of the value: ``matcher``, ``point``, ``bool``, ``int`` with bounds ``low`` and ``high``, ``number``, ``choice`` of
    ``choices``, or a kind of text. ``default`` is what the device assumes without it, ``since`` the Operator version that first reads it
    where that is not the verb's, ``need`` whether the verb requires it. ``plan``: only plans have it. ``root`` is the description that
    faces without one of their own for each verb show: its bounds are the widest, and ``face`` its kind there. On the command line it is
    the flag ``flag``, or a positional argument (``word``); ``usual`` is what a command line without it means.
    """

    __slots__ = ("about", "choices", "default", "face", "flag", "high", "kind", "low", "name", "need", "plan", "root", "since", "usual", "wire", "word")  # fmt: skip

    def __init__(
        self,
        name: str,
        kind: str,
        about: str = "",
        low: float | None = None,
        high: float | None = None,
        *,
        choices: tuple[str, ...] = (),
        default: object = None,
        since: str = "",
        need: bool = False,
        plan: bool = False,
        wire: str = "",
        face: str = "",
        flag: str = "",
        word: bool = False,
        usual: int | None = None,
        root: Param | None = None,
    ) -> None:
        self.name, self.kind, self.about, self.low, self.high = name, kind, about, low, high
        self.choices, self.default, self.since, self.need, self.plan = choices, default, since, need, plan
        self.wire, self.face, self.root = wire or name, face or kind, root or self
        self.flag, self.word, self.usual = flag or kebab(name), word, usual

    def __call__(self, about: str = "", **changes: Any) -> Param:
        """Return the parameter as one verb has it."""
        own = {name: getattr(self, name) for name in self.__slots__}
        return Param(**own | {"about": about or self.about} | changes)


class Verb:
    """An operation on a device, with its parameters in the order of the contract.

    ``of`` is what performs it: an ``action`` of the Operator app, a ``composition`` of the host, Android's ``input``, or a ``device``
    command. Of an action: ``limit_ms`` is the time limit of an execution of it alone, where it is not the usual one, ``exact`` that the app refuses other
    parameters, ``background`` that it needs neither the accessibility service nor a lit screen, ``data`` what its step returns that a
    caller cannot know before, ``app_only`` what the app can and adb's shell cannot, ``listed`` whether servers have it as a verb.
    ``needs`` are the capabilities that do not depend on the arguments (with ``input``, those of its effect are needed as well), ``command`` the words on the command line,
    ``also`` other spellings of them, ``notes`` and ``examples`` are of its help, ``key`` is its key in the console's menu of steps. The first sentence of ``about`` is the summary.
    """

    __slots__ = ("about", "also", "app_only", "background", "command", "data", "does", "exact", "examples", "key", "limit_ms", "listed", "name", "needs", "notes", "of", "one_of", "params", "since")  # fmt: skip

    def __init__(
        self,
        name: str,
        about: str,
        *params: Param,
        of: str = "action",
        does: str = ACTS,
        command: str = "",
        one_of: tuple[str, ...] = (),
        since: str = FIRST_GENERATION,
        needs: tuple[str, ...] = (),
        exact: bool = False,
        background: bool = False,
        data: tuple[str, ...] = (),
        app_only: str = "",
        limit_ms: int = 0,
        listed: bool = True,
        also: tuple[str, ...] = (),
        notes: str = "",
        examples: tuple[str, ...] = (),
        key: str = "",
    ) -> None:
        self.name, self.about, self.params, self.of, self.does, self.command = name, about, params, of, does, command
        self.also, self.notes, self.examples, self.key = also, notes, examples, key
        self.one_of, self.since, self.needs, self.exact = one_of, since, needs, exact
        self.background, self.data, self.app_only = background, data, app_only
        self.limit_ms, self.listed = limit_ms, listed

    @property
    def summary(self) -> str:
        """The first sentence of the description."""
        return self.about.partition(". ")[0].removesuffix(".").replace("`", "")

    @property
    def arguments(self) -> tuple[Param, ...]:
        """The parameters on the faces, those that are required first."""
        shown = [param for param in self.params if not param.plan]
        return tuple(sorted(shown, key=lambda param: (not param.need, param.name not in self.one_of)))


def vocabulary(verbs: dict[str, Verb]) -> Iterator[Param]:
    """Yield every argument of ``verbs`` once, as faces that have one description for all verbs show it."""
    roots = {param.name: param.root for verb in verbs.values() if verb.listed for param in verb.arguments}
    yield from roots.values()
