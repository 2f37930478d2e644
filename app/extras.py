"""The error about an extra that is not installed, with the command that installs it."""

from __future__ import annotations

import sys

from clawperator.engine.errors import EngineError, ErrorCode


def not_installed(extra: str, message: str) -> EngineError:
    """Return HOST_DEPENDENCY_MISSING with a command of the installer that created this environment: pip, pipx or uv."""
    package = f"'clawperator[{extra}]'"
    if "/pipx/venvs/" in sys.prefix:
        command = f"pipx install --force {package}"
    elif "/uv/tools/" in sys.prefix:
        command = f"uv tool install {package}"
    else:
        command = f"pip install {package}"
    return EngineError(ErrorCode.HOST_DEPENDENCY_MISSING, message, hint=f"Install it: {command}")


def require_nats() -> None:
    """Raise ``not_installed`` where the extra ``fleet`` is missing, before anything starts."""
    try:
        import nats  # noqa: F401
    except ImportError as exc:
        raise not_installed("fleet", f"A fleet needs the package '{exc.name}'") from exc
