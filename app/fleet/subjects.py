"""Subjects and messages of a fleet. Pure.

A request is published on the subject of one device. Its answers arrive at the reply subject: signs of life (``ALIVE``) while the
execution runs, then the answer document, in parts if it is larger than one message.
"""

from __future__ import annotations

import re

from clawperator.engine.errors import EngineError, ErrorCode

SERVICE = "clawperator"
PREFIX = "clawperator.v1"
HOSTS = f"{PREFIX}.hosts"
"""Every host answers with its devices and locks."""
ALIVE, PART, DROPPED, FACTS = (f"Clawperator-{name}" for name in ("Alive", "Part", "Dropped", "Facts"))
"""Headers: a sign of life, ``<number>/<count>`` of a part, events that were lost before this one, JSON about a tree."""
ALIVE_SECONDS = 1.0
SILENT_SECONDS = 5.0
"""After this long without a sign of life, the outcome is unknown."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
HOST = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_HOST = re.compile(HOST)
_UNSAFE = re.compile(rb"[^A-Za-z0-9_-]")


def token(text: str) -> str:
    """Return ``text`` as one token of a subject: other bytes than letters, digits, ``_`` and ``-`` are ``=XX``."""
    data = text.encode("utf-8", "surrogatepass")
    return _UNSAFE.sub(lambda found: b"=%02X" % found[0][0], data).decode() or "="


def untoken(token: str) -> str:
    """Return the text of a token; what no token contains stays as it is."""
    data = re.sub(rb"=([0-9A-F]{2})", lambda found: bytes([int(found[1], 16)]), token.encode())
    return data.decode("utf-8", "replace")


def device_subject(host: str, serial: str) -> str:
    return f"{PREFIX}.device.{token(host)}.{token(serial)}"


def tag_subject(tag: str) -> str:
    return f"{PREFIX}.tag.{token(tag)}"


def event_subject(host: str, serial: str, kind: str) -> str:
    return f"{PREFIX}.event.{token(host)}.{token(serial)}.{token(kind)}"


def tree_subject(host: str, serial: str) -> str:
    return f"{PREFIX}.tree.{token(host)}.{token(serial)}"


def address(text: str) -> tuple[str, str]:
    """Return host and serial of ``host/serial``. Raises ``EngineError`` (INVALID_DEVICE_ID)."""
    host, slash, serial = text.partition("/")
    if not (slash and serial and _HOST.fullmatch(host) and len(serial) <= 255):
        raise EngineError(
            ErrorCode.INVALID_DEVICE_ID,
            "A device of a fleet is named by host and serial",
            hint="Write host/serial or host/alias, as `clawperator fleet devices` lists them.",
        )
    return host, serial


def host_name(text: str) -> str:
    """Return ``text`` if it can name a host. Raises ``EngineError`` (USAGE)."""
    if _HOST.fullmatch(text):
        return text
    raise EngineError(ErrorCode.USAGE, "The name of a host has up to 63 letters, digits, dots, underscores and dashes")
