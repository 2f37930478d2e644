"""A QR code for the terminal at stderr, in black on white whatever the colours of the terminal are."""

from __future__ import annotations

import os
import shutil

from clawperator.app.cli import diagnostics
from clawperator.app.qr import drawing, modules

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Mapping

__all__ = ["drawing", "for_terminal", "modules"]


def for_terminal(payload: str, env: Mapping[str, str] = os.environ) -> list[str]:
    """Return lines for the terminal at stderr; none if it is too narrow for a code that can be scanned."""
    coloured = not env.get("NO_COLOR") and env.get("TERM") != "dumb"
    columns = shutil.get_terminal_size().columns
    return drawing(payload, columns, blocks=diagnostics.takes("▀"), coloured=coloured)
