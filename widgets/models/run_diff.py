"""Differences of two runs: payload and envelope by path, steps, phases, trees. Pure."""

from __future__ import annotations

import math
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.hierarchy.diff import Change, compare
from clawperator.widgets.models.outline import Path
from clawperator.widgets.models.timeline import PHASES

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiTree
    from clawperator.widgets.models.execution import ExecutionState, StepState, TreeMark

_MISSING: Any = object()
_OWN_NAMES = frozenset({("commandId",), ("taskId",)})


@dataclass(frozen=True, slots=True)
class ValueChange:
    """One difference. ``kind``: *added*, *removed*, *changed*, or *moved* for a list that was only reordered.

    Items of a list are matched by ``id`` where all have one.
    """

    kind: str
    path: Path
    old: Any = None
    new: Any = None

    @property
    def expected(self) -> bool:
        """Return whether the value differs between any two runs."""
        return self.path in _OWN_NAMES


def value_changes(old: Any, new: Any) -> list[ValueChange]:
    """Return the changes from ``old`` to ``new`` in document order."""
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
    """Return the change of the pair itself; ``None`` where it is none or lies deeper."""
    path, old, new = both
    if old is _MISSING:
        return ValueChange("added", path, new=new)
    if new is _MISSING:
        return ValueChange("removed", path, old=old)
    alike = (isinstance(old, Mapping) and isinstance(new, Mapping)) or (_is_list(old) and _is_list(new))
    return None if alike or _same(old, new) else ValueChange("changed", path, old, new)


def _same(old: Any, new: Any) -> bool:
    """Compare as JSON: ``true`` is not ``1``, and ``NaN`` equals itself."""
    if isinstance(old, float) and isinstance(new, float) and math.isnan(old) and math.isnan(new):
        return True
    return isinstance(old, bool) == isinstance(new, bool) and bool(old == new)


def _is_list(value: Any) -> bool:
    return isinstance(value, (list, tuple))


def _inside(both: _Both) -> list[_Both | ValueChange]:
    """Return the members of two containers by key."""
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
    """Return the items by ``id``; ``None`` unless each has a unique one."""
    found = {item["id"]: item for item in items if isinstance(item, Mapping) and isinstance(item.get("id"), str)}
    return found if len(found) == len(items) else None


# -- steps


@dataclass(frozen=True, slots=True)
class StepPair:
    """The same step of both runs; ``None`` where a run does not have it."""

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
        """Return the duration in each run; ``nan`` where unknown."""
        return _seconds(self.a), _seconds(self.b)

    @property
    def differs(self) -> bool:
        """Return whether outcome or data differ; the duration does not count."""
        if self.a is None or self.b is None:
            return True
        return (self.a.status, self.a.code, self.a.type) != (self.b.status, self.b.code, self.b.type) or bool(self.data)


def _seconds(step: StepState | None) -> float:
    return math.nan if step is None else step.ended - step.started


def step_pairs(a: ExecutionState, b: ExecutionState) -> list[StepPair]:
    """Return the steps of both by id, in A's order; data are compared where both envelopes have step results."""
    first, second = _numbered(a.steps, "id"), _numbered(b.steps, "id")
    with_data = _has_data(a) and _has_data(b)
    return [_pair(first.get(key), second.get(key), with_data=with_data) for key in _merged([*first], [*second])]


def _has_data(run: ExecutionState) -> bool:
    return run.envelope is not None and bool(run.envelope.get("stepResults"))


def _pair(a: StepState | None, b: StepState | None, *, with_data: bool) -> StepPair:
    changed = value_changes(a.data, b.data) if with_data and a is not None and b is not None else []
    return StepPair(a, b, tuple(changed))


_Key = tuple[str, int]


def _numbered(items: Iterable[Any], name: str) -> dict[_Key, Any]:
    """Return items by a repeatable id: the id and its occurrence."""
    count: Counter[str] = Counter()
    found = {}
    for item in items:
        key = getattr(item, name)
        found[key, count[key]] = item
        count[key] += 1
    return found


def _merged(first: Sequence[_Key], second: Sequence[_Key]) -> list[_Key]:
    """Return all keys: those of ``first`` in order, the others after their predecessor."""
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
    """A phase of both runs in milliseconds; ``nan`` where a run does not have it."""

    name: str
    a: float
    b: float


def phase_pairs(a: Mapping[str, float], b: Mapping[str, float]) -> list[PhasePair]:
    names = [*(name for name in PHASES if name in a or name in b), *sorted((a.keys() | b.keys()) - PHASES.keys())]
    return [PhasePair(name, a.get(name, math.nan), b.get(name, math.nan)) for name in names]


# -- trees


class TreeCounts(NamedTuple):
    """Numbers of added, removed, changed and moved nodes; false without changes."""

    added: int = 0
    removed: int = 0
    changed: int = 0
    moved: int = 0

    def __bool__(self) -> bool:
        return any(self)


def tree_counts(a: UiTree | None, b: UiTree | None) -> TreeCounts | None:
    """Return the differences of two trees; ``None`` where one is unknown. Takes milliseconds: not for the event loop."""
    if a is None or b is None:
        return None
    return counts_of(compare(a, b))


def counts_of(changes: Iterable[Change]) -> TreeCounts:
    """Return the number of nodes by kind of change."""
    counts: Counter[str] = Counter()
    for change in changes:
        whole = change.kind in ("added", "removed")
        counts[change.kind] += change.node.end - change.node.index if whole else 1
    return TreeCounts(counts["added"], counts["removed"], counts["changed"], counts["moved"])


class TreePair(NamedTuple):
    """The trees of the same step in both runs; ``None`` where a run has none there."""

    step_id: str
    a: TreeMark | None
    b: TreeMark | None


def tree_pairs(a: ExecutionState, b: ExecutionState) -> list[TreePair]:
    first = _numbered(sorted(a.trees, key=lambda mark: mark.at), "step_id")
    second = _numbered(sorted(b.trees, key=lambda mark: mark.at), "step_id")
    return [TreePair(key[0], first.get(key), second.get(key)) for key in _merged([*first], [*second])]
