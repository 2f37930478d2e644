"""What the settings file says about one device."""

from __future__ import annotations

from typing import NamedTuple


class DeviceProfile(NamedTuple):
    """One table ``[devices.<alias>]``."""

    serial: str
    tags: tuple[str, ...] = ()
    backend: str = ""
    """Empty: that of all devices."""
