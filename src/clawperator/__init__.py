"""Clawperator drives Android devices. The public names are those of ``clawperator.engine``, and ``__version__``.

>>> from clawperator import Engine
"""

from __future__ import annotations

TYPE_CHECKING = False
if TYPE_CHECKING:
    from clawperator.engine import Engine, EngineError, ErrorCode, ExecutionResult, RunOptions, Settings
    from clawperator.engine.version import __version__

__all__ = ["Engine", "EngineError", "ErrorCode", "ExecutionResult", "RunOptions", "Settings", "__version__"]


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: every command line imports this module."""
    from importlib import import_module

    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    home = "clawperator.engine.version" if name == "__version__" else "clawperator.engine"
    return getattr(import_module(home), name)
