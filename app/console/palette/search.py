"""The command palette: all commands by name, from the key tables, the menus and the session."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping
from functools import partial
from itertools import islice
from typing import TYPE_CHECKING, Any, NamedTuple, Protocol

from textual.content import Content
from textual.fuzzy import FuzzySearch
from textual.screen import Screen

from clawperator.app.console.console import Console
from clawperator.app.console.navigation import ExecutionPlace, NodePlace, SkillPlace
from clawperator.app.console.palette.theme_preview import THEME
from clawperator.app.console.screens.base import ConsoleScreen
from clawperator.app.console.screens.menu import PaletteEntry
from clawperator.engine.skills.describe import find_skills
from clawperator.widgets import keys
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status
from clawperator.widgets.text.node_names import name_of

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

_HIDDEN = frozenset({"app.palette", "screen.next_pane", "screen.previous_pane", "screen.escape"})
_JUMPS = 8
"""Limit of executions and nodes in the results: more would hide the commands."""
_SHORTEST_JUMP = 3
_SYNONYMS = {
    "bug": ("report a problem",),
    "click": ("tap",),
    "close": ("quit",),
    "colour": ("theme",),
    "emulator": ("virtual device",),
    "exit": ("quit",),
    "export": ("save", "copy"),
    "issue": ("report a problem",),
    "log": ("stream",),
    "overview": ("devices",),
    "reload": ("snapshot", "refresh"),
    "repeat": ("run again",),
    "search": ("find", "filter"),
    "type": ("enter text",),
}
"""Words that other tools use, for ours."""


class SearchHit(NamedTuple):
    """One line of the palette: the entry, and its name with the matched letters marked."""

    entry: PaletteEntry
    shown: Content


class PaletteConsole(Console, Protocol):
    """A console with a palette."""

    theme: str

    @property
    def mode_screen(self) -> ConsoleScreen | None: ...
    @property
    def available_themes(self) -> Mapping[str, object]: ...
    async def run_action(self, action: str, default_namespace: Any = None) -> bool: ...
    def call_later(self, callback: Callable[..., Any]) -> bool: ...
    def use_device(self, serial: str) -> None: ...


class PaletteSearch:
    """The commands of ``screen`` with their keys, then those of ``more``; unavailable ones come last, with the reason."""

    def __init__(
        self, console: PaletteConsole, screen: Screen[Any], more: Iterable[Callable[[], Iterable[PaletteEntry]]]
    ) -> None:
        self.screen = screen
        self.console = console
        self._more = more
        self._fuzzy = FuzzySearch()

    def entries(self) -> list[PaletteEntry]:
        mode = self.console.mode_screen
        found = [*self._keys(), *(menu_entries(mode) if mode is not None else ())]
        found += [*self._devices(), *(entry for entries in self._more for entry in entries()), *self._themes()]
        return sorted(found, key=lambda entry: bool(entry.reason))

    def _keys(self) -> Iterator[PaletteEntry]:
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
            yield PaletteEntry(f"{group}: {binding.description}  ({key})", tooltip, run, reason)

    def _devices(self) -> Iterator[PaletteEntry]:
        for device in self.console.session.usable:
            name = f"Device: use {sentence(device.serial)}"
            yield PaletteEntry(name, sentence(device.model), partial(self.console.use_device, device.serial))

    def _themes(self) -> Iterator[PaletteEntry]:
        for theme in sorted(self.console.available_themes, key=lambda name: (not name.startswith("claw-"), name)):
            yield PaletteEntry(
                f"{THEME}{theme}", "Colours of the console", partial(setattr, self.console, "theme", theme)
            )

    def find(self, query: str) -> list[SearchHit]:
        """Return everything for an empty ``query``; else what matches, best first, then executions, skills and nodes."""
        if not query:
            return [SearchHit(entry, Content(entry.name)) for entry in self.entries()]
        scored: list[tuple[tuple[int, bool, float], SearchHit]] = []
        for entry in self.entries():
            score, offsets = self._fuzzy.match(query, entry.name)
            kind, place = _named(query, entry)
            if score > 0 or kind:
                shown = Content(entry.name)
                for offset in offsets:
                    shown = shown.stylize("bold underline", offset, offset + 1)
                rank = (kind, not entry.reason, score if kind in (_BY_LETTERS, _BY_NAME) else -place)
                scored.append((rank, SearchHit(entry, shown)))
        for place, entry in enumerate(self._jumps(query)):
            scored.append(((_JUMP, True, -place), SearchHit(entry, Content(entry.name))))
        return [found for _, found in sorted(scored, key=lambda item: item[0], reverse=True)]

    def run(self, entry: PaletteEntry) -> None:
        """Run ``entry``, or say why it is unavailable."""
        if entry.reason:
            self.console.say(Status.IDLE, entry.reason)
        else:
            self.console.call_later(entry.run)

    def _jumps(self, query: str) -> Iterator[PaletteEntry]:
        """Yield places that match the query: executions by id, skills, nodes by text."""
        words = query.strip().casefold()
        if len(words) < _SHORTEST_JUMP:
            return
        console = self.console
        runs = (run for run in reversed([*console.session.log.executions]) if words in run.command_id.casefold())
        for run in islice(runs, _JUMPS):
            name = f"Go to execution {sentence(run.command_id)}"
            place = ExecutionPlace(run.command_id, run.number)
            yield PaletteEntry(name, sentence(run.task_id), partial(console.go_to, place))
        for skill in islice(find_skills(console.session.skills.skills, words), _JUMPS):
            show = partial(console.go_to, SkillPlace(skill.id, run=True))
            yield PaletteEntry(f"Skill: run {sentence(skill.id)}…", sentence(skill.summary), show)
        tree = console.session.trees.shown.tree
        for node in islice(_nodes_with(tree, words), _JUMPS) if tree is not None else ():
            yield PaletteEntry(f"Go to node {name_of(node)}", node.resource_id, partial(console.go_to, NodePlace(node)))


_BY_LETTERS, _JUMP, _BY_SENTENCE, _BY_SYNONYM, _BY_NAME = range(5)
"""What matched, the best last."""


def _named(query: str, entry: PaletteEntry) -> tuple[int, int]:
    """Return how the whole words of ``query`` name the entry, and where the first of them stands."""
    name, sentence_below = entry.name.casefold(), entry.help.casefold()
    words = query.casefold().split()
    if all(word in name for word in words):
        return _BY_NAME, name.find(words[0])
    meant = [(word, *_SYNONYMS.get(word, ())) for word in words]
    if all(any(word in name for word in some) for some in meant):
        return _BY_SYNONYM, min(place for place, word in enumerate(meant[0]) if word in name)
    if all(any(word in sentence_below for word in some) for some in meant):
        return _BY_SENTENCE, min(sentence_below.find(word) for word in meant[0] if word in sentence_below)
    return _BY_LETTERS, 0


def menu_entries(screen: ConsoleScreen) -> Iterator[PaletteEntry]:
    """Yield the entries behind the prefix keys of a mode: ``Copy: matcher (y y)``."""
    for prefix, name, choices, choose in screen.menus():
        for item, words, enabled in choices:
            title = f"{name}: {item.label}  ({prefix} {keys.sign(item.key)})"
            reason = "" if enabled else f"{item.label}: {words or 'unavailable here'}"
            yield PaletteEntry(title, item.tooltip, partial(choose, item.id), reason)


def _nodes_with(tree: UiTree, words: str) -> Iterable[UiNode]:
    columns = zip(tree.nodes, tree.folded_labels, tree.folded_descriptions, strict=True)
    return (node for node, label, description in columns if words in label or words in description)
