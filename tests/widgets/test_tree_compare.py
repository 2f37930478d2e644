"""Two trees side by side, without a terminal."""

from __future__ import annotations

import pytest

from clawperator.engine.hierarchy.diff import compare
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.tree_compare import TreeCompare
from tests.app.console.support import NOON, ROWS, MovableClock, settings_screen


@pytest.mark.parametrize(("width", "beside"), [(70, False), (120, True)])
def test_each_tree_has_its_own_side(monkeypatch: pytest.MonkeyPatch, width: int, beside: bool) -> None:
    """A narrow pane has before above after; an added or removed node stands on the side of its tree."""
    monkeypatch.setattr(TreeCompare, "symbols", UNICODE)  # else the running app's
    monkeypatch.setattr(TreeCompare, "clock", MovableClock().clock)
    old = parse(settings_screen(ROWS[:-1]).replace("HomeNet", "Office\u202e"))
    new = parse(settings_screen((*ROWS[1:], ("Printing", "", False))))
    trees = [
        TreeSnapshot(serial=serial, source=source, at=NOON + serial, tree=tree)
        for serial, source, tree in ((1, "r", old), (2, "stream", new))
    ]
    sides = TreeCompare(trees[0], trees[1], compare(old, new))
    rows = [slot.draw(width).left.plain for slot in sides.slots(width)]
    print("\n".join(rows))
    assert "\u202e" not in "".join(rows)
    middle = 20 + (width - 24) // 2
    gone, new_row = (next(row for row in rows if row.split()[1:2] == [kind]) for kind in ("removed", "added"))
    assert gone.index("Network & internet") < middle
    assert (new_row.index("Security & privacy") > middle) == beside
    heads = [sides.head(y, width).left.plain for y in range(2)]
    assert [[word in head for word in ("before", "snapshot", "after", "log")] for head in heads] == (
        [[True] * 4, [False] * 4] if beside else [[True, True, False, False], [False, False, True, True]]
    )
