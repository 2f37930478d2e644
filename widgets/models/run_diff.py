"""What differs between two runs: their payloads and envelopes by path, their steps, their phases, their trees. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.hierarchy.diff import compare
from clawperator.widgets.models.outline import Path
from clawperator.widgets.models.timeline import PHASES

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree
    from clawperator.widgets.models.execution import ExecutionState, StepState, TreeMark

_MISSING: Any = object()
_OWN_NAMES = frozenset({("commandId",), ("taskId",)})


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One value that differs. ``kind``: *added*, *removed*, *changed*, or *moved* for a list whose items only changed order.

    Items of lists that all have an ``id`` of their own are told by it, so that one more step does not change all behind it.
    """

    kind: str
    path: Path
    old: Any = None
    new: Any = None

    @property
    def expected(self) -> bool:
        """Whether two runs never agree in it: each has a command of its own."""
        return self.path in _OWN_NAMES


def value_changes(old: Any, new: Any) -> list[ValueChange]:
    """How to come from ``old`` to ``new``, in document order; nothing for a value and itself, however deep."""
    changes: list[ValueChange] = []
    waiting: list[_Both | ValueChange] = [_Both((), old, new)]
    while waiting:
        both = waiting.pop()
        if isinstance(both, ValueChange):
            changes.append(both)
        elif (change := _change(both)) is not None:
            changes.append(change)
        else:
            waiting.extend(reversed(_inside(both)))
    return changes


class _Both(NamedTuple):
    """The values of both at one path."""

    path: Path
    old: Any
    new: Any


def _change(both: _Both) -> ValueChange | None:
    """The change that the pair itself is; ``None`` where it is none or lies deeper."""
    path, old, new = both
    if old is _MISSING:
        return ValueChange("added", path, new=new)
    if new is _MISSING:
        return ValueChange("removed", path, old=old)
    alike = (isinstance(old, Mapping) and isinstance(new, Mapping)) or (_is_list(old) and _is_list(new))
    return None if alike or _same(old, new) else ValueChange("changed", path, old, new)


def _same(old: Any, new: Any) -> bool:
    """JSON's own equality: ``true`` is not ``1``, and a number that is none equals itself."""
    if isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new):
        return True
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _inside(both: _Both) -> list[_Both | ValueChange]:
    """What two containers hold under the same keys; nothing for two values that are none."""
    path, old, new = both
    if isinstance(old, Mapping):
        return [*_paired(path, old, new)]
    if not _is_list(old):
        return []
    before, after = _by_id(old), _by_id(new)
    if before is None or after is None:
        return [*_paired(path, dict(enumerate(old)), dict(enumerate(new)))]
    moved = [key for key in before if key in after] != [key for key in after if key in before]
    order = [ValueChange("moved", path, [*before], [*after])] if moved else []
    return [*order, *_paired(path, before, after)]


def _paired(path: Path, old: Mapping[Any, Any], new: Mapping[Any, Any]) -> Iterator[_Both]:
    return (_Both((*path, key), old.get(key, _MISSING), new.get(key, _MISSING)) for key in dict.fromkeys([*old, *new]))


def _by_id(items: Sequence[Any]) -> dict[Any, Any] | None:
    """The items by their ``id``; ``None`` unless each has one of its own."""
    found = {item["id"]: item for item in items if isinstance(item, Mapping) and isinstance(item.get("id"), str)}
    return found if len(found) == len(items) else None


# -- steps


@dataclass(frozen=True, slots=True)
class StepPair:
    """The same step of both runs; one of them is ``None`` where the other run has no such step."""

    a: StepState | None
    b: StepState | None
    data: tuple[ValueChange, ...] = ()

    @property
    def id(self) -> str:
        return self._any.id

    @property
    def type(self) -> str:
        return self._any.type or (self.b.type if self.b is not None else "")

    @property
    def _any(self) -> StepState:
        step = self.a or self.b
        assert step is not None
        return step

    @property
    def seconds(self) -> tuple[float, float]:
        """How long each took; ``nan`` where that was not seen."""
        return _seconds(self.a), _seconds(self.b)

    @property
    def delta(self) -> float:
        """How much longer B took, in seconds."""
        a, b = self.seconds
        return b - a

    @property
    def differs(self) -> bool:
        """Whether it ended otherwise or brought something else; that it took another time is no difference."""
        if self.a is None or self.b is None:
            return True
        return (self.a.status, self.a.code, self.a.type) != (self.b.status, self.b.code, self.b.type) or bool(self.data)


def _seconds(step: StepState | None) -> float:
    return math.nan if step is None else step.ended - step.started


def step_pairs(a: ExecutionState, b: ExecutionState) -> list[StepPair]:
    """The steps of both by their ids, in A's order; what only B has stands behind what it follows there.

    Data are compared where both runs told theirs: a plan that broke off tells none, whatever its steps brought.
    """
    first, second = _numbered(a.steps, "id"), _numbered(b.steps, "id")
    told = _tells_data(a) and _tells_data(b)
    return [_pair(first.get(key), second.get(key), told=told) for key in _merged([*first], [*second])]


def _tells_data(run: ExecutionState) -> bool:
    return run.envelope is not None and bool(run.envelope.get("stepResults"))


def _pair(a: StepState | None, b: StepState | None, *, told: bool) -> StepPair:
    changed = value_changes(a.data, b.data) if told and a is not None and b is not None else []
    return StepPair(a, b, tuple(changed))


_Key = tuple[str, int]


def _numbered(items: Iterable[Any], name: str) -> dict[_Key, Any]:
    """Items by an id that may repeat: the id and the how-manieth with it."""
    count: Counter[str] = Counter()
    found = {}
    for item in items:
        key = getattr(item, name)
        found[key, count[key]] = item
        count[key] += 1
    return found


def _merged(first: Sequence[_Key], second: Sequence[_Key]) -> list[_Key]:
    """All keys: those of ``first`` in their order, the others each behind its neighbour."""
    behind: dict[_Key | None, list[_Key]] = defaultdict(list)
    known = set(first)
    last: _Key | None = None
    for key in second:
        if key in known:
            last = key
        else:
            behind[last].append(key)
    merged = list(behind[None])
    for key in first:
        merged += [key, *behind[key]]
    return merged


# -- phases


class PhasePair(NamedTuple):
    """A phase of both runs in milliseconds; ``nan`` where a run has no such phase."""

    name: str
    a: float
    b: float


def phase_pairs(a: Mapping[str, float], b: Mapping[str, float]) -> list[PhasePair]:
    names = [*(name for name in PHASES if name in a or name in b), *sorted((a.keys() | b.keys()) - PHASES.keys())]
    return [PhasePair(name, a.get(name, math.nan), b.get(name, math.nan)) for name in names]


# -- trees


class TreeCounts(NamedTuple):
    """How many nodes came, went, changed and moved between two trees; false where nothing did."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0

    def __bool__(self) -> bool:
        return any(self)


def tree_counts(a: UiTree | None, b: UiTree | None) -> TreeCounts | None:
    """What happened between two trees; ``None`` where one of them is not known. Takes milliseconds: not for the event loop."""
    if a is None or b is None:
        return None
    counts: Counter[str] = Counter()
    for change in compare(a, b):
        whole = change.kind in ("added", "removed")
        counts[change.kind] += change.node.end - change.node.index if whole else 1
    return TreeCounts(counts["added"], counts["removed"], counts["changed"], counts["moved"])


class TreePair(NamedTuple):
    """The trees that the same step took in both runs; one of them is ``None`` where the other run has none there."""

    step_id: str
    a: TreeMark | None
    b: TreeMark | None


def tree_pairs(a: ExecutionState, b: ExecutionState) -> list[TreePair]:
    first = _numbered(sorted(a.trees, key=lambda mark: mark.at), "step_id")
    second = _numbered(sorted(b.trees, key=lambda mark: mark.at), "step_id")
    return [TreePair(key[0], first.get(key), second.get(key)) for key in _merged([*first], [*second])]
