"""Dialogs that a key opens in every mode."""

from __future__ import annotations

from typing import TYPE_CHECKING, Protocol

from clawperator.app.console import backend_choice

if TYPE_CHECKING:
    from clawperator.app.console.devices.console import DevicesConsole
    from clawperator.app.console.screens.base import ConsoleScreen

    class _DialogsConsole(DevicesConsole, backend_choice.BackendConsole, Protocol):
        @property
        def mode_screen(self) -> ConsoleScreen | None: ...


class GlobalDialogs:
    """Each is imported when it is opened."""

    def __init__(self, console: _DialogsConsole) -> None:
        self._console = console

    def action_help(self) -> None:
        from clawperator.app.console.screens.dialogs import HelpDialog

        mode, screen = self._console.mode_screen, self._console.screen
        menus = mode.menus() if mode is not None and mode is screen else ()
        self._console.push_screen(HelpDialog(screen.active_bindings, menus))

    def action_notices(self) -> None:
        from clawperator.app.console.screens.dialogs import NoticesDialog

        self._console.push_screen(NoticesDialog(tuple(self._console.session.notices)))

    def action_lock(self) -> None:
        from clawperator.app.console.devices.lock_dialog import show_lock

        show_lock(self._console)

    def action_choose_backend(self) -> None:
        backend_choice.ask(self._console)

    def action_operator_setup(self, serial: str = "") -> None:
        """Set up the Operator app on ``serial``, else on the console's device."""
        from clawperator.app.console.devices import provisioning_dialogs

        provisioning_dialogs.set_up(self._console, serial)

    def action_show_setup(self) -> None:
        self.action_operator_setup(self._console.session.setup.serial)
