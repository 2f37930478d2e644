"""Actions with the matcher in mode 1: run, append a step, copy."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from dataclasses import replace
from functools import partial
from typing import cast

from clawperator.app.console.copyable import Copyable
from clawperator.app.console.empty_states import NO_DEVICE_HERE
from clawperator.app.console.execution.dispatcher import ExecutionConsole
from clawperator.app.console.execution.subject import Subject
from clawperator.app.console.inspect import copy
from clawperator.app.console.navigation import DraftPlace
from clawperator.app.console.screens.base import ConsoleScreen, Menu
from clawperator.app.console.screens.menu import Choice, MenuDialog
from clawperator.engine.executions.steps import VERBS
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode
from clawperator.widgets import keys
from clawperator.widgets.keys import MenuItem
from clawperator.widgets.models.bench import Bench
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.matcher_text import matcher_text
from clawperator.widgets.text.node_names import name_of
from clawperator.widgets.ui_tree import UiTreePane


class MatcherActionsScreen(ConsoleScreen):
    """Subclasses have the tree and keep ``bench`` at the node under its cursor."""

    def __init__(self) -> None:
        super().__init__()
        self.bench = Bench()

    @property
    def console(self) -> ExecutionConsole:
        return cast("ExecutionConsole", self.app)

    @property
    def tree_pane(self) -> UiTreePane:
        raise NotImplementedError

    def look_now(self) -> None:
        """Update the workbench to the node under the cursor before an action."""
        raise NotImplementedError

    def action_snapshot(self) -> bool:
        """Request a new tree; return whether it comes."""
        raise NotImplementedError

    def own_menus(self) -> Iterator[Menu]:
        """Yield the prefix menus beyond act, insert, copy and go."""
        return iter(())

    def subject(self) -> Subject:
        """Return the current matcher, and what is known of it."""
        self.look_now()
        return self._subject_of(self.bench, self._container())

    def read_again(self) -> bool:
        self.tree_pane.hold(False)
        return self.action_snapshot()

    def seen_now(self, subject: Subject) -> Subject:
        shown = self.tree_pane.snapshot
        if shown.serial == subject.tree.serial:
            return replace(subject, tree=shown, outdated=self.session.outdated(shown))
        self.tree_pane.hold(True)
        bench = Bench()
        bench.focus(shown.tree, self.tree_pane.node)
        bench.type(subject.matcher)
        return self._subject_of(bench, subject.container)

    def _subject_of(self, bench: Bench, container: Matcher | None) -> Subject:
        matches = bench.matches
        target: UiNode | None = matches[0] if matches else bench.node if bench.origin != "typed" else None
        shown = self.tree_pane.snapshot
        return Subject(
            matcher=bench.current,
            container=container,
            node_name=name_of(target) if target is not None else matcher_text(bench.current),
            matches=len(matches),
            first_name=name_of(matches[0]) if matches else "",
            warnings=[note.words for note in bench.notes if note.kind != "first" and note.role == "warn"],
            tree=shown,
            outdated=self.session.outdated(shown),
            source=self,
        )

    def _container(self) -> Matcher | None:
        """Return a matcher of the node, or of its nearest ancestor, that scrolls.

        None for a typed matcher: its matches need not be under the cursor.
        """
        bench, best = self.bench, self.bench.candidate
        if bench.origin == "typed" or bench.node is None:
            return None
        if bench.node.scrollable:
            return best.matcher if best is not None and best.unique else None
        return next((item.container for item in bench.candidates if item.container is not None), None)

    def action_act_menu(self) -> None:
        self._verb_menu("act", self._act)

    def action_insert_menu(self) -> None:
        self._verb_menu("insert", self._insert)

    def _verb_menu(self, menu: str, then: Callable[[Subject, str | None], None]) -> None:
        if menu == "insert" or self.has_device():
            subject = self.subject()
            choices = _verb_choices(menu, subject)
            self.app.push_screen(MenuDialog(menu, choices), partial(then, subject))

    def _act(self, subject: Subject, verb: str | None) -> None:
        if verb == "press_key":
            self._press_menu(partial(self._act, subject))
        elif verb is not None:
            self.console.dispatcher.act(verb, subject)

    def _insert(self, subject: Subject, verb: str | None) -> None:
        if verb == "press_key":
            self._press_menu(partial(self._insert, subject))
        elif verb is not None:
            self.console.dispatcher.insert(verb, subject)

    def _press_menu(self, then: Callable[[str | None], None]) -> None:
        choices = [Choice(item, item.tooltip, True) for item in keys.MENUS["press"]]
        self.app.push_screen(MenuDialog("press", choices), then)

    def menus(self) -> Iterator[Menu]:
        subject = self.subject()
        if self.session.device_id and not self.console.why_not("act_menu"):
            yield Menu("a", "Act", _verb_choices("act", subject), partial(self._act, subject))
        yield Menu("i", "Step", _verb_choices("insert", subject), partial(self._insert, subject))
        yield from self.own_menus()
        yield from super().menus()

    def action_stop_waiting(self) -> None:
        self.console.dispatcher.stop_waiting()

    def action_verify(self) -> None:
        if self.has_device():
            self.console.dispatcher.verify(self.subject())

    def action_pick_selector(self) -> None:
        """Give the current matcher to the field in mode 3 that waits for it."""
        subject, pick = self.subject(), self.console.drafts.pick
        if not subject.matcher:
            self.console.say(Status.WARN, "No selector matches this node. Press w for the reason, m to write one")
        elif pick is not None:
            pick.then(subject.matcher)
            self.console.go_to(DraftPlace())

    def check_action(self, action: str, parameters: tuple[object, ...]) -> bool | None:
        if action == "pick_selector":
            return self.console.drafts.pick is not None
        return super().check_action(action, parameters)

    def has_device(self) -> bool:
        """Return whether there is a device to act on; show a notice where there is none."""
        if self.session.device_id:
            return True
        words = NO_DEVICE_HERE if self.session.offline else "No device is selected. 7 lists the devices, D chooses one"
        self.console.say(Status.WARN, words)
        return False

    def copyable(self) -> dict[str, Copyable]:
        subject = self.subject()
        things = super().copyable()
        things |= dict(copy.of_node(self.tree_pane.node, self.tree_pane.snapshot))
        return things | dict(copy.of_matcher(self.bench, subject, self.session.device_id))


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
