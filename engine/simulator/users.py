"""Names of the platform's users and groups."""

from __future__ import annotations

from typing import Final

_NAMES: Final = {
    0: "root",
    1000: "system",
    1001: "radio",
    1004: "input",
    1007: "log",
    1011: "adb",
    1015: "sdcard_rw",
    1023: "media_rw",
    1028: "sdcard_r",
    1078: "ext_data_rw",
    2000: "shell",
    3001: "net_bt_admin",
    3002: "net_bt",
    3003: "inet",
    3006: "net_bw_stats",
    3009: "readproc",
}


def user_name(uid: int) -> str:
    """``shell``, ``u0_a123``, or the number."""
    if uid in _NAMES:
        return _NAMES[uid]
    user, app = divmod(uid, 100_000)
    return f"u{user}_a{app - 10_000}" if app >= 10_000 else str(uid)


def user_id(name: str) -> int | None:
    """The uid of a system user; None for a name that is none."""
    return next((uid for uid, known in _NAMES.items() if known == name), None)
