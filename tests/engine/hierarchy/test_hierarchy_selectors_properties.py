"""What holds for the suggestions on any tree: they count like the matcher, are minimal, and stand in one total order."""

from __future__ import annotations

from itertools import combinations
from pathlib import Path

from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.hierarchy.folding import fold
from clawperator.engine.hierarchy.match import Matcher, find_all, matches
from clawperator.engine.hierarchy.postings import fold_long, postings_of
from clawperator.engine.hierarchy.selectors import Candidate, Selectors, Suggestions, node_by_path, suggest
from clawperator.engine.hierarchy.serialise import RenderNode, render_node
from clawperator.engine.hierarchy.tree import UiNode, UiTree, build, parse
from clawperator.engine.hierarchy.volatility import fits, stable_run
from tests.engine.hierarchy.choice_oracle import oracle
from tests.support import table

DATA = Path(__file__).parents[2] / "data" / "hierarchies"

texts = st.sampled_from(
    ["b c\nOK", "c\n", "OK", "ok", "Wi-Fi", "Wi\u2011Fi on", "3 new messages", "50% off", "Don't", "a\nb c", "straße", "STRASSE", "K\u212a", " ", ""]
) | st.text(max_size=10)  # fmt: skip
corners = st.integers(-20, 120)
attributes = st.fixed_dictionaries(
    {
        "text": texts,
        "content-desc": texts,
        "class": st.sampled_from(["", "a.Button", "a.TextView", "a.EditText", "a.RecyclerView", "a.FrameLayout", "a.TabLayout"]),
        "clickable": st.booleans(),
        "scrollable": st.booleans(),
        "bounds": st.tuples(corners, corners, corners, corners) | st.just((0, 0, 100, 100)),
    },
    optional={"resource-id": st.sampled_from(["a:id/title", "b:id/title", "a:id/row"]), "checkable": st.booleans()},
)  # fmt: skip
screens = st.recursive(
    attributes.map(render_node),
    lambda inner: st.builds(render_node, attributes, st.lists(inner, min_size=1, max_size=5)),
    max_leaves=14,
)


def check_counts(tree: UiTree, recent: list[UiTree], candidate: Candidate) -> None:
    inside = candidate.container.to_dict() if candidate.kind == "inside" and candidate.container else None
    found = oracle(tree, candidate.matcher.to_dict(), container=inside)
    assert candidate.matches == len(found)
    assert candidate.first == (bool(found) and found[0] is candidate.found)
    assert candidate.unique == (list(found) == [candidate.found])
    assert matches(candidate.found, candidate.matcher)
    assert candidate.seen in {(), tuple(len(find_all(earlier, candidate.matcher)) for earlier in recent)}
    assert all(fits(value) for value in candidate.matcher.fields().values())
    if candidate.kind == "container":
        assert candidate.container is not None
        (container,) = find_all(tree, candidate.container)
        assert container.scrollable
        assert candidate.found in container.descendants


def check_minimal(tree: UiTree, candidate: Candidate) -> None:
    fields = candidate.matcher.fields()
    for size in range(1, len(fields)):
        for part in combinations(fields.items(), size):
            assert len(find_all(tree, Matcher.from_fields(dict(part)))) > 1


def check_reach(node: UiNode, candidate: Candidate) -> None:
    """A click on what is found goes to the node: to itself, or from a label up to the nearest that is clickable."""
    if candidate.found is node:
        assert candidate.kind != "tap-through"
        return
    way = [candidate.found, *candidate.found.ancestors][:8]
    assert next(step for step in way if step.clickable) is node
    assert candidate.found.label


def check_order(suggestions: Suggestions) -> None:
    candidates = suggestions.candidates
    assert [candidate.unique for candidate in candidates] == sorted((c.unique for c in candidates), reverse=True)
    assert len({(candidate.kind, candidate.matcher) for candidate in candidates}) == len(candidates)
    assert suggestions.best is candidates[0]
    alone = candidates[0].unique and candidates[0].kind not in ("related", "inside")
    assert bool(suggestions.advice) == (not alone)


def check_suggestions(tree: UiTree, recent: list[UiTree]) -> None:
    selectors = Selectors(tree, recent)
    for node in tree.nodes:
        suggestions = selectors.suggest(node)
        check_order(suggestions)
        for candidate in suggestions.candidates:
            check_counts(tree, recent, candidate)
            check_reach(node, candidate)
            assert ("off" in candidate.flags) == (not tree.is_on_screen(node))
            assert candidate.why
            if candidate.unique and candidate.kind not in ("related", "inside"):
                check_minimal(tree, candidate)
        best = suggestions.candidates[0]
        alone = best.unique and best.kind not in ("related", "inside")
        assert selectors.best(node) == (best.matcher if alone else None)
        assert node_by_path(tree, node.path) is node


@given(screens, st.lists(screens, max_size=2))
def test_suggestions_count_like_the_matcher_and_are_minimal(screen: RenderNode, earlier: list[RenderNode]) -> None:
    check_suggestions(build([screen]), [build([one]) for one in earlier])


@given(screens)
def test_the_order_depends_on_nothing_but_the_tree(screen: RenderNode) -> None:
    tree, again = build([screen]), build([screen])
    backwards = Selectors(again)
    answers = [backwards.suggest(node) for node in reversed(again.nodes)][::-1]
    for node, answer in zip(tree.nodes, answers, strict=True):
        expected = suggest(tree, node)
        assert [candidate.to_dict() for candidate in expected.candidates] == [c.to_dict() for c in answer.candidates]
        assert expected.advice == answer.advice


@table("path", sorted(DATA.glob("*.xml")), ids=lambda path: path.stem)
def test_bundled_captures(path: Path) -> None:
    check_suggestions(parse(path.read_bytes()), [parse(path.read_bytes())])


@given(screens, texts)
def test_the_index_finds_what_the_matcher_finds(screen: RenderNode, wanted: str) -> None:
    """Made when it is asked, and all of it beforehand."""
    tree, prepared = build([screen]), build([screen])
    postings_of(prepared).prepare()
    for matcher in (
        Matcher(text_contains=wanted),
        Matcher(text_equals=wanted, text_contains=wanted),
        Matcher(content_desc_contains=wanted, role="button"),
        Matcher(content_desc_equals=wanted),
        Matcher(role="TEXT"),
    ):
        if tests := list(matcher.fields().items()):
            tests.sort(key=lambda test: test[0] == "role")
            found = {node.index for node in find_all(tree, matcher)}
            assert postings_of(tree).hits(tests) == postings_of(prepared).hits(tests) == found


@given(st.text(st.characters()) | st.text("aA\u0130ıσΣςKßẞİé\ud800😀\n"))
def test_long_texts_are_folded_alike(text: str) -> None:
    assert fold_long(text) == fold(text)


@given(st.text() | st.text(alphabet="ab1 '&\n%€:第。", max_size=40))
def test_a_stable_run_is_a_part_without_what_changes(text: str) -> None:
    run = stable_run(text)
    assert run in text
    assert run == run.strip()
    assert not any(character.isdecimal() or character in "&<>\"'%\n\r\t" for character in run)
    assert run == "" or fits(run)
