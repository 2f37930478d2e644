"""Who sends a request."""

from __future__ import annotations

from typing import NamedTuple


class Caller(NamedTuple):
    """``name`` appears in the audit, ``profile`` names a profile of the policy (empty: the active one), ``peer`` is the address.

    Fields are empty where the front end has no value.
    """

    name: str = ""
    profile: str = ""
    peer: str = ""


ANONYMOUS = Caller()
"""The caller of a server that requires no token, and of the command line and the console."""
