"""The workbench without a pane: which matcher is current, what it finds, and what there is to know about it."""

from __future__ import annotations

from collections.abc import Sequence

import pytest

from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.serialise import RenderNode, render_node
from clawperator.engine.hierarchy.traits import landing
from clawperator.engine.hierarchy.tree import Bounds, UiNode, UiTree, build
from clawperator.widgets.models import bench as model
from clawperator.widgets.models.bench import Bench, with_field, without


def view(text: str = "", *children: RenderNode, **more: object) -> RenderNode:
    attributes = {name.replace("_", "-"): value for name, value in more.items()}
    return render_node(
        {"class": "android.widget.TextView", "text": text, "bounds": (0, 0, 100, 50), **attributes}, children
    )


def screen(*children: RenderNode) -> UiTree:
    return build([view("", *children, bounds=(0, 0, 100, 100))])


def node(tree: UiTree, label: str) -> UiNode:
    return next(item for item in tree.nodes if item.label == label)


def looking_at(tree: UiTree, label: str, recent: Sequence[UiTree] = ()) -> Bench:
    bench = Bench()
    bench.focus(tree, node(tree, label), recent)
    return bench


SHOP = screen(view("Buy", resource_id="a:id/buy"), view("Sell"), view("Sell more"))
TWICE = Matcher(text_contains="sell")


class TestCurrent:
    def test_without_a_node_there_is_none(self) -> None:
        bench = Bench()
        assert not bench.current
        assert [bench.findings, bench.explanation, bench.landing, bench.candidate] == [None] * 4
        assert [*bench.matches, *bench.notes] == []
        bench.focus(SHOP, None)
        assert not bench.current
        bench.type(TWICE)
        assert len(bench.matches) == 2, "a typed matcher needs no node"

    def test_the_best_candidate_until_another_is_picked(self) -> None:
        bench = looking_at(SHOP, "Buy")
        assert bench.current == bench.candidates[0].matcher == Matcher(resource_id="a:id/buy")
        bench.pick(1)
        assert (bench.origin, bench.current) == ("candidate", bench.candidates[1].matcher)
        assert bench.candidate is bench.candidates[1]
        bench.clear()
        assert bench.current == bench.candidates[0].matcher

    def test_a_pick_belongs_to_its_node(self) -> None:
        bench = looking_at(SHOP, "Buy")
        bench.pick(1)
        bench.focus(SHOP, node(SHOP, "Sell"))
        assert bench.current == bench.candidates[0].matcher
        bench.focus(SHOP, node(SHOP, "Buy"))
        assert bench.current == bench.candidates[0].matcher

    def test_a_pick_outlives_the_next_tree(self) -> None:
        bench = looking_at(SHOP, "Buy")
        bench.pick(1)
        picked = bench.current
        newer = build(SHOP.roots)
        bench.focus(newer, node(newer, "Buy"), [SHOP])
        assert bench.current == picked
        assert bench.candidate is not None
        assert bench.candidate.seen == (1,)

    def test_a_typed_matcher_stays_when_the_cursor_moves(self) -> None:
        bench = looking_at(SHOP, "Buy")
        bench.type(TWICE)
        bench.focus(SHOP, node(SHOP, "Sell"))
        assert (bench.origin, bench.current, bench.candidate) == ("typed", TWICE, None)
        bench.type(Matcher())
        assert (bench.origin, bench.current) == ("candidate", bench.candidates[0].matcher)

    def test_picking_gives_up_what_was_typed(self) -> None:
        bench = looking_at(SHOP, "Buy")
        bench.type(TWICE)
        bench.pick(0)
        assert bench.current == bench.candidates[0].matcher


class TestFindings:
    def test_matches_and_those_off_the_screen(self) -> None:
        tree = screen(view("Sell"), view("Sell", bounds=(0, 200, 9, 209)), view("Sell"))
        bench = looking_at(build(tree.roots, screen=Bounds(0, 0, 100, 100)), "Sell")
        bench.type(TWICE)
        assert bench.findings is not None
        assert [match.index for match in bench.matches] == [1, 3]
        assert bench.findings.off_screen == 1

    def test_a_key_explains_nothing(self, monkeypatch: pytest.MonkeyPatch) -> None:
        """What a key asks for must not cost what only a rested pane needs."""
        bench = looking_at(SHOP, "Buy")

        def too_early(*_: object) -> None:
            raise AssertionError("explained at a key")

        monkeypatch.setattr(model, "explain_tree", too_early)
        monkeypatch.setattr(model, "Selectors", too_early)
        bench.type(TWICE)
        assert (len(bench.matches), bench.findings.off_screen if bench.findings else None) == (2, 0)

    def test_nothing_is_worked_out_twice(self, monkeypatch: pytest.MonkeyPatch) -> None:
        bench = looking_at(SHOP, "Buy")
        first, suggestions = bench.findings, bench.suggestions
        bench.focus(SHOP, node(SHOP, "Buy"))
        assert bench.findings is first
        assert bench.suggestions is suggestions
        bench.focus(SHOP, node(SHOP, "Sell"))
        bench.focus(SHOP, node(SHOP, "Buy"), [SHOP])
        assert bench.suggestions is not suggestions, "other recent trees, other counts"

    def test_counts_of_each_field_alone(self) -> None:
        bench = looking_at(SHOP, "Sell")
        bench.type(Matcher(text_contains="sell", role="text"))
        assert bench.findings is not None
        assert bench.findings.alone == {"role": 3, "textContains": 2}

    @pytest.mark.parametrize(
        ("matcher", "redundant"),
        [
            (Matcher(text_equals="Sell", text_contains="sell"), {"textContains"}),
            (Matcher(text_contains="sell", role="text"), {"role"}),
            (Matcher(text_equals="Buy", resource_id="a:id/buy"), {"textEquals", "resourceId"}),
            (Matcher(text_equals="Buy"), set()),
            (Matcher(text_equals="Buy", role="button"), set()),
        ],
    )
    def test_fields_that_change_nothing(self, matcher: Matcher, redundant: set[str]) -> None:
        bench = looking_at(SHOP, "Sell")
        bench.type(matcher)
        assert bench.findings is not None
        assert bench.findings.redundant == redundant

    def test_the_explanation_is_about_what_the_matcher_is_for(self) -> None:
        row = view("", view("Only label"), clickable=True, **{"class": "android.widget.LinearLayout"})
        tree = screen(row, view("", view("Other"), clickable=True, **{"class": "android.widget.LinearLayout"}))
        bench = Bench()
        bench.focus(tree, tree.nodes[1])
        assert bench.candidate is not None
        assert bench.candidate.kind == "tap-through"
        assert bench.subject is node(tree, "Only label")
        assert bench.explanation is not None
        assert bench.explanation.matches
        bench.type(Matcher(text_equals="Only label"))
        assert bench.subject is tree.nodes[1]


class TestLanding:
    @staticmethod
    def chain(*flags: dict[str, object]) -> UiNode:
        inner = view("target")
        for more in flags:
            inner = view("", inner, **more)
        return build([inner]).nodes[-1]

    def test_itself(self) -> None:
        tree = build([view("target", clickable=True)])
        assert landing(tree.nodes[0]).steps == 0
        assert landing(tree.nodes[0]).on is tree.nodes[0]

    def test_up_to_seven_ancestors(self) -> None:
        far = landing(self.chain(*[{}] * 6, {"clickable": True}))
        assert (far.steps, far.on is not None) == (7, True)
        assert landing(self.chain(*[{}] * 7, {"clickable": True})).on is None

    def test_a_disabled_one_leaves_the_click_to_the_centre(self) -> None:
        goes = landing(self.chain({"clickable": True, "enabled": False}, {"clickable": True}))
        assert goes.on is None
        assert goes.disabled is not None
        assert goes.disabled.depth == 1


class TestNotes:
    @staticmethod
    def words(bench: Bench) -> dict[str, str]:
        return {note.kind: note.words for note in bench.notes}

    def test_the_silent_first_match(self) -> None:
        bench = looking_at(SHOP, "Sell more")
        bench.type(TWICE)
        assert self.words(bench)["first"] == '2 matches; the device takes the first: TextView "Sell"'
        bench.focus(SHOP, node(SHOP, "Sell"))
        assert self.words(bench)["first"] == "2 matches; the device takes the first: this node"

    def test_an_unsafe_percent_sign(self) -> None:
        bench = looking_at(SHOP, "Sell")
        bench.type(Matcher(text_equals="84 %"))
        assert list(self.words(bench)) == ["percent"]

    def test_a_guessed_role(self) -> None:
        bench = looking_at(SHOP, "Buy")
        bench.type(Matcher(role="text", text_equals="Buy"))
        assert "≈" in self.words(bench)["role"]

    def test_off_the_screen(self) -> None:
        tree = build(screen(view("In"), view("Out", bounds=(0, 200, 9, 209))).roots, screen=Bounds(0, 0, 100, 100))
        bench = looking_at(tree, "Out")
        bench.type(Matcher(role="text"))
        words = self.words(bench)
        assert words["off"] == "1 more off screen, ignored by the device"
        assert words["hidden"].startswith("This node cannot be matched: its bounds [0,200][9,209] lie outside")

    def test_where_a_click_goes(self) -> None:
        tree = screen(view("", view("", view("Deep")), clickable=True, **{"class": "a.Row"}))
        bench = looking_at(tree, "Deep")
        assert self.words(bench)["click"] == "A tap reaches Row, 2 up"
        bench = looking_at(SHOP, "Buy")
        assert self.words(bench)["click"] == "No clickable node within 7 ancestors: the centre is tapped, 50,25"
        tree = screen(view("", view("Deep"), clickable=True, enabled=False, **{"class": "a.Row"}))
        assert self.words(looking_at(tree, "Deep"))["click"] == "Row is disabled: the centre is tapped, 50,25"
        tree = screen(view("Press", clickable=True))
        assert "click" not in self.words(looking_at(tree, "Press"))

    def test_words_of_the_device_are_made_safe(self) -> None:
        tree = screen(view("\x1b[31mred", **{"class": "a.\u202eRow"}), view("red", **{"class": "a.\u202eRow"}))
        bench = looking_at(tree, "red")
        bench.type(Matcher(text_contains="red"))
        assert all(word.isprintable() for word in self.words(bench).values())


def test_fields_of_a_matcher_are_set_and_left_out() -> None:
    matcher = Matcher(text_equals="a", role="text")
    assert without(matcher, "role") == Matcher(text_equals="a")
    assert with_field(matcher, "role", "button") == Matcher(text_equals="a", role="button")
    assert with_field(matcher, "resourceId", "") == matcher
