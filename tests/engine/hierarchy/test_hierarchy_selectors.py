"""Suggestions for one node: which, in which order, with which flags, words and advice."""

from __future__ import annotations

import gc
import weakref

from clawperator.engine.hierarchy import selectors as module
from clawperator.engine.hierarchy.postings import postings_anywhere, postings_of
from clawperator.engine.hierarchy.selectors import Candidate, Selectors, Suggestions, node_at, node_by_path, suggest
from clawperator.engine.hierarchy.serialise import RenderNode, render_node
from clawperator.engine.hierarchy.tree import Bounds, UiNode, UiTree, build

SCREEN = (0, 0, 1000, 2000)


def view(kind: str, *children: RenderNode, **attributes: object) -> RenderNode:
    given: dict[str, object] = {"class": f"android.widget.{kind}", "bounds": SCREEN}
    names = {"id": "resource-id", "desc": "content-desc"}
    given |= {names.get(name, name): f"a:id/{value}" if name == "id" else value for name, value in attributes.items()}
    return render_node(given, children)


def screen(*children: RenderNode, **attributes: object) -> UiTree:
    return build([view("FrameLayout", *children, **attributes)])


def labelled(tree: UiTree, label: str) -> UiNode:
    return next(node for node in tree.nodes if node.label == label)


def fields(candidate: Candidate | None) -> dict[str, str]:
    assert candidate is not None
    return candidate.matcher.fields()


def direct(suggestions: Suggestions) -> list[dict[str, str]]:
    return [fields(candidate) for candidate in suggestions.candidates if candidate.kind == "direct"]


def rows(*titles: str, **attributes: object) -> RenderNode:
    return view(
        "ListView",
        *(view("LinearLayout", view("TextView", text=title, id="title"), clickable=True) for title in titles),
        **attributes,
    )


# -- order


def test_the_most_stable_field_comes_first() -> None:
    tree = screen(view("Button", text="Save", desc="Save the file", id="save"), view("TextView", text="x"))
    suggestions = suggest(tree, tree.nodes[1])
    assert direct(suggestions) == [
        {"resourceId": "a:id/save"},
        {"contentDescEquals": "Save the file"},
        {"textEquals": "Save"},
        {"textContains": "Save"},
        {"contentDescContains": "Save the file"},
        {"role": "button"},
    ]
    assert suggestions.advice == ""
    assert all(candidate.unique for candidate in suggestions.candidates)


def test_the_only_input_without_an_id_is_known_by_its_role() -> None:
    tree = screen(view("EditText", desc="Name"), view("TextView", text="Name"))
    best = suggest(tree, tree.nodes[1]).best
    assert fields(best) == {"role": "textfield"}
    assert best is not None
    assert "only input" in best.why[1]
    named = screen(view("EditText", desc="Name", id="name"), view("TextView", text="Name"))
    assert direct(suggest(named, named.nodes[1]))[:2] == [{"resourceId": "a:id/name"}, {"contentDescEquals": "Name"}]


def test_what_changes_comes_behind_what_stays() -> None:
    tree = screen(view("TextView", text="3 new messages"), view("TextView", text="Other"))
    suggestions = suggest(tree, tree.nodes[1])
    assert direct(suggestions)[:2] == [{"textContains": "new messages"}, {"textEquals": "3 new messages"}]
    volatile = suggestions.candidates[1]
    assert "vol" in volatile.flags
    assert "the value has digits that look like a counter" in volatile.why


def test_an_unsafe_percent_sign_comes_behind_too() -> None:
    tree = screen(view("TextView", text="off by %s"), view("TextView", text="Other"))
    first, second, *_ = suggest(tree, tree.nodes[1]).candidates
    assert (fields(first), first.flags) == ({"textContains": "off by"}, ("loc",))
    assert (fields(second), second.flags) == ({"textEquals": "off by %s"}, ("loc", "%"))


def test_fewer_fields_first_and_no_more_than_needed() -> None:
    tree = screen(
        view("TextView", text="Wi-Fi", id="title"),
        view("TextView", text="Wi-Fi", id="summary"),
        view("TextView", text="Bluetooth", id="title"),
    )
    suggestions = suggest(tree, tree.nodes[1])
    assert direct(suggestions)[:2] == [
        {"resourceId": "a:id/title", "textEquals": "Wi-Fi"},
        {"resourceId": "a:id/title", "textContains": "Wi-Fi"},
    ]
    assert suggestions.candidates[0].why[1].startswith("needs 2 fields together")


def test_as_many_fields_as_it_takes() -> None:
    """Four fields, each pair and triple of which another node has too."""
    full = {"id": "go", "text": "Go", "desc": "Start", "kind": "Button"}
    others = [
        {**full, "id": "x"},
        {**full, "text": "No"},
        {**full, "desc": "Stop"},
        {**full, "kind": "Switch"},
    ]
    tree = screen(*(view(str(one.pop("kind")), **one) for one in ({**full}, *others)))
    best = suggest(tree, tree.nodes[1]).best
    assert best is not None
    assert best.unique
    assert len(fields(best)) == 4
    assert Selectors(tree).best(tree.nodes[1]) == best.matcher


def test_what_was_unique_before_breaks_the_tie() -> None:
    now = screen(
        view("Button", text="Go", desc="Start", id="x"),
        view("Button", text="Go", id="y"),
        view("Button", desc="Start", text="1", id="x"),
    )
    node = now.nodes[1]
    assert direct(suggest(now, node))[:2] == [
        {"resourceId": "a:id/x", "textEquals": "Go"},
        {"contentDescEquals": "Start", "textEquals": "Go"},
    ]
    earlier = screen(view("Button", text="Go", desc="Start", id="z"))
    suggestions = suggest(now, node, [earlier, earlier, now])
    assert direct(suggestions)[:2] == [
        {"contentDescEquals": "Start", "textEquals": "Go"},
        {"resourceId": "a:id/x", "textEquals": "Go"},
    ]
    assert [candidate.seen for candidate in suggestions.candidates[:2]] == [(1, 1, 1), (0, 0, 1)]
    assert [candidate.steady for candidate in suggestions.candidates[:2]] == [3, 1]
    assert suggestions.candidates[0].why[-1] == "3 of the last 3 trees had exactly one"
    assert Selectors(now, [earlier, earlier, now]).best(node) == suggestions.candidates[0].matcher


# -- what is not unique


def test_the_best_two_that_find_others_too() -> None:
    tree = screen(view("Button", text="Add", id="add"), view("Button", text="Add", id="add"))
    first, second = suggest(tree, tree.nodes[1]), suggest(tree, tree.nodes[2])
    assert direct(first) == direct(second) == [{"resourceId": "a:id/add"}, {"textEquals": "Add"}]
    assert [candidate.flags for candidate in first.candidates] == [("1st",), ("loc", "1st")]
    assert [candidate.first for candidate in second.candidates] == [False, False]
    assert (
        "2 nodes share the same id, text and role button; the device takes the first, this one for now" in first.advice
    )
    assert "another one" in second.advice
    assert "unique id or content description" in second.advice
    assert Selectors(tree).best(tree.nodes[1]) is None


def test_a_field_that_tells_nothing_apart_adds_nothing() -> None:
    tree = screen(view("Button", text="A", id="x"), view("Button", text="A", id="x"), view("TextView", text="A"))
    assert direct(suggest(tree, tree.nodes[1])) == [{"resourceId": "a:id/x"}, {"textEquals": "A"}]


def test_nothing_but_a_role() -> None:
    tree = screen(view("ImageView"), view("ImageView"), view("ImageView"))
    suggestions = suggest(tree, tree.nodes[2])
    (only,) = suggestions.candidates
    assert (fields(only), only.matches, only.first) == ({"role": "image"}, 3, False)
    assert suggestions.advice.startswith("No usable id, text or description, and 3 nodes share the role image;")


def test_letter_case_alone_is_flagged() -> None:
    tree = screen(view("TextView", text="Go"), view("TextView", text="GO"), view("TextView", text="Stop"))
    flags = {candidate.matcher.text_equals: candidate.flags for candidate in suggest(tree, tree.nodes[1]).candidates}
    assert "case" in flags["Go"]
    assert "case" not in suggest(tree, tree.nodes[3]).candidates[0].flags
    described = screen(view("TextView", text="Go"), view("TextView", text="Other", desc="GO"), view("TextView"))
    assert all("case" not in candidate.flags for candidate in suggest(described, described.nodes[1]).candidates)


def test_a_guessed_role_is_flagged() -> None:
    tree = screen(view("LinearLayout", view("TextView", text="A")), view("TextView", text="A", clickable=True))
    candidate = next(c for c in suggest(tree, tree.nodes[3]).candidates if c.matcher.role)
    assert fields(candidate)["role"] == "button"
    assert "≈" in candidate.flags


# -- through a label, in a container, off the screen


def test_a_row_is_reached_through_its_label() -> None:
    tree = screen(rows("Wi-Fi", "Bluetooth"))
    row = labelled(tree, "Bluetooth").parent
    assert row is not None
    suggestions = suggest(tree, row)
    best = suggestions.best
    assert best is not None
    assert (best.kind, fields(best), best.found) == (
        "tap-through",
        {"textEquals": "Bluetooth"},
        labelled(tree, "Bluetooth"),
    )
    assert best.unique
    assert suggestions.advice == ""
    assert Selectors(tree).best(row) == best.matcher
    assert [candidate.kind for candidate in suggestions.candidates] == ["tap-through"]


def below(levels: int, label: str) -> RenderNode:
    inner = view("TextView", text=label)
    for _ in range(levels - 1):
        inner = view("FrameLayout", inner)
    return inner


def test_a_tap_does_not_reach_through_another_button_nor_from_far_below() -> None:
    inner = view("Button", view("TextView", text="Inner"), clickable=True, id="b")
    plain = view("LinearLayout", clickable=True)
    tree = screen(view("LinearLayout", inner, below(8, "Deep"), clickable=True), plain)
    assert [candidate.kind for candidate in suggest(tree, tree.nodes[1]).candidates] == ["direct"]
    tree = screen(view("LinearLayout", inner, below(7, "Deep"), clickable=True), plain)
    best = suggest(tree, tree.nodes[1]).best
    assert best is not None
    assert (best.kind, fields(best)) == ("tap-through", {"textEquals": "Deep"})


def test_a_list_that_can_be_singled_out_is_a_container() -> None:
    tree = screen(rows("Wi-Fi", "Bluetooth", scrollable=True, id="list"))
    *_, container = (c for c in suggest(tree, labelled(tree, "Wi-Fi")).candidates if c.kind == "container")
    assert fields(container) == {"textEquals": "Wi-Fi"}
    assert container.container is not None
    assert container.container.fields() == {"resourceId": "a:id/list"}
    assert container.to_dict()["container"] == {"resourceId": "a:id/list"}
    twins = screen(rows("Wi-Fi", scrollable=True, id="list"), rows("Other", scrollable=True, id="list"))
    assert all(c.kind != "container" for c in suggest(twins, labelled(twins, "Wi-Fi")).candidates)


def test_what_is_off_the_screen_is_offered_for_after_a_scroll() -> None:
    below = view(
        "LinearLayout",
        view("TextView", text="Below", bounds=(0, 2100, 1000, 2200)),
        bounds=(0, 2100, 1000, 2200),
        clickable=True,
    )
    tree = screen(view("ListView", view("TextView", text="Above"), below, scrollable=True, id="list"))
    suggestions = suggest(tree, labelled(tree, "Below"))
    best = suggestions.best
    assert best is not None
    assert (fields(best), best.matches, best.unique, best.first) == ({"textEquals": "Below"}, 0, False, False)
    assert "off" in best.flags
    assert best.why[0] == "finds nothing on the screen now: the node itself is off the screen"
    assert "ignores this node" in suggestions.advice
    assert "scroll its container" in suggestions.advice
    assert any(candidate.kind == "container" for candidate in suggestions.candidates)
    row = labelled(tree, "Below").parent
    assert row is not None
    assert suggest(tree, row).candidates[0].kind == "tap-through"
    assert Selectors(tree).best(row) is None


def test_off_the_screen_with_a_twin_on_it() -> None:
    tree = screen(view("TextView", text="A"), view("TextView", text="A", bounds=(0, 2100, 9, 2200)))
    best = suggest(tree, tree.nodes[2]).best
    assert best is not None
    assert (best.matches, best.first, best.unique) == (1, False, False)


# -- values


def test_values_too_long_for_a_matcher_are_cut_to_words() -> None:
    tree = screen(view("TextView", text="lorem ipsum " * 60), view("TextView", text="Other"))
    best = suggest(tree, tree.nodes[1]).best
    assert best is not None
    assert best.unique
    assert list(fields(best)) == ["textContains"]
    assert len(fields(best)["textContains"]) <= 512


def test_reasons_hold_no_text_of_the_device() -> None:
    tree = screen(view("TextView", text="\x1b[31mRed", id="\x1b]0;x\x07"), view("TextView", text="Other"))
    for candidate in suggest(tree, tree.nodes[1]).candidates:
        assert not any("\x1b" in sentence for sentence in candidate.why)


def test_as_json() -> None:
    tree = screen(view("Button", text="Save", id="save"), view("TextView", text="x"))
    assert suggest(tree, tree.nodes[1], [tree]).candidates[0].to_dict() == {
        "selector": {"resourceId": "a:id/save"},
        "kind": "direct",
        "matches": 1,
        "unique": True,
        "first": True,
        "flags": [],
        "seen": [1],
        "why": [
            "finds only this node",
            "an id survives translation and rewording",
            "1 of the last 1 trees had exactly one",
        ],
    }


# -- which node


def test_the_smallest_node_at_a_point() -> None:
    tree = screen(
        view("LinearLayout", view("Button", text="in", bounds=(10, 10, 50, 50)), bounds=(0, 0, 100, 100)),
        view("View", text="twin", bounds=(200, 200, 300, 300)),
        view("View", text="on top", bounds=(200, 200, 300, 300)),
        view("View", text="far", bounds=(0, 2100, 9, 2200)),
    )
    assert node_at(tree, 10, 10) is labelled(tree, "in")
    assert node_at(tree, 50, 50) is tree.nodes[1]
    assert node_at(tree, 250, 250) is labelled(tree, "on top")
    assert node_at(tree, 999, 1999) is tree.nodes[0]
    for x, y in ((-1, 5), (1000, 5), (5, 2000), (5, 2150)):
        assert node_at(tree, x, y) is None
    hidden = screen(view("ListView", view("Button", bounds=(0, 0, 20, 80)), bounds=(0, 0, 90, 50)))
    assert node_at(hidden, 10, 60) is hidden.nodes[0], "what its parent hides of it is not there"
    assert node_at(UiTree([], screen=Bounds(*SCREEN)), 5, 5) is None


def test_a_node_by_its_path() -> None:
    tree = build([view("FrameLayout", rows("A", "B")), view("FrameLayout")])
    assert all(node_by_path(tree, node.path) is node for node in tree.nodes)
    assert node_by_path(tree, "0/0/1/0") is labelled(tree, "B")
    for path in ("", "/", "2", "0/", "/0", "0/9", "-1", "0/-1", "x", "0//0", "٠", "1/0", "9" * 5000, " 0", "0\n"):
        assert node_by_path(tree, path) is None, path


# -- the index


def test_an_index_is_made_once_and_goes_with_its_tree() -> None:
    tree = screen(rows("A"))
    assert postings_of(tree) is postings_of(tree)
    assert postings_anywhere(tree) is postings_of(tree), "all of it is on screen"
    Selectors(tree).suggest(tree.nodes[1])
    gone = weakref.ref(tree)
    del tree
    gc.collect()
    assert gone() is None


def test_only_the_suggestions_are_exported() -> None:
    assert set(module.__all__) == {"Candidate", "Selectors", "Suggestions", "node_at", "node_by_path", "suggest"}
