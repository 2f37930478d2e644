"""The workbench model: selectors of the focused node, the matches of the current matcher, and notes about its use.

Pure and lazy. A key in the matcher line needs ``matches`` and ``off_screen`` only, one pass over the tree; explanations
and suggestions are computed when a pane asks for them.
"""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import replace
from functools import cached_property
from typing import TYPE_CHECKING, Any, NamedTuple

from clawperator.engine.hierarchy.match import Explanation, Matcher, TreeExplanation, explain, explain_tree, find_all
from clawperator.engine.hierarchy.matcher import PLACES
from clawperator.engine.hierarchy.selectors import Selectors
from clawperator.engine.hierarchy.traits import CLICK_ANCESTORS, Landing, landing
from clawperator.widgets.text.matcher_text import matcher_text, parse_matcher_text
from clawperator.widgets.text.node_names import name_of
from clawperator.widgets.text.safe import escape

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.selectors import Candidate, Suggestions
    from clawperator.engine.hierarchy.tree import UiNode, UiTree

NO_MATCHER = Matcher()


class Note(NamedTuple):
    """A note about the current matcher. ``words`` are safe to draw; ``role`` is its severity."""

    kind: str
    words: str
    role: str


class Findings:
    """The matches of one matcher in one tree; each part is computed on first use."""

    def __init__(self, tree: UiTree, matcher: Matcher) -> None:
        self.tree = tree
        self.matcher = matcher

    @cached_property
    def matches(self) -> Sequence[UiNode]:
        """Return the matches on screen in document order; the device takes the first."""
        return find_all(self.tree, self.matcher)

    @cached_property
    def off_screen(self) -> int:
        """Return the number of matches off screen, which the device ignores."""
        return len(find_all(self.tree, self.matcher, on_screen_only=False)) - len(self.matches)

    @property
    def first(self) -> UiNode | None:
        return self.matches[0] if self.matches else None

    @cached_property
    def whole(self) -> TreeExplanation:
        """Return counts per field, nearest misses and verdict: some milliseconds for 5,000 nodes."""
        return explain_tree(self.tree, self.matcher)

    @cached_property
    def alone(self) -> dict[str, int]:
        """Return how many nodes on screen pass each field on its own."""
        return {count.field: count.alone for count in explain_tree(self.tree, self.matcher, nearest=0).counts}

    @cached_property
    def redundant(self) -> frozenset[str]:
        """Return the fields that can be removed, one at a time, without changing the result."""
        fields = rows_of(self.matcher)
        if len(fields) < 2 or not self.matches:
            return frozenset()
        return frozenset(field for field in fields if find_all(self.tree, without(self.matcher, field)) == self.matches)


class Bench:
    """The focused node and the current matcher.

    A typed matcher stays when the cursor moves; a picked candidate belongs to its node. Without either the best
    candidate is current.
    """

    def __init__(self) -> None:
        self.tree: UiTree | None = None
        self.node: UiNode | None = None
        self.typed = NO_MATCHER
        """The last typed matcher; empty when a candidate is current."""
        self.recent: Sequence[UiTree] = ()
        """Earlier trees on which the candidates are counted."""
        self._picked: Candidate | None = None
        self._selectors: Selectors | None = None
        self._suggestions: Suggestions | None = None
        self._findings: Findings | None = None

    # -- tree and node

    def focus(self, tree: UiTree | None, node: UiNode | None, recent: Sequence[UiTree] = ()) -> None:
        """Set the shown tree, the focused node, and earlier trees of the same package, newest first. A picked candidate
        is kept while it is still offered: for the same tree position, or as unique.
        """
        if tree is not self.tree or not self.has_seen(recent):
            self._selectors = self._suggestions = None
        if tree is not self.tree:
            self._findings = None
        if node is not self.node:
            self._suggestions = None
        picked, before = self._picked, self.node
        self.tree, self.node, self.recent = tree, node if tree is not None else None, tuple(recent)
        if picked is not None and node is not before:
            self._picked = self._again(picked, before)

    def has_seen(self, recent: Sequence[UiTree]) -> bool:
        """Return whether these are the current earlier trees."""
        return [*map(id, recent)] == [*map(id, self.recent)]

    def _again(self, picked: Candidate, before: UiNode | None) -> Candidate | None:
        again = self._offered(picked)
        same_place = self.node is not None and before is not None and self.node.path == before.path
        return again if again is not None and (again.unique or same_place) else None

    def _offered(self, picked: Candidate | None) -> Candidate | None:
        """Return ``picked`` with its current counts."""
        if picked is None:
            return None
        wanted = (picked.matcher, picked.container)
        return next((item for item in self.candidates if (item.matcher, item.container) == wanted), None)

    # -- the current matcher

    def type(self, matcher: Matcher) -> None:
        """Set the typed matcher; an empty one returns to the candidates."""
        self.typed = matcher

    def pick(self, index: int) -> None:
        """Make a candidate the current matcher."""
        self._picked = self.candidates[index]
        self.typed = NO_MATCHER

    def clear(self) -> None:
        """Return to the best candidate."""
        self._picked = None
        self.typed = NO_MATCHER

    @property
    def origin(self) -> str:
        """``typed`` or ``candidate``."""
        return "typed" if self.typed else "candidate"

    @property
    def candidate(self) -> Candidate | None:
        """Return the candidate that is the current matcher, if it is one."""
        if self.typed:
            return None
        return self._offered(self._picked) or next(iter(self.candidates), None)

    @property
    def current(self) -> Matcher:
        """Return the matcher for highlights, actions and copies; empty without one."""
        candidate = self.candidate
        if candidate is None:
            return self.typed
        return replace(candidate.matcher, container=candidate.container if candidate.kind == "inside" else None)

    # -- results

    @property
    def suggestions(self) -> Suggestions | None:
        """Return selectors for the focused node; ``None`` without a node."""
        if self._suggestions is None and self.tree is not None and self.node is not None:
            if self._selectors is None:
                self._selectors = Selectors(self.tree, self.recent)
            self._suggestions = self._selectors.suggest(self.node)
        return self._suggestions

    @property
    def candidates(self) -> Sequence[Candidate]:
        suggestions = self.suggestions
        return suggestions.candidates if suggestions is not None else ()

    @property
    def findings(self) -> Findings | None:
        """Return the matches of the current matcher; ``None`` without a tree or a matcher."""
        matcher = self.current
        if self.tree is None or not matcher:
            return None
        if self._findings is None or self._findings.matcher != matcher:
            self._findings = Findings(self.tree, matcher)
        return self._findings

    @property
    def matches(self) -> Sequence[UiNode]:
        """Return the matches on screen, in document order."""
        findings = self.findings
        return findings.matches if findings is not None else ()

    @property
    def subject(self) -> UiNode | None:
        """Return the node that the current matcher is for: the focused one, or the label that a candidate matches."""
        candidate = self.candidate
        return candidate.found if candidate is not None else self.node

    @property
    def explanation(self) -> Explanation | None:
        """Return the current matcher tested against its subject."""
        subject = self.subject
        return None if self.tree is None or subject is None else explain(self.tree, subject, self.current)

    @property
    def landing(self) -> Landing | None:
        """Return where a click with the current matcher goes; ``None`` without a match."""
        first = self.findings.first if self.findings is not None else None
        return landing(first) if first is not None else None

    @property
    def notes(self) -> Sequence[Note]:
        """Return notes on the current matcher, most important first."""
        return tuple(self._notes())

    def _notes(self) -> Iterator[Note]:
        findings, explanation = self.findings, self.explanation
        if findings is None:
            return
        if len(findings.matches) > 1:
            words = f"{len(findings.matches):,} matches; the device takes the first: {self._name(findings.matches[0])}"
            yield Note("first", words, "warn")
        if findings.off_screen and findings.matches:
            yield Note("off", f"{findings.off_screen:,} more off screen, ignored by the device", "muted")
        if explanation is not None and explanation.off_screen:
            yield Note("hidden", f"This node cannot be matched: {escape(explanation.off_screen)}", "warn")
        if any("%" in value for value in findings.matcher.flat().values()):
            yield Note("percent", "A matcher with % and without a match may crash the Operator", "warn")
        if findings.matcher.role and any(node.role_approximate for node in findings.matches):
            yield Note("role", "The role is inferred from the dump ≈ and may differ on the device", "muted")
        if findings.first is not None:
            yield from self._click_note(landing(findings.first))

    def _click_note(self, goes: Landing) -> Iterator[Note]:
        if goes.on is goes.found:
            return
        x, y = goes.found.bounds.center
        if goes.on is not None:
            yield Note("click", f"A tap reaches {self._name(goes.on)}, {goes.steps} up", "muted")
        elif goes.disabled is not None:
            yield Note("click", f"{self._name(goes.disabled)} is disabled: the centre is tapped, {x},{y}", "warn")
        else:
            yield Note(
                "click", f"No clickable node within {CLICK_ANCESTORS} ancestors: the centre is tapped, {x},{y}", "muted"
            )

    def _name(self, node: UiNode) -> str:
        return "this node" if node is self.node else name_of(node)


def without(matcher: Matcher, field: str) -> Matcher:
    return with_field(matcher, field, "")


def with_field(matcher: Matcher, field: str, value: str) -> Matcher:
    """Return ``matcher`` with one row set; an empty value removes it."""
    if field in PLACES:
        other: dict[str, Any] = {field: parse_matcher_text(value).matcher or None}
        return replace(matcher, **other)
    return Matcher.from_flat({**matcher.flat(), field: value})


def rows_of(matcher: Matcher) -> dict[str, str]:
    """Return the given fields, and each node around as a line, by name."""
    return matcher.fields() | {name: matcher_text(other) for name, other in matcher.places().items()}
