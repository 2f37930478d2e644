"""How a server is to be started."""

from __future__ import annotations

from dataclasses import dataclass
from ipaddress import ip_address

DEFAULT_HOST = "127.0.0.1"
DEFAULT_PORT = 3000


@dataclass(frozen=True, slots=True)
class ServeOptions:
    """``port`` 0 takes a free one. ``token_file`` is empty where none was chosen; ``no_auth`` says that none is wanted.

    ``rate`` is requests per second and caller, 0 for no limit. ``screenshots_dir`` is the one folder that requests may have
    pictures written to. ``grace`` is how many seconds executions in flight are waited for at the end; ``None``: as long as
    their own budgets. ``verbose``: one line per request.
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
"""Requests per second and caller where others than this computer can call and nobody chose."""


def is_loopback(host: str) -> bool:
    """Whether only this computer can reach what listens on ``host``."""
    if host == "localhost":
        return True
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return False
