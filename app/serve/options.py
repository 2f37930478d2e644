"""The options of a server."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3000


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """The options of a server; ``port`` 0 selects a free one, an empty ``token_file`` the default.

    ``rate`` is requests per second and caller, 0 for no limit. ``screenshots_dir`` is the only folder that requests can write
    screenshots to. ``grace`` is the maximum wait for running executions at the end, in seconds; ``None``: their own time
    limits. ``verbose`` logs one line per request.
    """

    host: str = DEFAULT_HOST
    port: int = DEFAULT_PORT
    token_file: str = ""
    no_auth: bool = False
    allow_origins: tuple[str, ...] = ()
    allow_hosts: tuple[str, ...] = ()
    rate: float = 0.0
    screenshots_dir: str = ""
    grace: float | None = None
    verbose: bool = False


EXPOSED_RATE = 100.0
"""The default rate of a server that other computers can reach."""


def is_loopback(host: str) -> bool:
    """Return whether only this computer can reach the address ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
