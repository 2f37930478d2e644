from __future__ import annotations

import json
import re
from collections.abc import Iterable, Mapping
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.contracts.references import tree_id
from clawperator.engine.contracts.roles import ROLE_NAMES
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.hierarchy import views
from clawperator.engine.hierarchy.match import Matcher, find_all
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.serialise import RenderNode, hierarchy_xml, node_xml, nodes_xml, render_node
from clawperator.engine.hierarchy.traits import abilities, is_target, kind, landing, states, summary, texts
from clawperator.engine.hierarchy.tree import parse
from clawperator.engine.hierarchy.views import MIN_BYTES, VIEWS, Budget, json_size, view
from tests.support import table
from tests.view_lines import lines_of, nodes_of

DATA = Path(__file__).parents[2] / "data" / "hierarchies"
DUMPS = sorted(DATA.glob("*.xml"))
PACKAGE = "com.example"


def size(value: Any) -> int:
    return len(json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass"))


def at_most(count: int) -> Budget:
    return Budget(count, size)


def node(cls: str, *children: RenderNode, **attributes: object) -> RenderNode:
    """``long_clickable=True`` is ``long-clickable``; every node has bounds unless it says otherwise."""
    named = {name.replace("_", "-"): value for name, value in attributes.items()}
    own = {"class": f"android.widget.{cls}", "package": PACKAGE, "bounds": (0, 0, 100, 200)}
    return render_node({**own, **named}, children)


def screen(*children: RenderNode) -> tuple[UiTree, str]:
    xml = hierarchy_xml(node("FrameLayout", *children))
    return parse(xml), xml


def lines(*children: RenderNode) -> list[str]:
    """The outline, whose root says nothing and is left out."""
    tree, xml = screen(*children)
    return lines_of(view(tree, "compact", xml))


def nodes(*children: RenderNode) -> list[dict[str, Any]]:
    tree, xml = screen(*children)
    return nodes_of(view(tree, "interactive", xml))


SAVE = node("Button", text="Save", resource_id=f"{PACKAGE}:id/save", clickable=True, bounds=(10, 20, 30, 40))


class TestInteractive:
    def test_a_node_says_what_it_is_and_how_to_address_it(self) -> None:
        tree, xml = screen(SAVE)
        assert view(tree, "interactive", xml)["lines"] == "button e1 id=save @20,30: Save"

    def test_only_what_can_be_acted_on_or_read_is_reported(self) -> None:
        kept = [
            node("View", clickable=True),
            node("View", long_clickable=True),
            node("View", scrollable=True),
            node("View", checkable=True),
            node("EditText"),
            node("TextView", text="words"),
            node("ImageView", content_desc="a picture"),
        ]
        dropped = [
            node("View"),
            node("View", resource_id="a:id/b"),
            node("View", focusable=True),
            node("View", text=" "),
        ]
        found = nodes(*kept, *dropped)
        assert [entry["ref"] for entry in found] == [f"e{n + 1}" for n in range(len(kept))]
        assert [entry["can"] for entry in found] == [
            {"click"}, {"longClick"}, {"scroll"}, {"check"}, {"edit"}, set(), set(),
        ]  # fmt: skip

    def test_what_is_off_the_screen_is_left_out(self) -> None:
        assert (
            nodes(
                node("Button", text="far", bounds=(500, 0, 600, 10)), node("Button", text="flat", bounds=(5, 5, 5, 9))
            )
            == []
        )

    def test_the_state_is_reported_and_not_implied(self) -> None:
        box = node("CheckBox", checkable=True, checked=True, enabled=False, selected=True, focused=True, password=True)
        assert lines(box, node("CheckBox", checkable=True, clickable=True)) == [
            "checkbox e1 @50,100 no-click checked selected focused disabled password",
            "checkbox e2 @50,100 unchecked",
        ]

    def test_a_hint_is_no_text(self) -> None:
        fields = "".join(
            f'<node class="android.widget.EditText" hint="Search" text="{text}" bounds="[0,0][9,9]" />'
            for text in ("Search", "shoes")
        )
        xml = f"<hierarchy>{fields}</hierarchy>"
        assert lines_of(view(parse(xml), "compact", xml)) == [
            "textfield e0 @4,4 no-click hint: Search",
            "textfield e1 @4,4 no-click: shoes (hint: Search)",
        ]

    def test_a_label_in_a_row_is_no_button(self) -> None:
        row = node("LinearLayout", node("TextView", text="Wi-Fi"), clickable=True)
        assert [entry["role"] for entry in nodes(row)] == ["container", "label"]
        assert lines(row) == ["container e1 @50,100", " : Wi-Fi"]

    def test_a_switch_without_text_has_the_selector_of_its_row(self) -> None:
        rows = [
            node(
                "LinearLayout",
                node("TextView", text=title, resource_id="android:id/title"),
                node("Switch", checkable=True, resource_id="android:id/switch_widget"),
                clickable=True,
            )
            for title in ("Wi-Fi", "Bluetooth")
        ]
        tree, xml = screen(*rows)
        found = [entry for entry in nodes_of(view(tree, "interactive", xml)) if entry["role"] == "switch"]
        assert [(entry["selector"], entry["click"]) for entry in found] == [
            ({"textEquals": "Wi-Fi"}, True),
            ({"textEquals": "Bluetooth"}, True),
        ]
        for entry in found:
            best = Selectors(tree).suggest(tree.nodes[int(entry["ref"][1:])]).candidates[0]
            assert (best.matcher.fields(), best.kind, best.unique) == (entry["selector"], "row", True)
            assert best.why[0] == "finds only the row of this node, or a label in it: a tap on it toggles the node"

    @pytest.mark.parametrize(("owner", "click"), [("android", True), ("com.example", None)])
    def test_the_only_switch_has_its_row_too_unless_its_id_is_the_app_s(self, owner: str, click: bool | None) -> None:
        switch = node("Switch", checkable=True, resource_id=f"{owner}:id/toggle")
        found = nodes(node("LinearLayout", node("TextView", text="Wi-Fi"), switch, clickable=True))
        assert [entry.get("click") for entry in found if entry["role"] == "switch"] == [click]

    def test_two_switches_in_a_row_are_not_toggled_by_it(self) -> None:
        switch = node("Switch", checkable=True)
        found = nodes(node("LinearLayout", node("TextView", text="Wi-Fi"), switch, switch, clickable=True))
        assert [entry["selector"] for entry in found if entry["role"] == "switch"] == [None, None]

    def test_the_description_stands_where_it_says_more(self) -> None:
        both = node("TextView", text="7", content_desc="seven new messages", resource_id="a:id/badge")
        other = node("TextView", text="8", resource_id="a:id/badge")
        found = lines(both, other, node("TextView", text="x", content_desc="x"))
        assert found == ["id=badge: 7 (desc: seven new messages)", "id=badge: 8", ": x"]

    def test_a_row_is_reached_through_its_label(self) -> None:
        row = [node("LinearLayout", node("TextView", text=title), clickable=True) for title in ("Wi-Fi", "Bluetooth")]
        found = nodes(*row)
        assert (found[0]["selector"], found[0]["by"]) == ({"textEquals": "Wi-Fi"}, "e2")
        assert "click" not in found[1]

    def test_where_nothing_addresses_a_node_its_reference_does(self) -> None:
        twins = [node("Button", resource_id="a:id/twin", clickable=True)] * 3
        assert [(entry["selector"], entry["by"]) for entry in nodes(*twins)] == [(None, "ref")] * 3

    def test_a_selector_that_is_long_is_not_written(self) -> None:
        text = "some words that are rather long, and more of them, to end with the number of today: 73"
        (short, long) = nodes(node("TextView", text="item 73"), node("TextView", text=text))
        assert (short["by"], long["by"]) == ('{"textContains":"item"}', "ref")

    def test_a_role_that_was_inferred_is_marked(self) -> None:
        (guessed, known) = nodes(node("RecyclerView", scrollable=True), node("EditText"))
        assert (guessed["selector"], guessed["by"]) == ({"role": "list"}, "~role")
        assert (known["selector"], known["by"]) == ({"role": "textfield"}, "role")

    def test_a_node_without_bounds_has_no_place(self) -> None:
        tree = parse('<hierarchy><node bounds="[0,0][9,9]"><node text="a"/></node></hierarchy>')
        assert view(tree, "interactive", "")["lines"] == "e1: a"

    def test_the_place_is_where_the_parents_and_the_screen_leave_the_node_visible(self) -> None:
        """Flutter, Compose and web pages report rectangles that are not clipped: a tap at their centre reaches something else."""
        rows = [
            node("Button", text=str(n), clickable=True, bounds=(0, 100 * n, 100, 100 * n + 90)) for n in range(-1, 3)
        ]
        shown = nodes(node("ListView", *rows, bounds=(0, 60, 100, 120), scrollable=True))
        assert [(entry.get("text"), entry.get("at")) for entry in shown] == [
            (None, [50, 90]), ("0", [50, 75]), ("1", [50, 110]),
        ]  # fmt: skip
        away = node(
            "LinearLayout",
            node("Button", text="away", clickable=True, bounds=(0, 150, 100, 190)),
            bounds=(0, 0, 100, 20),
        )
        (entry,) = nodes(away)
        assert (entry["ref"], "at" in entry) == ("e2", False), "it is in the tree that matchers see, but not visible"
        assert lines(away) == ["button e2 click: away"]

    @table("path", DUMPS, ids=lambda path: path.stem)
    def test_every_place_is_in_the_node_its_parents_and_the_screen(self, path: Path) -> None:
        tree = parse(path.read_bytes())
        for entry in nodes_of(view(tree, "interactive", "")):
            target = tree.nodes[int(entry["ref"][1:])]
            above = (tree.screen, *(each.bounds for each in (target, *target.ancestors) if not each.bounds.empty))
            assert "at" not in entry or all(box.contains(*entry["at"]) for box in above)

    @table("path", DUMPS, ids=lambda path: path.stem)
    def test_every_selector_finds_its_node_first_or_a_label_inside(self, path: Path) -> None:
        check_selectors(parse(path.read_bytes()))


def check_selectors(tree: UiTree) -> None:
    """Each selector finds its node, or what a click on reaches it, and each line says what its node says."""
    for entry in nodes_of(view(tree, "interactive", "")):
        target = tree.nodes[int(entry["ref"][1:])]
        check_line(entry, target, tree)
        if entry["selector"] is None:
            continue
        (found,) = find_all(tree, Matcher.from_fields(entry["selector"]))
        if entry.get("click"):
            assert landing(found).on in (target, landing(target).on) or not target.enabled
        else:
            assert found is target


def check_line(entry: Mapping[str, Any], target: UiNode, tree: UiTree) -> None:
    """A line that was read by its grammar says exactly what its node says, and nothing else."""
    role, can = kind(target), {*abilities(target)}
    assert entry["role"] == (
        role if role in {*ROLE_NAMES, "label"} or re.fullmatch(r"[A-Z]\w*|node", role, re.ASCII) else f".{role}"
    )
    assert entry.get("id", "") == target.resource_id
    assert entry.get("at") == ([*point] if (point := tree.point_of(target)) and can else None)
    assert entry["can"] == (can - {"longClick"} if point and {"click", "edit"} <= can else can)
    words = {"checked", "selected", "focused", "enabled", "password", "sensitive"}
    assert {name: value for name, value in entry.items() if name in words} == states(target)
    assert {name: value for name, value in entry.items() if name in ("text", "hint", "desc")} == texts(target)


class TestCompact:
    def test_a_line_says_role_reference_id_place_abilities_and_text(self) -> None:
        assert lines(SAVE) == ["button e1 id=save @20,30: Save"]

    def test_containers_that_say_nothing_fold_away(self) -> None:
        picture = node("ImageView", resource_id=f"{PACKAGE}:id/thumbnail")
        tree, xml = screen(node("View"), node("LinearLayout", picture, node("FrameLayout", SAVE)))
        outline = view(tree, "compact", xml)
        assert outline["lines"] == "button e5 id=save @20,30: Save"
        assert outline["folded"] == 5

    def test_a_container_of_one_line_folds_away_and_one_of_several_stays(self) -> None:
        box = {"resource_id": f"{PACKAGE}:id/box"}
        assert lines(node("LinearLayout", node("LinearLayout", SAVE, **box), **box)) == [
            "button e3 id=save @20,30: Save"
        ]
        label = node("TextView", text="x")
        assert lines(node("LinearLayout", label, label, **box)) == ["id=box", " : x", " : x"]
        assert lines(node("LinearLayout", **box)) == ["id=box"], "what holds nothing may be a sign"
        assert lines(node("LinearLayout", label, selected=True, **box)) == [
            "id=box selected",
            " : x",
        ]

    def test_a_container_that_says_something_stays(self) -> None:
        assert lines(node("LinearLayout", SAVE, scrollable=True)) == [
            "container e1 @50,100 scroll",
            " button e2 id=save @20,30: Save",
        ]

    def test_an_off_screen_sibling_keeps_nothing_open(self) -> None:
        away = node("TextView", text="away", bounds=(0, 900, 10, 910))
        assert lines(node("LinearLayout", SAVE, away)) == ["button e2 id=save @20,30: Save"]

    def test_text_cannot_pretend_to_be_another_node(self) -> None:
        evil = node("TextView", text="a\nbutton e9 @1,1: OK\\", resource_id="x click: y", content_desc="d\re")
        assert lines(evil) == [r"id=x\x20click:\x20y: a\nbutton e9 @1,1: OK\\ (desc: d\re)"]
        assert lines(node("TextView", text="a (desc: b)\u202e\u2028", resource_id="x:")) == [
            r"id=x\x3a: a \x28desc: b)\u202e\u2028"
        ]
        named = render_node({"class": "a.e9 @1,1", "bounds": (0, 0, 9, 9), "resource-id": "b"})
        assert lines(named) == [r".e9\x20@1,1 id=b"]

    def test_an_id_is_short_where_it_is_unambiguous(self) -> None:
        ids = [f"{PACKAGE}:id/a", f"{PACKAGE}:id/b", "a", "tag", "com.other:id/b"]
        tree, xml = screen(*(node("View", resource_id=name) for name in ids))
        outline = view(tree, "compact", xml)
        assert "ids" not in outline
        assert lines_of(outline) == [
            "View id=com.example:id/a", "View id=b", "View id=a", "View id=tag", "View id=com.other:id/b",
        ]  # fmt: skip
        tree, xml = screen(*(node("View", resource_id=f"com.other:id/{name}") for name in "ab"))
        assert (view(tree, "compact", xml)["ids"], view(tree, "compact", xml)["lines"]) == (
            "com.other",
            "View id=a\nView id=b",
        )

    def test_the_depth_of_a_deep_tree_costs_no_recursion(self) -> None:
        deep = SAVE
        for _ in range(3000):
            deep = node("LinearLayout", deep)
        assert lines(deep) == ["button e3001 id=save @20,30: Save"]

    def test_the_bytes_of_the_corpus(self, corpus: Path) -> None:
        """The outline of 2026-11-27 had whole ids, a list of lines, every role and action, and containers of one line."""
        before = json.loads((Path(__file__).parent / "view_sizes.json").read_text())
        compact, interactive = {}, {}
        for name in before:
            xml = (corpus / "hierarchies" / name).read_bytes().decode(errors="surrogateescape")
            tree = parse(xml, recover=True)
            compact[name] = json_size(view(tree, "compact", xml))
            interactive[name] = json_size(view(tree, "interactive", xml))
        for share in (0.5, 0.9):
            assert quantile(compact.values(), share) <= 0.75 * quantile(before.values(), share)
        assert quantile((compact[name] / before[name] for name in before), 0.5) <= 0.75
        assert max(interactive[name] / compact[name] for name in before) <= 1.5


def quantile(values: Iterable[float], share: float) -> float:
    ordered = sorted(values)
    return ordered[int(len(ordered) * share)]


EVIL = [
    "\n",
    "\r\n",
    "\u2028",
    "\x85",
    "\u202e",
    "\\",
    "\\n",
    ": ",
    " (desc: ",
    " (hint: x)",
    "by ref",
    "e1 @1,1",
    '"',
    "'",
    "{",
    "id=a",
    " ",
]
EVIL_TEXTS = st.lists(st.sampled_from(EVIL) | st.text(st.characters(exclude_categories=["Cs"]), max_size=4), max_size=5).map(
    lambda parts: "".join(character for character in "".join(parts) if character in "\n\r\t" or (character >= " " and character not in "\ufffe\uffff"))
)  # fmt: skip
EVIL_LEAVES = st.builds(
    lambda text, desc, hint, name, cls, click, scroll, check: render_node(
        {
            "class": cls, "text": text, "content-desc": desc, "hint": hint, "resource-id": name, "package": PACKAGE,
            "bounds": (0, 0, 50, 50), "clickable": click, "scrollable": scroll, "checkable": check,
        }
    ),
    EVIL_TEXTS, EVIL_TEXTS, EVIL_TEXTS, EVIL_TEXTS | st.sampled_from(["", "a", f"{PACKAGE}:id/a", f"{PACKAGE}:id/b:c"]),
    EVIL_TEXTS | st.sampled_from(["android.widget.TextView", "android.widget.EditText", "x.label", "x.e7"]),
    st.booleans(), st.booleans(), st.booleans(),
)  # fmt: skip


@given(st.lists(EVIL_LEAVES, min_size=1, max_size=6))
def test_nothing_that_a_device_says_forges_a_line_or_a_part_of_one(leaves: list[RenderNode]) -> None:
    tree = parse(nodes_xml([node("FrameLayout", *leaves)]), recover=True)
    for name in ("interactive", "compact"):
        shown = view(tree, name, "")
        text = shown["lines"]
        assert text.split("\n") == text.splitlines() or not text
        assert not re.search("[\u202a-\u202e\u2066-\u2069]", text)
        entries = {entry["ref"]: entry for entry in nodes_of(shown) if "ref" in entry}
        wanted = [each for each in tree.on_screen if (is_target(each) if name == "interactive" else abilities(each))]
        assert [*entries] == [f"e{each.index}" for each in wanted]
        for each in wanted:
            check_line(whole_id(entries[f"e{each.index}"], tree), each, tree)


def whole_id(entry: dict[str, Any], tree: UiTree) -> dict[str, Any]:
    """The id of the tree that a short one means: that word itself where the tree has it."""
    if not entry["short"]:
        return entry
    short = entry["id"].partition(":id/")[2]
    ids = {each.resource_id for each in tree.nodes}
    assert {short, entry["id"]} & ids
    return {**entry, "id": short if short in ids else entry["id"]}


def test_the_whole_dump_is_given_as_it_came() -> None:
    tree, xml = screen(SAVE)
    facts = {"view": "full", "tree": tree_id(xml), "package": PACKAGE, "screen": [100, 200]}
    assert view(tree, "full", xml) == {**facts, "text": xml}


def test_a_damaged_tree_says_so_in_every_view() -> None:
    xml = '<hierarchy><node bounds="[0,0][9,9]" text="a"><node text="b" />'
    for name in VIEWS:
        assert view(parse(xml, recover=True), name, xml)["recovered"].startswith("incomplete: 2 nodes")


def test_an_empty_tree_has_empty_views() -> None:
    xml = '<hierarchy rotation="0" />'
    found = [view(parse(xml), name, xml, at_most(MIN_BYTES)) for name in VIEWS]
    assert [next(reversed(answer.values())) for answer in found] == [xml, "", ""]


class TestBudget:
    @table("path", DUMPS, ids=lambda path: path.stem)
    @table("name", VIEWS)
    @table("limit", [600, 2_000, 10_000])
    def test_real_dumps(self, path: Path, name: str, limit: int) -> None:
        xml = path.read_text(encoding="utf-8")
        check_budget(parse(xml), name, xml, limit)

    def test_every_dump_of_the_corpus(self, corpus: Path) -> None:
        for path in sorted((corpus / "hierarchies").glob("*.xml"))[::5]:
            try:
                tree = parse(path.read_bytes(), recover=True)
            except EngineError:
                continue
            for name in VIEWS:
                check_budget(tree, name, path.read_bytes().decode(errors="replace"), 3_000)
            check_selectors(tree)

    @given(st.data())
    def test_any_tree_and_any_budget(self, data: st.DataObject) -> None:
        tree, xml = data.draw(TREES)
        name = data.draw(st.sampled_from(VIEWS))
        check_budget(tree, name, xml, data.draw(st.integers(MIN_BYTES, 4_000)))

    def test_the_record_is_exact(self) -> None:
        tree, xml = screen(*[SAVE] * 40)
        whole = view(tree, "compact", xml)
        cut = view(tree, "compact", xml, at_most(700))
        record = cut["truncated"]
        assert record == {
            "shown": len(lines_of(cut)),
            "total": 40,
            "maxBytes": 700,
            "bytes": size(whole),
            "hint": f"The end is missing. Use --max-bytes {size(whole)} for everything.",
        }
        assert lines_of(cut) == lines_of(whole)[: record["shown"]]
        assert view(tree, "compact", xml, at_most(record["bytes"])) == whole
        assert "truncated" in view(tree, "compact", xml, at_most(record["bytes"] - 1))

    def test_a_cut_dump_is_a_dump(self) -> None:
        tree, xml = screen(node("LinearLayout", SAVE, SAVE), *[SAVE] * 40)
        cut = view(tree, "full", xml, at_most(4_000))
        again = parse(cut["text"])
        assert again.recovered == ""
        assert len(again.nodes) == cut["truncated"]["shown"] > 5
        assert cut["truncated"]["total"] == len(tree.nodes)
        assert [n.attributes for n in again.nodes] == [n.attributes for n in tree.nodes[: len(again.nodes)]]
        assert [n.path for n in again.nodes] == [n.path for n in tree.nodes[: len(again.nodes)]]

    def test_too_small_a_budget_is_refused_with_one_that_works(self) -> None:
        xml = hierarchy_xml(render_node({"package": "p" * 5_000, "bounds": (0, 0, 9, 9)}, [SAVE] * 50))
        tree = parse(xml.replace("</hierarchy>", "") + "x" * 50, recover=True)
        with pytest.raises(EngineError) as refused:
            view(tree, "full", xml, at_most(MIN_BYTES))
        assert refused.value.code is ErrorCode.EXECUTION_VALIDATION_FAILED
        assert "--max-bytes 512" in refused.value.message
        least = refused.value.details["least"]
        assert 512 < least < refused.value.details["bytes"] == size(view(tree, "full", xml))
        assert view(tree, "full", xml, at_most(least + 1))["truncated"]["shown"] == 0

    def test_the_least_budget_is_enough_for_what_real_apps_say(self) -> None:
        tree, xml = screen(*[node("TextView", text="x" * 600)] * 9)
        for name in VIEWS:
            assert view(tree, name, xml, at_most(MIN_BYTES))["truncated"]["shown"] < 10


def check_budget(tree: UiTree, name: str, xml: str, limit: int) -> None:
    """Never beyond the bound, never silently less, and as much as fits."""
    whole = view(tree, name, xml)
    key = next(reversed(whole))
    cut: dict[str, Any] | None = None
    details: dict[str, Any] = {}
    try:
        cut = view(tree, name, xml, at_most(limit))
    except EngineError as error:
        details = error.details
    if cut is None:
        assert details["bytes"] == size(whole) > details["least"] > limit
        return
    assert size(cut) <= limit
    if size(whole) <= limit:
        assert cut == whole
        return
    record = cut.get("truncated")
    if record is None:
        assert name == "full", "only a dump can be written in fewer bytes"
        assert len(parse(cut["text"]).nodes) == len(tree.nodes)
        return
    assert (record["maxBytes"], record["bytes"]) == (limit, size(whole))
    if name == "full":
        assert len(parse(cut["text"]).nodes) == record["shown"]
        return
    shown, every = record["shown"], lines_of(whole)
    assert lines_of(cut) == every[:shown]
    assert record["total"] == len(every)
    more = {**cut, "truncated": {**record, "shown": shown + 1}, key: "\n".join(every[: shown + 1])}
    assert size(more) > limit or shown + 1 == record["total"]


TEXTS = st.text(st.characters(codec="utf-8", exclude_categories=["Cs"]), max_size=12).map(
    lambda text: "".join(character for character in text if character >= " " and character not in "\x7f\ufffe\uffff")
)
LEAVES = st.builds(
    lambda text, desc, name, click, cls: node(cls, text=text, content_desc=desc, resource_id=name, clickable=click),
    TEXTS, TEXTS, st.sampled_from(["", "a:id/x", "a:id/y", "tag"]), st.booleans(), st.sampled_from(["View", "Button"]),
)  # fmt: skip
FORESTS = st.recursive(
    LEAVES, lambda inner: st.builds(lambda a, b: a._replace(children=tuple(b)), LEAVES, st.lists(inner, max_size=4)),
    max_leaves=25,
)  # fmt: skip
TREES = st.lists(FORESTS, min_size=1, max_size=3).map(nodes_xml).map(lambda xml: (parse(xml), xml))


class TestClicks:
    """Where a click on a match lands (wire.md#actions-and-how-they-fail)."""

    def tree(self, *, above: int, enabled: bool = True) -> UiNode:
        inner = node("TextView", text="deep")
        for _ in range(above - 1):
            inner = node("LinearLayout", inner)
        tree, _ = screen(node("LinearLayout", inner, clickable=True, enabled=enabled))
        return tree.nodes[-1]

    def test_on_the_node_itself(self) -> None:
        save = parse(hierarchy_xml(SAVE)).nodes[0]
        assert landing(save).on is save
        assert "clickTarget" not in summary(save)
        assert "clickPoint" not in summary(save)

    @pytest.mark.parametrize("above", [1, 7])
    def test_on_an_ancestor(self, above: int) -> None:
        assert summary(self.tree(above=above))["clickTarget"] == "0/0"

    @pytest.mark.parametrize("leaf", [{"above": 8}, {"above": 2, "enabled": False}])
    def test_on_the_point(self, leaf: dict[str, Any]) -> None:
        reported = summary(self.tree(**leaf))
        assert reported["clickPoint"] == [50, 100]
        assert "clickTarget" not in reported

    def test_a_summary_holds_what_a_matcher_compares(self) -> None:
        reported = summary(parse(node_xml(SAVE._replace(attributes={**SAVE.attributes, "checked": True}))).nodes[0])
        assert reported == {
            "path": "0",
            "class": "android.widget.Button",
            "role": "button",
            "resourceId": "com.example:id/save",
            "text": "Save",
            "bounds": [10, 20, 30, 40],
            "clickable": True,
            "checked": True,
        }


def test_paths_are_those_of_the_nodes() -> None:
    tree = parse((DATA / "simple-calendar-month.xml").read_bytes())
    positions = views._positions(tree)
    assert [views._path(node, positions) for node in tree.nodes] == [node.path for node in tree.nodes]
