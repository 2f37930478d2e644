"""The engine: everything that Clawperator can do, without a terminal.

Public and stable within a minor version: the names in ``__all__``. Anything else may move.

>>> from clawperator.engine import Engine
>>> async with Engine() as engine:
...     result = await engine.execute(payload, device_id="emulator-5554")
"""

from __future__ import annotations

TYPE_CHECKING = False  # what typing.TYPE_CHECKING is: importing typing would cost every light command 5 ms
if TYPE_CHECKING:
    from clawperator.engine.config.settings import Settings
    from clawperator.engine.errors import EngineError, ErrorCode
    from clawperator.engine.facade import Engine, ExecutionResult, RunOptions

__all__ = ["Engine", "EngineError", "ErrorCode", "ExecutionResult", "RunOptions", "Settings"]

_HOMES = {
    "Engine": "facade",
    "ExecutionResult": "facade",
    "RunOptions": "facade",
    "Settings": "config.settings",
    "EngineError": "errors",
    "ErrorCode": "errors",
}


def __getattr__(name: str) -> object:
    """Import a public name when it is first asked for: light commands never pay for the whole engine."""
    from importlib import import_module

    if name not in _HOMES:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    return getattr(import_module(f"{__name__}.{_HOMES[name]}"), name)
