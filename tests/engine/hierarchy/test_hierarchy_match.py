"""The device's matching rules on trees small enough to see through (wire.md#tree-used-for-matching and wire.md#matcher)."""

from __future__ import annotations

import pytest

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.match import FIELDS, Matcher, find_all, find_first, matches
from clawperator.engine.hierarchy.serialise import render_node
from clawperator.engine.hierarchy.tree import UiTree, build
from tests.support import table

BOX = (0, 0, 10, 10)


def screen(*nodes: dict[str, object]) -> UiTree:
    return build([render_node({"bounds": (0, 0, 100, 100)}, [render_node({"bounds": BOX} | node) for node in nodes])])


def found(tree: UiTree, **fields: str) -> list[int]:
    return [node.index for node in find_all(tree, Matcher.from_fields(fields))]


class TestFields:
    TREE = screen(
        {"text": "Wi-Fi", "content-desc": "Wireless", "resource-id": "a:id/title", "class": "android.widget.Button"},
        {"text": "", "content-desc": "Wi-Fi", "resource-id": "a:id/Title"},
        {"text": "  ", "content-desc": "WI-FI settings", "class": "android.widget.Button"},
    )

    @table(
        ("fields", "indexes"),
        [
            ({"textEquals": "Wi-Fi"}, [1, 2]),
            ({"textEquals": "wi-fi"}, []),
            ({"textContains": "wi-fi"}, [1, 2, 3]),
            ({"textContains": "SETTINGS"}, [3]),
            ({"contentDescEquals": "Wi-Fi"}, [2]),
            ({"contentDescContains": "wi"}, [1, 2, 3]),
            ({"contentDescContains": "ss"}, [1]),
            ({"resourceId": "a:id/title"}, [1]),
            ({"resourceId": "title"}, []),
            ({"role": "BUTTON"}, [1, 3]),
            ({"role": "android.widget.Button"}, []),
            ({"textEquals": "Wi-Fi", "resourceId": "a:id/Title"}, [2]),
            ({"textEquals": "Wi-Fi", "role": "button"}, [1]),
            ({"textContains": "wi", "contentDescContains": "wireless", "role": "button"}, [1]),
            ({"textEquals": "Wi-Fi", "contentDescEquals": "other"}, []),
        ],
    )
    def test_all_given_fields_must_hold(self, fields: dict[str, str], indexes: list[int]) -> None:
        assert found(self.TREE, **fields) == indexes

    def test_first_in_document_order(self) -> None:
        first = find_first(self.TREE, Matcher(text_equals="Wi-Fi"))
        assert first is self.TREE.nodes[1]
        assert find_first(self.TREE, Matcher(text_equals="none")) is None


def test_off_screen_nodes_are_asked_for_explicitly() -> None:
    tree = screen({"text": "a", "bounds": (0, 0, 0, 0)}, {"text": "a"})
    matcher = Matcher(text_equals="a")
    assert [node.index for node in find_all(tree, matcher)] == [2]
    assert [node.index for node in find_all(tree, matcher, on_screen_only=False)] == [1, 2]
    assert matches(tree.nodes[1], matcher)


class TestMatcher:
    def test_fields_round_trip_in_the_contracts_order(self) -> None:
        fields = dict(zip(FIELDS, "abcdef", strict=True))
        assert Matcher.from_fields(dict(reversed(fields.items()))).fields() == fields
        assert list(Matcher.from_fields(fields).fields()) == list(FIELDS)

    def test_empty_fields_are_not_given(self) -> None:
        matcher = Matcher.from_fields({"textEquals": "a", "resourceId": ""})
        assert matcher == Matcher(text_equals="a")
        assert matcher

    def test_no_field_matches_nothing(self) -> None:
        tree = screen({"text": "a"})
        assert not Matcher()
        assert find_first(tree, Matcher()) is None
        assert not matches(tree.nodes[1], Matcher())

    def test_unknown_fields_are_named(self) -> None:
        with pytest.raises(ValueError, match="resourceID"):
            Matcher.from_fields({"resourceID": "a"})


class TestFolding:
    @pytest.mark.parametrize(
        ("one", "other"),
        [
            ("WLAN", "wlan"), ("ÄÖÜ", "äöü"), ("ΣΑΣ", "σας"), ("İ", "i"), ("\N{LATIN SMALL LETTER DOTLESS I}", "I"), ("\u212a", "k"), ("\N{LATIN SMALL LETTER LONG S}", "S"),
            ("ẞ", "ß"), ("ǅ", "ǆ"), ("ᾳ", "ᾼ"), ("Привет", "ПРИВЕТ"), ("\N{CHEROKEE SMALL LETTER A}", "\N{CHEROKEE LETTER A}"), ("µ", "μ"),
        ],
    )  # fmt: skip
    def test_equal_but_for_case(self, one: str, other: str) -> None:
        assert fold(one) == fold(other)
        assert len(fold(one)) == len(one)

    @pytest.mark.parametrize(
        ("one", "other"), [("ß", "ss"), ("ﬁ", "fi"), ("e\u0301", "é"), ("𐐀", "𐐨"), ("ŉ", "\u02bcn")]
    )
    def test_different_to_the_device(self, one: str, other: str) -> None:
        assert fold(one) != fold(other)

    def test_every_character_stays_one(self) -> None:
        everything = "".join(chr(code) for code in range(0x20000) if not 0xD800 <= code < 0xE000)
        folded = fold(everything)
        assert len(folded) == len(everything)
        assert fold(folded) == folded
