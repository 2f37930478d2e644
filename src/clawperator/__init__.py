"""Clawperator drives Android devices. The public names are those of ``clawperator.engine``, ``RemoteEngine`` and ``__version__``.

>>> from clawperator import Engine
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.app.client.engine import RemoteEngine
    from clawperator.engine import Engine, EngineError, ErrorCode, ExecutionResult, RunOptions, Settings
    from clawperator.engine.version import __version__

__all__ = [
    "Engine",
    "EngineError",
    "ErrorCode",
    "ExecutionResult",
    "RemoteEngine",
    "RunOptions",
    "Settings",
    "__version__",
]
_HOMES = {"RemoteEngine": "clawperator.app.client.engine", "__version__": "clawperator.engine.version"}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: every command line imports this module."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(_HOMES.get(name, "clawperator.engine")), name)
