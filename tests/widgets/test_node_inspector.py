"""The attribute table: what it copies, what it gives to the matcher."""

from __future__ import annotations

from typing import Any

from clawperator.engine.hierarchy.tree import UiNode, parse
from clawperator.widgets.node_inspector import NodeInspector
from tests.app.console.support import drained, settings_screen
from tests.widgets.pane_app import held, lines

TREE = parse(settings_screen())
TITLE = next(node for node in TREE.nodes if node.label == "Wi‑Fi")


class RecordingPane(NodeInspector):
    def __init__(self) -> None:
        super().__init__(id="pane")
        self.reported: list[tuple[str, str]] = []

    def post_message(self, message: Any) -> bool:
        if isinstance(message, NodeInspector.ValueWanted):
            self.reported.append((message.name, message.value))
        elif isinstance(message, NodeInspector.FieldUsed):
            self.reported.append((message.field, message.value))
        return super().post_message(message)


def go_to(pane: NodeInspector, name: str, *, derived: bool) -> None:
    pane.move_to(next(index for index, row in enumerate(pane.rows) if row.place == (name, derived)))


async def test_a_value_is_copied_as_it_is_without_the_signs_it_is_drawn_with() -> None:
    pane = RecordingPane()
    async with held(pane, size=(60, 40)) as (app, pilot):
        pane.show_node(TITLE)
        await drained(pilot)
        assert any("role" in line and "≈ button" in line for line in lines(app))
        go_to(pane, "role", derived=True)
        await pilot.press("enter")
        go_to(pane, "resource-id", derived=False)
        await pilot.press("enter")
        assert pane.reported == [("role", "button"), ("resource-id", "android:id/title")]


async def test_a_value_goes_into_the_matcher_field_it_is_for() -> None:
    pane = RecordingPane()
    async with held(pane, size=(60, 40)) as (_, pilot):
        pane.show_node(TITLE)
        for name, derived in (("label", True), ("role", True), ("resource-id", False), ("text", False)):
            go_to(pane, name, derived=derived)
            await pilot.press("plus")
        assert pane.reported == [
            ("textEquals", "Wi‑Fi"),
            ("role", "button"),
            ("resourceId", "android:id/title"),
            ("textEquals", "Wi‑Fi"),
        ]


async def test_rows_that_no_field_is_for_give_nothing() -> None:
    pane = RecordingPane()
    async with held(pane, size=(60, 40)) as (_, pilot):
        await pilot.press("plus", "enter")
        pane.show_node(TITLE)
        for name, derived in (("size", True), ("class", False), ("content-desc", False), ("bounds", False)):
            go_to(pane, name, derived=derived)
            pane.action_use_field()
        assert pane.reported == []


async def test_the_row_stays_when_the_node_changes_and_sizes_follow_the_density() -> None:
    pane = RecordingPane()
    other: UiNode = next(node for node in TREE.nodes if node.label == "Apps")
    async with held(pane, size=(60, 40)) as (app, pilot):
        pane.show_node(TITLE)
        go_to(pane, "text", derived=False)
        pane.show_node(other)
        assert pane.value == ("text", False)
        assert not any(" dp)" in line for line in lines(app))
        pane.show_node(other, density=440)
        await drained(pilot)
        assert any(" dp)" in line for line in lines(app))
        pane.show_node(None)
        await drained(pilot)
        assert any("No node selected." in line for line in lines(app))


async def test_a_changed_node_shows_its_old_values() -> None:
    pane = RecordingPane()
    before = parse(
        '<hierarchy><node text="Wi-Fi off" resource-id="a:id/b" checked="true" bounds="[0,0][9,9]" hint="x"/></hierarchy>'
    ).nodes[0]
    after = parse(
        '<hierarchy><node text="Wi-Fi on" resource-id="a:id/b" checked="false" bounds="[0,5][9,14]" password="false"/></hierarchy>'
    ).nodes[0]
    async with held(pane, size=(60, 40)) as (app, pilot):
        pane.show_node(after, before=before)
        await drained(pilot)
        shown = [" ".join(line.split()) for line in lines(app)]
        for new, old in (
            ("text Wi-Fi on", "was Wi-Fi off"),
            ("checked false", "was true"),
            ("bounds [0,5][9,14]", "was [0,0][9,9]"),
            ("password false", "was absent"),
        ):
            assert shown[shown.index(new) + 1] == old
        assert "hint x" in shown
        assert not shown[shown.index("resource-id a:id/b") + 1].startswith("was")
        pane.show_node(after)
        await drained(pilot)
        assert not any("was" in line for line in lines(app))
