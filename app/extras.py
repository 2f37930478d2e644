"""The error about an extra that is not installed, with the command that installs it."""

from __future__ import annotations

from clawperator.engine.errors import EngineError, ErrorCode


def not_installed(extra: str, message: str) -> EngineError:
    """Return HOST_DEPENDENCY_MISSING with the command that adds ``extra`` to this installation."""
    from clawperator.app.installation import install_command

    return EngineError(ErrorCode.HOST_DEPENDENCY_MISSING, message, hint=f"Install it: {install_command(extra)}")


def require_nats() -> None:
    """Raise ``not_installed`` where the extra ``fleet`` is missing, before anything starts."""
    try:
        import nats  # noqa: F401 -- only whether it is there
    except ImportError as exc:
        raise not_installed("fleet", f"A fleet needs the package '{exc.name}'") from exc
