"""Names that ``logcat -v uid`` prints in place of numbers."""

from __future__ import annotations

import re

from clawperator.engine.logcat.entry import UNKNOWN
from clawperator.engine.text.numbers import whole_number

SYSTEM_USERS = {
    "root": 0, "daemon": 1, "bin": 2, "system": 1000, "radio": 1001, "bluetooth": 1002, "graphics": 1003, "input": 1004,
    "audio": 1005, "camera": 1006, "log": 1007, "compass": 1008, "mount": 1009, "wifi": 1010, "adb": 1011,
    "install": 1012, "media": 1013, "dhcp": 1014, "sdcard_rw": 1015, "vpn": 1016, "keystore": 1017, "usb": 1018,
    "drm": 1019, "mdnsr": 1020, "gps": 1021, "media_rw": 1023, "mtp": 1024, "nfc": 1027, "sdcard_r": 1028, "clat": 1029,
    "mediadrm": 1031, "logd": 1036, "shared_relro": 1037, "mediaex": 1040, "audioserver": 1041, "mediacodec": 1046,
    "cameraserver": 1047, "firewall": 1048, "nvram": 1050, "dns": 1051, "dns_tether": 1052, "lmkd": 1069, "llkd": 1070,
    "iorapd": 1071, "network_stack": 1073, "ext_data_rw": 1078, "shell": 2000, "cache": 2001, "diag": 2002,
    "net_bt_admin": 3001, "net_bt": 3002, "inet": 3003, "net_bw_stats": 3006, "readproc": 3009, "nobody": 9999,
}  # fmt: skip
_APP_USER = re.compile(r"u(\d{1,9})_(a|i|ai)(\d{1,9})", re.ASCII)
_USERS_SYSTEM = re.compile(r"u(\d{1,9})_([a-z_]{1,40})", re.ASCII)
"""What runs for a user as one of ``SYSTEM_USERS``."""
_FIRST_OF_KIND = {"a": 10_000, "i": 99_000, "ai": 90_000}
IDS_PER_USER = 100_000


def app_id(uid: int) -> int:
    """Return the part of a uid that an app has for all Android users."""
    return uid % IDS_PER_USER


def uid_of(name: bytes) -> int:
    """The number of a printed uid: ``10012``, ``u0_a12``, ``shell``, ``u10_system``; -1 for an empty or unknown name."""
    text = name.decode("ascii", "replace")
    if (number := whole_number(text, digits=10)) is not None:
        return number
    if found := _APP_USER.fullmatch(text):
        return int(found[1]) * IDS_PER_USER + _FIRST_OF_KIND[found[2]] + int(found[3])
    if (found := _USERS_SYSTEM.fullmatch(text)) and found[2] in SYSTEM_USERS:
        return int(found[1]) * IDS_PER_USER + SYSTEM_USERS[found[2]]
    return SYSTEM_USERS.get(text, UNKNOWN)
