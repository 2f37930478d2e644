"""The tools by name, in the order in which clients list them."""

from __future__ import annotations

from collections.abc import Mapping

from clawperator.app.mcp.tools.act import ACT, EXECUTE, MANAGE, READ
from clawperator.app.mcp.tools.base import Tool
from clawperator.app.mcp.tools.observe import DEVICES, DOCTOR, MATCH, SCREENSHOT, SNAPSHOT, SUGGEST, WAIT
from clawperator.app.mcp.tools.skills import RUN, SEARCH

TOOLS: Mapping[str, Tool] = {
    tool.name: tool
    for tool in (
        DEVICES,
        SNAPSHOT,
        SCREENSHOT,
        ACT,
        READ,
        MANAGE,
        EXECUTE,
        WAIT,
        MATCH,
        SUGGEST,
        SEARCH,
        RUN,
        DOCTOR,
    )
}
OLDER: Mapping[str, Tool] = {"action": ACT}
"""Older names, which clients may have stored; the list has only those of ``TOOLS``."""
