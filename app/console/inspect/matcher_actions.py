"""The keys of mode 1 for the matcher: run, append a step, verify, give it to a form, copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.inspect import copy
from clawperator.app.console.inspect.tree_actions import TreeActions, has_device
from clawperator.app.console.navigation import DraftPlace
from clawperator.app.console.screens.base import ConsoleScreen, Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog
from clawperator.engine.executions.steps import VERBS
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.widgets import keys
from clawperator.widgets.keys import MenuItem
from clawperator.widgets.matcher_bench import MatcherBench
from clawperator.widgets.models.bench import Bench
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.matcher_text import matcher_text
from clawperator.widgets.text.node_names import name_of


class MatcherActions:
    """``bench_pane`` has the matcher; ``look_now`` updates it to the node under the tree's cursor. A source of subjects."""

    def __init__(
        self, screen: ConsoleScreen, trees: TreeActions, bench_pane: MatcherBench, look_now: Callable[[], object]
    ) -> None:
        self._screen = screen
        self._trees = trees
        self._tree_pane = trees.area.tree_pane
        self._bench_pane = bench_pane
        self._bench = bench_pane.bench
        self._look_now = look_now

    @property
    def _console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self._screen.app)

    def subject(self) -> Subject:
        """Return the current matcher, and what is known of it."""
        self._look_now()
        return self._subject_of(self._bench, self._container())

    def subject_at(self, node: UiNode) -> Subject:
        """Move the cursor to ``node``; return its best selector."""
        self._tree_pane.reveal_node(node)
        self._bench_pane.clear()
        return self.subject()

    def read_again(self) -> bool:
        self._tree_pane.hold(False)
        return self._trees.action_snapshot()

    def seen_now(self, subject: Subject) -> Subject:
        shown = self._tree_pane.snapshot
        if shown.serial == subject.tree.serial:
            return replace(subject, tree=shown, outdated=self._screen.session.outdated(shown))
        self._tree_pane.hold(True)
        bench = Bench()
        bench.focus(shown.tree, self._tree_pane.node)
        bench.type(subject.matcher)
        return self._subject_of(bench, subject.container)

    def _subject_of(self, bench: Bench, container: Matcher | None) -> Subject:
        matches = bench.matches
        target: UiNode | None = matches[0] if matches else bench.node if bench.origin != "typed" else None
        shown = self._tree_pane.snapshot
        return Subject(
            matcher=bench.current,
            container=container,
            node_name=name_of(target) if target is not None else matcher_text(bench.current),
            matches=len(matches),
            first_name=name_of(matches[0]) if matches else "",
            warnings=[note.words for note in bench.notes if note.kind != "first" and note.role == "warn"],
            tree=shown,
            outdated=self._screen.session.outdated(shown),
            source=self,
        )

    def _container(self) -> Matcher | None:
        """Return a matcher of the node, or of its nearest ancestor, that scrolls.

        None for a typed matcher: its matches need not be under the cursor.
        """
        bench, best = self._bench, self._bench.candidate
        if bench.origin == "typed" or bench.node is None:
            return None
        if bench.node.scrollable:
            return best.matcher if best is not None and best.unique else None
        return next((item.container for item in bench.candidates if item.kind == "container"), None)

    def action_act_menu(self) -> None:
        if has_device(self._console):
            self._verb_menu("act")

    def action_insert_menu(self) -> None:
        self._verb_menu("insert")

    def _verb_menu(self, menu: str) -> None:
        subject = self.subject()
        self._console.push_screen(MenuDialog(menu, _verb_choices(menu, subject)), partial(self._chosen, menu, subject))

    def _chosen(self, menu: str, subject: Subject, verb: str | None) -> None:
        if verb == "press_key":
            choices = [Choice(item, item.tooltip, True) for item in keys.MENUS["press"]]
            self._console.push_screen(MenuDialog("press", choices), partial(self._chosen, menu, subject))
        elif verb is not None:
            dispatcher = self._console.dispatcher
            (dispatcher.act if menu == "act" else dispatcher.insert)(verb, subject)

    def menus(self) -> Iterator[Menu]:
        subject = self.subject()
        if self._screen.session.device_id and not self._console.why_not("act_menu"):
            yield Menu("a", "Act", _verb_choices("act", subject), partial(self._chosen, "act", subject))
        yield Menu("i", "Step", _verb_choices("insert", subject), partial(self._chosen, "insert", subject))

    def action_verify(self) -> None:
        if has_device(self._console):
            self._console.dispatcher.verify(self.subject())

    def action_pick_selector(self) -> None:
        """Give the current matcher to the field in mode 3 that waits for it."""
        subject, pick = self.subject(), self._console.drafts.pick
        if not subject.matcher:
            self._console.say(Status.WARN, "No selector matches this node. Press w for the reason, m to write one")
        elif pick is not None:
            pick.then(subject.matcher)
            self._console.go_to(DraftPlace())

    def copyable(self) -> dict[str, Copyable]:
        """Return what can be copied of the node and of its matcher."""
        subject = self.subject()
        things = dict(copy.of_node(self._tree_pane.node, self._tree_pane.snapshot))
        return things | dict(copy.of_matcher(self._bench, subject, self._screen.session.device_id))


def _verb_choices(menu: str, subject: Subject) -> list[Choice]:
    """Return the entries of menu ``act`` or ``insert`` for the subject."""
    return [_choice(item, subject) for item in keys.MENUS[menu]]


def _choice(item: MenuItem, subject: Subject) -> Choice:
    verb = VERBS.get(item.id)
    if verb is None or not verb.of_node:
        return Choice(item, item.tooltip, True)
    if not subject.matcher:
        return Choice(item, "no selector matches this node", False)
    return Choice(item, subject.node_name or item.tooltip, True)
