from __future__ import annotations

import gc
import weakref

import pytest

from clawperator.app.console.idle_gc import LEAST_GARBAGE, QUIET_SECONDS, REST_SECONDS, IdleGc
from clawperator.app.console.session import RECENT_TREES, TreeHistory
from clawperator.engine.hierarchy.tree import parse
from clawperator.widgets.models.snapshot import TreeSnapshot, pack, unpack
from tests.app.console.support import DEVICE, ROWS, FakeEngine, make_app, settings_screen, settled, until


class Hand:
    """A clock's, and the count of what it set off."""

    def __init__(self) -> None:
        self.at = 100.0
        self.collected = 0
        self.has_grown = True

    def now(self) -> float:
        return self.at

    def collect(self) -> None:
        self.collected += 1

    def grown(self) -> bool:
        return self.has_grown


@pytest.fixture
def hand() -> Hand:
    return Hand()


@pytest.fixture
def keeper(hand: Hand) -> IdleGc:
    return IdleGc(hand.now, hand.collect, hand.grown)


def test_nothing_is_collected_while_someone_is_at_the_keys(hand: Hand, keeper: IdleGc) -> None:
    hand.at += QUIET_SECONDS
    keeper.touched()
    assert not keeper.tick(kept=0, dropped=LEAST_GARBAGE)
    hand.at += QUIET_SECONDS
    assert keeper.tick(kept=0, dropped=LEAST_GARBAGE)
    assert not keeper.tick(kept=0, dropped=LEAST_GARBAGE), "what was swept is not garbage any more"
    assert hand.collected == 1


def test_much_garbage_waits_for_no_one(hand: Hand, keeper: IdleGc) -> None:
    keeper.touched()
    assert not keeper.tick(kept=1_000_000, dropped=1_000_000)
    assert keeper.tick(kept=1_000_000, dropped=2_500_000)


def test_a_quiet_minute_is_used(hand: Hand, keeper: IdleGc) -> None:
    hand.at += REST_SECONDS - 1
    assert not keeper.tick(kept=0, dropped=0)
    hand.at += 1
    assert keeper.tick(kept=0, dropped=0)


def test_an_idle_console_has_nothing_to_collect(hand: Hand, keeper: IdleGc) -> None:
    """A collection every ten seconds was a tenth of what it cost."""
    hand.has_grown = False
    hand.at += 10 * REST_SECONDS
    assert not keeper.tick(kept=0, dropped=0)
    hand.has_grown = True
    assert keeper.tick(kept=0, dropped=0)


def test_what_was_taken_over_is_given_back(keeper: IdleGc, monkeypatch: pytest.MonkeyPatch) -> None:
    frozen: list[bool] = []
    monkeypatch.setattr(gc, "freeze", lambda: frozen.append(True))
    monkeypatch.setattr(gc, "unfreeze", lambda: frozen.append(False))
    before = gc.get_threshold()
    keeper.begin()
    assert gc.get_threshold() != before
    keeper.end()
    assert gc.get_threshold() == before
    assert frozen == [True, False], "a second console in the same process would keep the first one's objects for ever"


def snapshot(serial: int) -> TreeSnapshot:
    xml = settings_screen(ROWS[: 1 + serial % 9])
    return TreeSnapshot(serial=serial, device_id=DEVICE.serial, source="r", at=float(serial), xml=xml, tree=parse(xml))


def test_a_packed_tree_comes_back_as_it_was() -> None:
    whole = snapshot(3)
    packed = pack(whole)
    assert (packed.tree, packed.xml) == (None, "")
    assert packed.readable
    assert not packed
    assert (packed.node_count, packed.package) == (whole.node_count, whole.package)
    again = unpack(packed)
    assert again.xml == whole.xml
    assert [node.attributes for node in again.nodes] == [node.attributes for node in whole.nodes]


def test_near_trees_stay_as_they_are() -> None:
    trees = TreeHistory()
    for serial in range(1, 21):
        trees.add(snapshot(serial))
    assert [item.serial for item in trees.far()] == list(range(1, 20 - RECENT_TREES))
    trees.back = 15
    assert [item.serial for item in trees.far()] == [1, 2, 3, *range(7, 20 - RECENT_TREES)], (
        "where somebody looks back to"
    )


def test_a_dissolved_tree_needs_no_garbage_collection() -> None:
    tree = parse(settings_screen())
    gone = weakref.ref(tree)
    node = tree.nodes[5]
    gc.disable()
    try:
        tree.unlink_nodes()
        del tree
        assert gone() is None
        assert node.parent is None
    finally:
        gc.enable()


async def test_old_trees_are_packed_and_unpacked_when_someone_goes_back() -> None:
    engine = FakeEngine(screen=settings_screen())
    app = make_app(engine)
    async with app.run_test(size=(120, 36)) as pilot:
        await settled(pilot)
        for count in range(1, 10):
            engine.screen = settings_screen(ROWS[:count])
            await pilot.press("r")
            await until(pilot, lambda serial=count + 1: app.session.trees.newest.serial == serial)  # type: ignore[misc]  # bound at once
        app._second()
        await until(pilot, lambda: not app.session.far())
        oldest = list(app.session.trees)[-1]
        assert oldest.packed
        for _ in range(9):
            await pilot.press("comma")
        tree = app.screen.query_one("#tree")
        await until(pilot, lambda: tree.snapshot.serial == oldest.serial)  # type: ignore[attr-defined]  # the tree's own
        assert len(tree.snapshot.nodes) == oldest.packed_nodes  # type: ignore[attr-defined]  # the tree's own
