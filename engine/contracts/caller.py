"""Who sends a request."""

from __future__ import annotations

from typing import NamedTuple


class Caller(NamedTuple):
    """``name`` appears in the audit, ``profile`` names one of the policy's (empty: the active one), ``peer`` is the network address.

    A field is empty where the front end does not know it.
    """

    name: str = ""
    profile: str = ""
    peer: str = ""


ANONYMOUS = Caller()
"""The caller of a server that requires no token, and of the command line and the console."""
