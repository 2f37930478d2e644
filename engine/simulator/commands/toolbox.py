"""Every program of the device, by name."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Final

from clawperator.engine.simulator.commands.activity import ACTIVITY
from clawperator.engine.simulator.commands.basic import BASIC
from clawperator.engine.simulator.commands.files import FILES
from clawperator.engine.simulator.commands.logs import LOGS
from clawperator.engine.simulator.commands.packages import PACKAGES
from clawperator.engine.simulator.commands.screen import KEYBOARD, SCREEN
from clawperator.engine.simulator.commands.system import SYSTEM
from clawperator.engine.simulator.commands.text import TEXT
from clawperator.engine.simulator.process import Command

TOOLBOX: Final[Mapping[str, Command]] = {
    **ACTIVITY,
    **BASIC,
    **FILES,
    **KEYBOARD,
    **LOGS,
    **PACKAGES,
    **SCREEN,
    **SYSTEM,
    **TEXT,
}
