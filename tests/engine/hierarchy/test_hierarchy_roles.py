"""The role table of wire.md#roles, row by row, and what is marked approximate."""

from __future__ import annotations

from collections.abc import Mapping, Sequence

import pytest

from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.hierarchy.serialise import RenderNode, render_node
from clawperator.engine.hierarchy.tree import UiNode, build
from tests.support import table


def one(cls: str = "", children: Sequence[RenderNode] = (), **attributes: object) -> RenderNode:
    return render_node(
        {"class": cls, **{name.replace("_", "-"): value for name, value in attributes.items()}}, children
    )


def infer(node: RenderNode, *, inside: Mapping[str, object] | None = None) -> UiNode:
    """The node as parsed, as a root or in a parent with the given attributes."""
    if inside is None:
        return build([node]).nodes[0]
    return build([render_node(inside, [node])]).nodes[1]


@table(
    ("cls", "role"),
    [
        ("androidx.viewpager2.widget.ViewPager2", "pager"),
        ("android.widget.Button", "button"),
        ("android.widget.RadioButton", "button"),
        ("android.widget.ToggleButton", "button"),
        ("android.widget.ImageButton", "button"),
        ("com.google.android.material.floatingactionbutton.FloatingActionButton", "button"),
        ("android.widget.EditText", "textfield"),
        ("com.google.android.material.textfield.TextInputEditText", "textfield"),
        ("android.widget.MultiAutoCompleteTextView", "textfield"),
        ("android.widget.Switch", "switch"),
        ("androidx.appcompat.widget.SWITCHCOMPAT", "switch"),
        ("android.widget.CheckBox", "checkbox"),
        ("android.widget.ListView", "list"),
        ("android.widget.GridView", "grid"),
        ("androidx.appcompat.widget.Toolbar", "toolbar"),
        ("com.google.android.material.tabs.TabLayout", "tabbar"),
        ("com.google.android.material.bottomnavigation.BottomNavigationView", "tabbar"),
        ("android.widget.ImageView", "image"),
        ("com.google.android.material.chip.Chip", "chip"),
    ],
)
def test_widget_classes_are_exact(cls: str, role: str) -> None:
    node = infer(one(cls))
    assert (node.role, node.role_approximate) == (role, False)
    assert role in ROLE_NAMES


@pytest.mark.parametrize(
    "parent",
    [
        {"class": "a.TabLayout"},
        {"class": "a.bottomnavigationview"},
        {"resource-id": "a:id/tab_strip"},
        {"resource-id": "a:id/navigation"},
        {"resource-id": "a:id/bottom_bar"},
    ],
)
def test_labelled_children_of_tab_bars_are_tabs_whatever_their_class(parent: dict[str, object]) -> None:
    assert infer(one("android.widget.Button", text="Home"), inside=parent).role == "tab"
    assert infer(one("android.widget.EditText", content_desc="Home"), inside=parent).role == "tab"
    assert infer(one("android.widget.Button"), inside=parent).role == "button"


def test_images_that_can_be_tapped_are_icons() -> None:
    assert infer(one("android.widget.ImageView", clickable=True)).role == "icon"
    assert infer(one("android.widget.ImageView"), inside={"clickable": True}).role == "icon"
    assert infer(one("android.widget.ImageView"), inside={"clickable": False}).role == "image"


class TestRecyclerViews:
    CLS = "androidx.recyclerview.widget.RecyclerView"

    def test_items_one_below_the_other_are_a_list(self) -> None:
        node = infer(one(self.CLS, [one(bounds=(0, 0, 9, 9)), one(bounds=(0, 9, 9, 18))]))
        assert (node.role, node.role_approximate) == ("list", True)

    def test_items_shifted_sideways_are_a_list_still(self) -> None:
        assert infer(one(self.CLS, [one(bounds=(0, 0, 9, 9)), one(bounds=(5, 9, 14, 18))])).role == "list"

    def test_items_side_by_side_are_columns(self) -> None:
        node = infer(one(self.CLS, [one(bounds=(0, 0, 9, 9)), one(bounds=(9, 0, 18, 9))]))
        assert (node.role, node.role_approximate) == ("grid", True)

    @pytest.mark.parametrize("cls", [CLS, "android.widget.ListView", "android.widget.GridView"])
    def test_their_children_are_items_unless_widgets(self, cls: str) -> None:
        item = infer(one("android.widget.LinearLayout", text="x"), inside={"class": cls})
        assert (item.role, item.role_approximate) == ("listitem", True)
        assert infer(one("android.widget.Button"), inside={"class": cls}).role == "button"


class TestWithoutAWidgetClass:
    @pytest.mark.parametrize("layout", ["LinearLayout", "FrameLayout", "ConstraintLayout", "CoordinatorLayout"])
    def test_layouts(self, layout: str) -> None:
        assert infer(one(f"android.widget.{layout}", text="x", clickable=True)).role == "container"

    def test_text(self) -> None:
        assert infer(one("android.widget.TextView", text="x")).role == "text"
        assert infer(one("", content_desc="x")).role == "text"

    def test_title_in_a_toolbar(self) -> None:
        assert infer(one("android.widget.TextView", text="x"), inside={"class": "a.Toolbar"}).role == "title"

    def test_what_richer_sources_tell(self) -> None:
        from clawperator.engine.hierarchy.tree import parse

        text = "<hierarchy><node text='a' heading='true'/><node text='b' screen-reader-focusable='true'/></hierarchy>"
        assert [node.role for node in parse(text).nodes] == ["title", "label"]

    @pytest.mark.parametrize(
        ("label", "role"),
        [
            ("Order", "button"),
            ("Twenty characters ok", "button"),
            ("Twenty-one characters", "text"),
            ("NoBlankInThisVeryLongWord", "button"),
        ],
    )
    def test_clickable_labels(self, label: str, role: str) -> None:
        assert infer(one("android.widget.TextView", text=label, clickable=True)).role == role
        assert infer(one("android.widget.TextView", text=label), inside={"clickable": True}).role == role

    def test_nothing_known(self) -> None:
        node = infer(one("android.view.View", clickable=True))
        assert (node.role, node.role_approximate) == ("unknown", True)


def test_the_names_are_those_of_the_contract() -> None:
    assert len(ROLE_NAMES) == len(set(ROLE_NAMES)) == 26
    assert {"card", "menu", "menuitem"} < set(ROLE_NAMES)
