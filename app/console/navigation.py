"""From one mode to a place in another. Screens are loaded when somebody goes there."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawperator.app.console.session import Facet
from clawperator.widgets.models.status import Status

if TYPE_CHECKING:
    from clawperator.app.console.app import ConsoleApp
    from clawperator.engine.hierarchy.nodes import UiNode


def to_job(console: ConsoleApp) -> None:
    """To the virtual device that is being worked on."""
    from clawperator.app.console.devices.screen import DevicesScreen

    console.action_mode("devices")
    screen = console.mode_screen
    if isinstance(screen, DevicesScreen):
        screen.call_after_refresh(screen.go_to, "#job")


def to_skill_output(console: ConsoleApp) -> None:
    """To what the skill that runs prints."""
    from clawperator.app.console.skills.screen import SkillsScreen

    console.action_mode("skills")
    screen = console.mode_screen
    if isinstance(screen, SkillsScreen):
        screen.call_after_refresh(screen.action_show_output)


def to_skill(console: ConsoleApp, skill_id: str, *, run: bool = False) -> None:
    """To a skill, and to the form before it runs."""
    from clawperator.app.console.skills.screen import SkillsScreen

    console.action_mode("skills")
    screen = console.mode_screen
    if isinstance(screen, SkillsScreen):
        screen.call_after_refresh(screen.to_skill, skill_id, run)


def to_execution(console: ConsoleApp, command_id: str) -> None:
    """To the stream, with the cursor on this execution."""
    from clawperator.app.console.stream.screen import StreamScreen

    console.action_mode("stream")
    screen = console.mode_screen
    if isinstance(screen, StreamScreen):
        screen.call_after_refresh(screen.to_execution, command_id)  # it may be about to be made


def to_comparison(console: ConsoleApp, a: str, b: str) -> None:
    """To the history, with the newest runs of these two commands side by side."""
    from clawperator.app.console.history.screen import HistoryScreen

    console.action_mode("history")
    screen = console.mode_screen
    if isinstance(screen, HistoryScreen):
        screen.call_after_refresh(screen.compare_commands, a, b)


def to_node(console: ConsoleApp, node: UiNode) -> None:
    """To the tree, with the cursor on this node."""
    from clawperator.app.console.inspect.screen import InspectScreen

    console.action_mode("inspect")
    screen = console.mode_screen
    if isinstance(screen, InspectScreen):
        screen.call_after_refresh(screen.to_node, node)


def to_tree(console: ConsoleApp, key: str) -> None:
    """To the tree that an execution took, while it is kept."""
    if console.session.trees.turn_to(key):
        console.action_mode("inspect")
        console.show(Facet.TREE)
    else:
        console.say(Status.IDLE, "That tree is not kept any more. 4 shows it if the history has it")
