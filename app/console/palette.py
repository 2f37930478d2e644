"""The command palette: everything that can be done here, by name. Made from the key tables, the menus and what is known."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import Screen

from clawperator.app.console import navigation
from clawperator.app.console.devices import provisioning_dialogs
from clawperator.app.console.theme_preview import THEME
from clawperator.widgets import keys
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.skills import find_skills
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.node_names import name_of

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.app.console.screens.base import ConsoleScreen
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

_HIDDEN = frozenset({"app.palette", "screen.next_pane", "screen.previous_pane", "screen.escape"})
_JUMPS = 8
"""Executions and nodes offered for what is typed: more would hide the commands."""
_SHORTEST_JUMP = 3


class Entry(NamedTuple):
    """One command: its name, the sentence below it, and what it does. ``reason`` says why it cannot be done now."""

    name: str
    help: str
    run: Callable[[], Any]
    reason: str = ""


class Found(NamedTuple):
    """One line of the palette: the entry, and its name with what was typed marked in it."""

    entry: Entry
    shown: Content


class ConsoleCommands:
    """The commands of ``screen`` with their keys; what cannot be done now comes last and says why."""

    def __init__(self, screen: Screen[Any]) -> None:
        self.screen = screen
        self.console = cast("ConsoleApp", screen.app)
        self._fuzzy = FuzzySearch()

    def entries(self) -> list[Entry]:
        mode = self.console.mode_screen
        found = [*self._bindings(), *(menu_entries(mode) if mode is not None else ())]
        found += [*self._devices(), *self.console.chores.entries(), *self._machines(), *self._themes()]
        return sorted(found, key=lambda entry: bool(entry.reason))

    def _bindings(self) -> Iterator[Entry]:
        active = self.screen.active_bindings.values()
        seen: set[str] = set()
        for node, binding, enabled, tooltip in sorted(active, key=lambda item: keys.rank(item.binding.id)):
            if not binding.id or binding.id in seen or binding.id in _HIDDEN or not binding.description:
                continue
            seen.add(binding.id)
            group = binding.group.description if binding.group else ""
            key = binding.key_display or keys.sign(binding.key)
            run = partial(self.console.run_action, binding.action, node)
            reason = "" if enabled else self.console.why_not(binding.action)
            yield Entry(f"{group}: {binding.description}  ({key})", tooltip, run, reason)

    def _devices(self) -> Iterator[Entry]:
        for device in self.console.session.usable:
            name = f"Device: use {sentence(device.serial)}"
            yield Entry(name, sentence(device.model), partial(self.console.use_device, device.serial))

    def _machines(self) -> Iterator[Entry]:
        for wish in provisioning_dialogs.wishes(self.console):
            yield Entry(wish.name, wish.help, wish.run, self.console.why_not(wish.action) if wish.action else "")

    def _themes(self) -> Iterator[Entry]:
        for theme in sorted(self.console.available_themes, key=lambda name: (not name.startswith("claw-"), name)):
            yield Entry(f"{THEME}{theme}", "Colours of the console", partial(setattr, self.console, "theme", theme))

    def find(self, query: str) -> list[Found]:
        """Everything for an empty ``query``; else what its letters are in, best first, and then the jumps."""
        if not query:
            return [Found(entry, Content(entry.name)) for entry in self.entries()]
        scored: list[tuple[float, Found]] = []
        for entry in self.entries():
            score, offsets = self._fuzzy.match(query, entry.name)
            if score > 0:
                shown = Content(entry.name)
                for offset in offsets:
                    shown = shown.stylize("bold underline", offset, offset + 1)
                scored.append((score / (1 + bool(entry.reason)), Found(entry, shown)))
        jumps = ((1 / (place + 2), entry) for place, entry in enumerate(self._jumps(query)))
        scored += ((score, Found(entry, Content(entry.name))) for score, entry in jumps)
        return [found for _, found in sorted(scored, key=lambda item: item[0], reverse=True)]

    def run(self, entry: Entry) -> None:
        """Do what ``entry`` stands for, or say why that cannot be done now."""
        if entry.reason:
            self.console.say(Status.IDLE, entry.reason)
        else:
            self.console.call_later(entry.run)

    def _jumps(self, query: str) -> Iterator[Entry]:
        """Straight to what was typed: an execution by its ids, a node by its words."""
        words = query.strip().casefold()
        if len(words) < _SHORTEST_JUMP:
            return
        console = self.console
        runs = (run for run in reversed([*console.session.log.executions]) if words in run.command_id.casefold())
        for run in islice(runs, _JUMPS):
            name = f"Go to execution {sentence(run.command_id)}"
            yield Entry(name, sentence(run.task_id), partial(navigation.to_execution, console, run.command_id))
        for skill in islice(find_skills(console.session.skills.skills, words), _JUMPS):
            show = partial(navigation.to_skill, console, skill.id, run=True)
            yield Entry(f"Skill: run {sentence(skill.id)}…", sentence(skill.summary), show)
        tree = console.session.trees.shown.tree
        for node in islice(_nodes_with(tree, words), _JUMPS) if tree is not None else ():
            yield Entry(f"Go to node {name_of(node)}", node.resource_id, partial(navigation.to_node, console, node))


def menu_entries(screen: ConsoleScreen) -> Iterator[Entry]:
    """What stands behind the prefix keys of a mode, in full: ``Copy: matcher  (y y)``."""
    for prefix, name, choices, choose in screen.menus():
        for item, words, enabled in choices:
            title = f"{name}: {item.label}  ({prefix} {keys.sign(item.key)})"
            reason = "" if enabled else f"{item.label}: {words or 'there is nothing here'}"
            yield Entry(title, item.tooltip, partial(choose, item.id), reason)


def _nodes_with(tree: UiTree, words: str) -> Iterable[UiNode]:
    columns = zip(tree.nodes, tree.folded_labels, tree.folded_descriptions, strict=True)
    return (node for node, label, description in columns if words in label or words in description)
