"""Why a matcher does not find a node: each slip that deserves words gets them."""

from __future__ import annotations

from collections.abc import Mapping

from clawperator.engine.hierarchy.explain import explain, explain_tree, is_near, off_screen_reason
from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import Bounds, build, parse
from tests.support import table

BOX = (0, 0, 10, 10)


def reason(attributes: Mapping[str, object], field: str, wanted: str) -> str:
    tree = build([render_node({**attributes, "bounds": BOX})])
    tree.nodes[0].attributes.update(
        {name: str(value) for name, value in attributes.items()}
    )  # also those of other tools
    [result] = explain(tree, tree.nodes[0], Matcher.from_fields({field: wanted})).fields
    assert (result.field, result.wanted) == (field, wanted)
    return ("✓ " if result.ok else "✗ ") + result.reason


@table(
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
        ("Battery\n87 %", "battery 87 %", '✗ looks alike but differs at 1: "B" is not "b"'),
        ("Battery\n87 %", "Battery 87 %", "✗ looks alike but differs at 8: U+000A is not U+0020 SPACE"),
        ("\u0663 left", "3 left", '✗ looks alike but differs at 1: U+0663 ARABIC-INDIC DIGIT THREE is not "3"'),
        (
            "\U0001f44d\U0001f3fd Like",
            "\U0001f44d Like",
            "✗ looks alike but differs at 2: U+1F3FD EMOJI MODIFIER FITZPATRICK TYPE-4 is not U+0020 SPACE",
        ),
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


@table(
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
            f"✗ same name in another package, com.shop: write {full}"
        )
        assert reason({"resource-id": full}, "resourceId", "com.shop:id/Cart").startswith("✗ only letter case")
        assert reason({"resource-id": full}, "resourceId", "R.id.Cart") == (
            f"✗ short id: write the whole {full}; letter case differs, too"
        )
        framework = reason({"resource-id": "android:id/title"}, "resourceId", "com.shop:id/title")
        assert framework == "✗ same name in another package, android: write android:id/title"
        for wanted in ("com.shop:id/cart", "@+id/cart", "#cart", ":id/cart", "R.id.cart"):
            words = "✗ the id on the screen has no package: write cart (a test tag, or an id of a web page)"
            assert reason({"resource-id": "cart"}, "resourceId", wanted) == words
        assert reason({}, "resourceId", full) == "✗ the node has no resource-id"
        assert reason({"resource-id": full}, "resourceId", full) == "✓ equal"

    @table(
        ("wanted", "got"),
        [
            ("react-select-2-input", "react-select-5-input"),
            (":r1:", ":ra:"),
            ("com.shop:id/view_2131296437", "com.shop:id/view_2131296999"),
            ("ember42", "ember137"),
            ("row-0c1d2e3f", "row-ab12cd34"),
            ("b1a2c3d4-0001-4a00-80bb-00000000000f", "0f9e8d7c-1234-4fff-9abc-0123456789ab"),
        ],
    )
    def test_generated_ids(self, wanted: str, got: str) -> None:
        words = reason({"resource-id": got}, "resourceId", wanted)
        assert words.startswith("✗ only a number differs, as in generated ids, which change: differs at ")
        tree = build([render_node({"bounds": BOX, "resource-id": other}) for other in ("else", got)])
        whole = explain_tree(tree, Matcher(resource_id=wanted))
        assert whole.nearest[0].node.resource_id == got
        assert is_near(whole.nearest[0])

    @table(
        ("attribute", "what"),
        [("hint", "hint"), ("pane-title", "pane title"), ("tooltip-text", "tooltip"), ("error", "error message")],
    )
    @table("field", ["textEquals", "textContains", "contentDescEquals", "contentDescContains"])
    def test_texts_that_no_selector_compares(self, attribute: str, what: str, field: str) -> None:
        words = (
            f"✗ it is the node's {what}, which no selector compares: use its id a:id/x, its role textfield or its point"
        )
        node = {"class": "android.widget.EditText", "resource-id": "a:id/x", attribute: "E-Mail"}
        assert reason(node, field, "E-Mail") == words
        assert reason(node, field, " e\u2011mail ") == words
        tree = build([render_node({"bounds": BOX, "text": "Mail"}), render_node({**node, "bounds": BOX})])
        # build writes the Operator's attributes only
        tree.nodes[1].attributes[attribute] = "E-Mail"
        (near, *_) = explain_tree(tree, Matcher.from_fields({field: "E-Mail"})).nearest
        assert near.node.resource_id == "a:id/x"
        assert is_near(near)

    def test_a_screen_without_any_id(self) -> None:
        tree = build([render_node({"text": "Play", "bounds": BOX})])
        verdict = explain_tree(tree, Matcher(resource_id="play")).verdict
        assert verdict == (
            "resourceId removes the last 1: no node has an id, as in games, Flutter, and Compose without testTagsAsResourceId"
        )

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
