"""Names of the platform's users and groups."""

from __future__ import annotations

from clawperator.engine.logcat.users import SYSTEM_USERS

SYSTEM_NAMES = {uid: name for name, uid in SYSTEM_USERS.items()}


def user_name(uid: int) -> str:
    """``shell``, ``u0_a123``, or the number."""
    user, app = divmod(uid, 100_000)
    return SYSTEM_NAMES.get(uid) or (f"u{user}_a{app - 10_000}" if app >= 10_000 else str(uid))
