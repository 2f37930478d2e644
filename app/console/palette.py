"""The command palette: every binding that works here, devices, themes. Generated from the key table."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from functools import partial
from typing import TYPE_CHECKING, Any, NamedTuple, cast

from textual.command import DiscoveryHit, Hit, Hits, Provider
from textual.content import Content
from textual.markup import escape

from clawperator.widgets import keys
from clawperator.widgets.format.lines import sentence

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp

_HIDDEN = frozenset({"app.palette", "screen.next_pane", "screen.previous_pane", "screen.escape"})


class Entry(NamedTuple):
    """One command: its name, the sentence below it, and what it does."""

    name: str
    help: str
    run: Callable[[], Any]


class ConsoleCommands(Provider):
    """Discovery lists the commands of the screen with their keys."""

    @property
    def console(self) -> ConsoleApp:
        return cast("ConsoleApp", self.app)

    def entries(self) -> Iterator[Entry]:
        yield from self._bindings()
        yield from self._devices()
        for theme in sorted(self.console.available_themes, key=lambda name: (not name.startswith("claw-"), name)):
            yield Entry(f"Theme: {theme}", "Colours of the console", partial(setattr, self.app, "theme", theme))

    def _bindings(self) -> Iterator[Entry]:
        active = self.screen.active_bindings.values()
        seen: set[str] = set()
        for node, binding, enabled, tooltip in sorted(active, key=lambda item: keys.rank(item.binding.id)):
            if not binding.id or binding.id in seen or binding.id in _HIDDEN or not enabled or not binding.description:
                continue
            seen.add(binding.id)
            group = binding.group.description if binding.group else ""
            key = binding.key_display or keys.sign(binding.key)
            yield Entry(
                f"{group}: {binding.description}  ({key})", tooltip, partial(self.app.run_action, binding.action, node)
            )

    def _devices(self) -> Iterator[Entry]:
        for device in self.console.session.usable:
            name = f"Device: use {sentence(device.serial)}"
            yield Entry(name, sentence(device.model), partial(self.console.use_device, device.serial))

    async def discover(self) -> Hits:
        for entry in self.entries():
            yield DiscoveryHit(Content(entry.name), entry.run, text=entry.name, help=escape(entry.help))

    async def search(self, query: str) -> Hits:
        matcher = self.matcher(query)
        for entry in self.entries():
            score, offsets = matcher.fuzzy_search.match(query, entry.name)
            if score > 0:
                # Not ``matcher.highlight``: it would read a device's name as markup.
                shown = Content(entry.name)
                for offset in offsets:
                    shown = shown.stylize(matcher.match_style, offset, offset + 1)
                yield Hit(score, shown, entry.run, text=entry.name, help=escape(entry.help))
