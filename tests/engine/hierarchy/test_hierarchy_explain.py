"""Why a matcher does not find a node: each slip that deserves words gets them."""

from __future__ import annotations

from collections.abc import Mapping

import pytest

from clawperator.engine.hierarchy.explain import explain, explain_tree, off_screen_reason
from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import Bounds, build, parse

BOX = (0, 0, 10, 10)


def reason(attributes: Mapping[str, object], field: str, wanted: str) -> str:
    tree = build([render_node({**attributes, "bounds": BOX})])
    [result] = explain(tree, tree.nodes[0], Matcher.from_fields({field: wanted})).fields
    assert (result.field, result.wanted) == (field, wanted)
    return ("✓ " if result.ok else "✗ ") + result.reason


@pytest.mark.parametrize(
    ("got", "wanted", "words"),
    [
        ("Wi-Fi", "Wi-Fi", "✓ equal"),
        ("Wi-Fi", "wi-fi", '✗ only letter case differs, at 1: "W" is not "w"'),
        ("Wi\u2011Fi", "Wi-Fi", '✗ looks alike but differs at 3: U+2011 NON-BREAKING HYPHEN is not "-"'),
        ("Wi\u2011Fi", "Wifi", '✗ differs at 3: U+2011 NON-BREAKING HYPHEN is not "f"'),
        ("a\u00a0b", "a b", "✗ looks alike but differs at 2: U+00A0 NO-BREAK SPACE is not U+0020 SPACE"),
        ("\u0421afe", "Cafe", '✗ looks alike but differs at 1: U+0421 CYRILLIC CAPITAL LETTER ES is not "C"'),
        ("O\u200bK", "OK", '✗ looks alike but differs at 2: U+200B ZERO WIDTH SPACE is not "K"'),
        ("Loading…", "Loading...", '✗ looks alike but differs at 8: U+2026 HORIZONTAL ELLIPSIS is not "."'),
        ("It\u2019s", "it's", '✗ looks alike but differs at 1: "I" is not "i"'),
        ("OK ", "OK", "✗ the value on the screen ends with U+0020 SPACE"),
        ("\n OK\u00a0", "OK", "✗ the value on the screen begins with U+000A and ends with U+00A0 NO-BREAK SPACE"),
        ("OK", " OK", "✗ the wanted text begins with U+0020 SPACE"),
        ("\u200eOK", "OK", "✗ the value on the screen begins with U+200E LEFT-TO-RIGHT MARK"),
        ("Fish & Chips", "Fish &amp; Chips", '✗ &amp; was copied raw from the dump: write "&"'),
        ("a\nb", "a&#10;b", "✗ &#10; was copied raw from the dump: write U+000A"),
        ("Save changes", "Save", "✗ the value contains more: use contains"),
        ("abc", "abcd", '✗ differs at 4: the end is not "d"'),
        ('say "x"', "say x", '✗ differs at 5: \'"\' is not "x"'),
        ("", "x", "✗ the node has neither text nor description"),
    ],
)
def test_text_equals(got: str, wanted: str, words: str) -> None:
    assert reason({"text": got}, "textEquals", wanted) == words


@pytest.mark.parametrize(
    ("got", "wanted", "words"),
    [
        ("Wi-Fi settings", "SETTINGS", "✓ contained"),
        (
            "Wi\u2011Fi settings",
            "wi-fi",
            '✗ looks contained but U+2011 NON-BREAKING HYPHEN at 3 on the screen is not "-"',
        ),
        ("Wi-Fi", "i\u2011f", '✗ looks contained but U+2011 NON-BREAKING HYPHEN at 2 in the wanted text is not "-"'),
        ("Fish & Chips", "&amp; chips", '✗ &amp; was copied raw from the dump: write "&"'),
        ("Settings", "settings ", "✗ blanks at the ends of the wanted text are not on the screen"),
        ("Settings", "x", "✗ not contained"),
        ("Settings", " ", "✗ not contained"),
    ],
)
def test_text_contains(got: str, wanted: str, words: str) -> None:
    assert reason({"text": got}, "textContains", wanted) == words


class TestOtherFields:
    def test_the_description_stands_in_for_the_text(self) -> None:
        words = "✓ equal; the node has no text, so its description is compared"
        assert reason({"text": " ", "content-desc": "Back"}, "textEquals", "Back") == words

    def test_a_description_that_is_a_text(self) -> None:
        words = "✗ the node has no description; text is compared by textEquals and textContains"
        assert reason({"text": "Back"}, "contentDescEquals", "x") == words
        assert reason({"text": "Back"}, "contentDescEquals", "Back") == f"{words}; textEquals would match"
        assert reason({"text": "Back"}, "contentDescContains", "bac") == f"{words}; textContains would match"
        assert reason({"content-desc": "Back"}, "contentDescEquals", "back").startswith("✗ only letter case")

    def test_ids(self) -> None:
        full = "com.shop:id/cart"
        assert reason({"resource-id": full}, "resourceId", "cart") == f"✗ short id: write the whole {full}"
        assert reason({"resource-id": full}, "resourceId", "id/cart") == f"✗ short id: write the whole {full}"
        assert reason({"resource-id": full}, "resourceId", "com.shop.dev:id/cart") == (
            "✗ same name in another package: com.shop is not com.shop.dev"
        )
        assert reason({"resource-id": full}, "resourceId", "com.shop:id/Cart").startswith("✗ only letter case")
        assert reason({}, "resourceId", full) == "✗ the node has no resource-id"
        assert reason({"resource-id": full}, "resourceId", full) == "✓ equal"

    def test_roles(self) -> None:
        text = {"class": "android.widget.TextView", "text": "x"}
        assert reason(text, "role", "textfield") == "✗ the role is text ≈ (class TextView)"
        assert reason(text, "role", "TEXT") == "✓ the role is text ≈ (class TextView)"
        for wanted in ("android.widget.TextView", "TextView", "android.widget.Button"):
            assert (
                reason(text, "role", wanted) == "✗ a class is never a role: this node's role is text ≈ (class TextView)"
            )
        assert reason(text, "role", "txt") == "✗ no role has this name: this node's role is text ≈ (class TextView)"
        assert reason({"class": "a.Button"}, "role", "button") == "✓ the role is button (class Button)"


class TestOffScreen:
    TREE = parse(
        '<hierarchy><node bounds="[0,0][100,200]">'
        '<node class="a.Pager" bounds="[100,0][200,9]"><node class="a.Page"><node class="a.Leaf"/></node></node>'
        '<node bounds="[5,5][5,9]"/><node visible-to-user="false" bounds="[0,0][9,9]"/><node bounds="[0,0][9,9]"/>'
        "</node></hierarchy>"
    )

    def test_reasons(self) -> None:
        words = [off_screen_reason(self.TREE, node) for node in self.TREE.nodes]
        outside = "its bounds [100,0][200,9] lie outside the screen 100x200"
        assert words == [
            "",
            outside,
            f"its parent Pager is off the screen: {outside}",
            f"its ancestor Pager is off the screen: {outside}",
            "its bounds [5,5][5,9] are empty",
            "not visible to the user",
            "",
        ]

    def test_other_window(self) -> None:
        window = '<window title="{}" active="{}"><hierarchy><node text="k" bounds="[0,0][9,9]"/></hierarchy></window>'
        tree = parse(f"<displays>{window.format('Keyboard', 'false')}{window.format('App', 'true')}</displays>")
        explanation = explain(tree, tree.nodes[0], Matcher(text_equals="k"))
        assert explanation.off_screen == "in another window (Keyboard), not the active one"
        assert (explanation.failing, explanation.matches) == (0, False)


class TestWholeTree:
    LABELS = ("Bluetooth", "Wi\u2011Fi", "Wi-Fi calling", "", "About phone")
    TREE = build(
        [
            render_node(
                {"bounds": (0, 0, 100, 100)},
                [render_node({"text": label, "class": "android.widget.TextView", "bounds": BOX}) for label in LABELS],
            )
        ]
    )

    def test_the_likeliest_slip_comes_first(self) -> None:
        whole = explain_tree(self.TREE, Matcher(text_equals="Wi-Fi", role="text"))
        assert [miss.node.text for miss in whole.nearest] == ["Wi\u2011Fi", "Wi-Fi calling", "Bluetooth"]
        assert [miss.failing for miss in whole.nearest] == [1, 1, 1]

    def test_counts_and_the_field_that_empties(self) -> None:
        whole = explain_tree(self.TREE, Matcher(text_equals="Wi-Fi", role="text"))
        assert [(count.field, count.alone, count.together) for count in whole.counts] == [
            ("role", 4, 4),
            ("textEquals", 0, 0),
        ]
        assert whole.verdict == "textEquals removes the last 4"
        assert (whole.matches, whole.off_screen_matches) == (0, 0)

    def test_matches_are_no_misses(self) -> None:
        whole = explain_tree(self.TREE, Matcher(text_contains="wi"), nearest=2)
        assert whole.matches == 2
        assert whole.verdict == ""
        assert [miss.node.text for miss in whole.nearest] == ["Bluetooth", "About phone"]

    def test_only_off_screen(self) -> None:
        tree = build(self.TREE.roots, screen=Bounds(0, 50, 100, 100))
        whole = explain_tree(tree, Matcher(text_equals="Bluetooth"))
        assert (whole.matches, whole.off_screen_matches) == (0, 1)
        assert whole.verdict == "all matches are off the screen: 1"
        assert whole.nearest[0].node.text == "Bluetooth"
        assert whole.nearest[0].failing == 0

    def test_nothing_to_explain(self) -> None:
        assert explain_tree(self.TREE, Matcher()).verdict == "the matcher has no field"
        assert explain_tree(parse("<hierarchy/>"), Matcher(role="text")).verdict == "nothing is on the screen"
        assert explain_tree(self.TREE, Matcher(role="text"), nearest=0).nearest == ()
