"""Export files, readable by their owner only: the stream as JSON Lines, a run as a ZIP or one such line."""

from __future__ import annotations

import json
import re
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, NamedTuple

from clawperator.engine.bundles import run_bundle
from clawperator.engine.files.regular import new_file
from clawperator.engine.guard import Guard
from clawperator.engine.history.masking import without_texts
from clawperator.widgets.models.execution import ExecutionState, Item
from clawperator.widgets.models.export_rows import item_object, line_object
from clawperator.widgets.models.line_ring import LineRing

_UNSAFE = re.compile(r"[^A-Za-z0-9._-]+")
_NAMES_TRIED = 1_000


class Export(NamedTuple):
    """Rows that do not change while they are written: items, then lines. ``name`` says what they are."""

    name: str
    items: Sequence[Item]
    lines: LineRing
    numbers: Sequence[int]

    def objects(self) -> Iterator[dict[str, Any]]:
        """Yield the rows as JSON data; any thread may do it."""
        yield from map(item_object, self.items)
        for number in self.numbers:
            if number >= self.lines.first:  # older lines have left the ring
                yield line_object(self.lines[number], self.lines.device_of(number))


def of_items(items: Iterable[Item], ring: LineRing) -> Export:
    """Export rows of the execution views."""
    return Export("stream", _still(items), ring.copy(), ())


def of_lines(numbers: Sequence[int], ring: LineRing) -> Export:
    """Export rows of the log views."""
    return Export("log", (), ring.copy(), numbers)


def of_ring(ring: LineRing) -> Export:
    """Export every line that is kept."""
    return Export("ring", (), ring.copy(), range(ring.first, ring.end))


def of_execution(execution: ExecutionState, ring: LineRing) -> Export:
    """Export one execution, and the Operator's lines from its first to its last."""
    first, last = execution.log
    numbers = [number for number in ring.operator if first <= number <= last]
    return Export(_UNSAFE.sub("_", execution.command_id)[:60] or "execution", _still([execution]), ring.copy(), numbers)


def _still(items: Iterable[Item]) -> list[Item]:
    return [item.frozen_copy() if isinstance(item, ExecutionState) and not item.over else item for item in items]


def export_folder() -> Path:
    """Return the folder of exports without a path: the platform's state folder."""
    from platformdirs import user_state_path

    return user_state_path("clawperator") / "console" / "exports"


def new_path(folder: Path, name: str, now: float) -> Path:
    """Return a new file name in ``folder``: ``stream-20231114-222900.jsonl``, with a number where that is taken."""
    stem = f"{name}-{time.strftime('%Y%m%d-%H%M%S', time.localtime(now))}"
    names = (f"{stem}.jsonl", *(f"{stem}-{number}.jsonl" for number in range(2, _NAMES_TRIED)))
    return next(path for path in map(folder.joinpath, names) if not path.exists())


def write(path: Path, export: Export, guard: Guard) -> int:
    """Write a new file, mode 0600; return the number of rows. Raises ``OSError`` and the policy's ``EngineError``."""
    with guard.writing(str(path)):
        path.parent.mkdir(parents=True, exist_ok=True)
        return _write_rows(path, export.objects())


def write_run(path: Path, run: Mapping[str, Any], *, guard: Guard, safe: bool) -> None:
    """Write ``run`` (``HistoryReader.bundle``) to a new file, mode 0600: one line for a ``.jsonl``, else a ZIP.

    Raises ``OSError`` and ``EngineError``; existing files stay.
    """
    if path.suffix.lower() != ".jsonl":
        run_bundle.write(str(path), run, guard=guard, safe=safe)
        return
    with guard.writing(str(path)):
        _write_rows(path, [without_texts({**run, "trees": _unread(run["trees"])}) if safe else run])


def _unread(trees: Iterable[Mapping[str, Any]]) -> list[dict[str, Any]]:
    return [{key: value for key, value in tree.items() if key != "text"} for tree in trees]


def _write_rows(path: Path, rows: Iterable[Mapping[str, Any]]) -> int:
    count = 0
    with new_file(str(path)) as stream:
        for count, row in enumerate(rows, 1):  # noqa: B007  # the count is the answer
            line = json.dumps(row, ensure_ascii=False, separators=(",", ":"), default=str)
            stream.write(f"{line}\n".encode(errors="backslashreplace"))
    return count
