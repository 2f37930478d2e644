from __future__ import annotations

from collections.abc import Callable

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.tree import UiNode, build, parse
from clawperator.widgets.models.find import FILTERS, FLAGS, parse_find
from tests.app.console.support import hostile_screen, settings_screen, view
from tests.support import table

TREE = parse(settings_screen())


def found(text: str) -> list[str]:
    find = parse_find(text)
    return [TREE.nodes[index].label or TREE.nodes[index].cls for index in find.positions(TREE)]


def test_words_ignore_case_and_all_must_hold() -> None:
    assert found("BLUETOOTH") == ["Bluetooth", "Bluetooth on"]
    assert found("wi‑fi on") == ["Wi‑Fi on"]
    assert found("wi‑fi nowhere") == []


def test_class_and_id_are_searched_as_they_are_drawn() -> None:
    assert found("recyclerview") == ["androidx.recyclerview.widget.RecyclerView"]
    assert found("widget") == ["Wi‑Fi on", "Bluetooth on"], "only #switch_widget, not every android.widget class"


def test_hash_looks_at_ids_only() -> None:
    assert found("#switch") == ["Wi‑Fi on", "Bluetooth on"]
    assert found("#bluetooth") == []


def test_quotes_mean_the_whole_label() -> None:
    assert found('"Wi‑Fi"') == ["Wi‑Fi"]
    assert found('"Wi‑Fi') == ["Wi‑Fi"], "an open quote is read to the end"


def test_flags() -> None:
    assert found("@scroll") == ["androidx.recyclerview.widget.RecyclerView"]
    assert found("@checked blue") == ["Bluetooth on"]


def test_an_unknown_flag_is_named_and_ignored() -> None:
    find = parse_find("@klick wi‑fi")
    assert find.problem.startswith("unknown flag @klick")
    assert found("@klick wi‑fi") == found("wi‑fi")


@table("text", ["", " ", "@", "#", '"', '""'])
def test_nothing_to_look_for_finds_nothing(text: str) -> None:
    assert not parse_find(text)
    assert found(text) == []


def test_a_word_that_begins_a_role_finds_nodes_of_that_role() -> None:
    assert set(found("listi")) == {"android.widget.LinearLayout"}, "rows of the list are list items by inference"
    assert len(found("listi")) == 10
    assert found("li") != found("listi"), "two letters are no role"
    assert set(found("switch")) == {"Wi‑Fi on", "Bluetooth on"}, "class and role, each once"


def test_roles_that_half_of_every_tree_has_must_be_spelled_out() -> None:
    containers = [node.index for node in TREE.nodes if node.role == "container"]
    assert containers
    assert found("contai") == []
    assert len(found("container")) == len(containers)
    assert len(found("role:cont")) == len(containers)


def test_a_role_can_be_asked_for_by_name() -> None:
    assert set(found("role:switch")) == {"Wi‑Fi on", "Bluetooth on"}
    assert found("role:switch blue") == ["Bluetooth on"]
    find = parse_find("role:knob")
    assert find.problem.startswith("unknown role knob. Roles: ")
    assert found("role:knob") == []


def test_the_flags_of_the_filters() -> None:
    tree = parse(hostile_screen())

    def texts(words: str) -> list[str]:
        return [tree.nodes[at].text for at in parse_find(words).positions(tree)]

    assert texts("@input") == ["•••••"]
    assert "below the screen" in texts("@text")
    assert "below the screen" not in texts("@text @visible")
    assert len(texts("@text")) == len([node for node in tree.nodes if node.label])
    assert set(FILTERS) <= set(FLAGS)


def test_letter_case_is_ignored_as_the_device_ignores_it() -> None:
    tree = build(
        [view("TextView", "[0,0][9,9]", text=text) for text in ("İstanbul", "STRASSE", "ΣΊΣΥΦΟΣ", "\u212aelvin")]
    )
    for words, text in (
        ("istan", "İstanbul"),
        ("strasse", "STRASSE"),
        ("σίσυφος", "ΣΊΣΥΦΟΣ"),
        ("kelvin", "\u212aelvin"),
    ):
        assert [tree.nodes[at].text for at in parse_find(words).positions(tree)] == [text]


@pytest.mark.parametrize("words", ["wifi", "wi-fi", "WI-FI", "wi‑fi", "Wi–Fi"])
def test_texts_that_look_alike_are_found_and_counted(words: str) -> None:
    tree = build([view("TextView", "[0,0][9,9]", text=text) for text in ("Wi‑Fi", "Bluetooth")])
    hits, alike = parse_find(words).hits(tree)
    assert [tree.nodes[at].text for at in hits] == ["Wi‑Fi"]
    assert alike == (0 if words == "wi‑fi" else 1)


def test_a_hyphen_alone_and_quoted_texts_are_exact() -> None:
    tree = build([view("TextView", "[0,0][9,9]", text=text) for text in ("a-b", "Wi‑Fi", "plain")])
    assert [tree.nodes[at].text for at in parse_find("-").positions(tree)] == ["a-b"]
    assert parse_find('"Wi-Fi"').positions(tree) == []


PIECES = st.sampled_from(["wi", "@click", "@visible", "@nope", "#title", "role:te", "role:", '"Apps"', "@", "tex", "a"])


@given(st.lists(PIECES, max_size=4))
def test_terms_are_anded_in_any_order(pieces: list[str]) -> None:
    whole = set(parse_find(" ".join(pieces)).positions(TREE))
    finds = [find for find in map(parse_find, pieces) if find]
    expected = set(range(len(TREE.nodes))) if finds else set()
    for find in finds:
        expected &= set(find.positions(TREE))
    assert whole == expected


@table(
    ("text", "expected"),
    [
        ("checked:true", lambda node: node.checked),
        ("checkable:true !checked:yes", lambda node: node.checkable and not node.checked),
        ("clickable:false", lambda node: not node.clickable),
        ("long-clickable:true", lambda node: node.long_clickable),
        ("enabled:no", lambda node: not node.enabled),
        ("package:com.android.settings", lambda node: "com.android.settings" in node.package),
        ("class:recycler|switch", lambda node: "recycler" in node.cls.lower() or "switch" in node.cls.lower()),
        ("resource-id:switch_widget", lambda node: "switch_widget" in node.resource_id),
        ('text:"Wi‑Fi"', lambda node: "wi‑fi" in node.text.lower()),
        ("desc:on", lambda node: "on" in node.content_desc.lower()),
        ("bounds:540,300", lambda node: node.bounds.contains(540, 300)),
        ("bounds:[0,", lambda node: "[0," in str(node.bounds)),
        ("!@click !role:text", lambda node: not node.clickable and node.role not in ("text", "textfield")),
        ("re:/^blue.*th/", lambda node: node.label.lower().startswith("bluetooth")),
    ],
)
def test_attributes_are_searched_by_key(text: str, expected: Callable[[UiNode], bool]) -> None:
    find = parse_find(text)
    assert find.problem == ""
    assert [*find.positions(TREE)] == [node.index for node in TREE.nodes if expected(node)]


def test_an_invalid_state_or_key_is_named() -> None:
    assert parse_find("checked:maybe wi").problem == "checked: is true or false"
    assert found("checked:maybe blue") == found("blue")
    assert parse_find("cheked:true").problem == "no key cheked: – is checked: meant?"
    assert parse_find("Battery:full android:id/title").problem == "", "texts and ids have colons"
    assert parse_find("re:/(/").problem.startswith("no pattern: ")
