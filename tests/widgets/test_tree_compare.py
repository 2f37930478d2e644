"""Two trees side by side, without a terminal."""

from __future__ import annotations

import pytest

from clawperator.engine.hierarchy.diff import compare
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.format.symbols import UNICODE
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.tree_compare import TreeCompare
from tests.app.console.support import NOON, ROWS, MovableClock, settings_screen


def test_each_node_that_differs_has_its_values(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(TreeCompare, "symbols", UNICODE)  # else the running app's
    monkeypatch.setattr(TreeCompare, "clock", MovableClock().clock)
    old = parse(settings_screen(ROWS[:-1]).replace("HomeNet", "Office\u202e"))
    new = parse(settings_screen((*ROWS[1:], ("Printing", "", False))))
    trees = [
        TreeSnapshot(serial=serial, source=source, at=NOON + serial, tree=tree)
        for serial, source, tree in ((1, "r", old), (2, "stream", new))
    ]
    sides = TreeCompare(trees[0], trees[1], compare(old, new))
    rows = [slot.draw(80).left.plain for slot in sides.slots(80)]
    assert "\u202e" not in "".join(rows)
    assert rows[0] == '   − removed LinearLayout "Network & internet"  0/0/0/0/1/0  5 nodes'
    name = rows.index(' ▾ ~ changed TextView "HomeNet"  0/0/0/0/1/0/1/1')
    assert rows[name + 1].endswith(' ~ text  "Office⟨U+202E⟩" → "HomeNet"')
    assert rows[-2:] == [
        '   + added   LinearLayout "Security & privacy"  0/0/0/0/1/8  5 nodes',
        '   + added   LinearLayout "Printing"  0/0/0/0/1/9  4 nodes',
    ]
    before, after = (sides.head(y, 80).left.plain for y in range(2))
    assert (
        [word in before for word in ("before", "snapshot")]
        == [word in after for word in ("after", "log")]
        == [True] * 2
    )
