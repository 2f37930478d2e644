"""Subjects and messages of a fleet. Pure.

A request is published on the subject of one device, or of one host. Its answers arrive at the reply subject: signs of life (``ALIVE``)
while the execution runs, then the answer document, in parts if it is larger than one message. The reply subject
is another one for each request, and only the host that the server lets subscribe to the request sees it: what a host says about itself
counts on its own subjects only.
"""

from __future__ import annotations

import re

from clawperator.engine.errors import EngineError, ErrorCode

SERVICE = "clawperator"
PREFIX = "clawperator.v1"
HOSTS = f"{PREFIX}.hosts"
"""Every host answers with its name."""
INBOX = "_INBOX"
"""Reply subjects begin with it; those of a user that the server knows by name, with ``_INBOX_<user>``."""
ALIVE, PART, DROPPED, FACTS = (f"Clawperator-{name}" for name in ("Alive", "Part", "Dropped", "Facts"))
"""Headers: a sign of life, ``<number>/<count>`` of a part, events that were lost before this one, JSON about a tree."""
NO_RESPONDERS = "503"
"""The status with which the server answers a request on a subject without a subscriber."""
ALIVE_SECONDS = 1.0
SILENT_SECONDS = 5.0
"""After this long without a sign of life, the outcome is unknown."""
MAX_ANSWER_BYTES = 64 * 1024 * 1024
HOST = r"[A-Za-z0-9][A-Za-z0-9._-]{0,62}"
_HOST = re.compile(HOST)
_REPLY = re.compile(rf"{INBOX}(_[\w=-]+)?(\.[\w-]+){{1,3}}", re.ASCII)
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


def host_subject(host: str) -> str:
    """Return the subject for what no device is needed for: the devices of a host, its history."""
    return device_subject(host, "")


def inbox(user: str) -> str:
    """Return how the reply subjects of ``user`` begin: only this user may subscribe to them."""
    return f"{INBOX}_{token(user)}" if user else INBOX


def is_reply(subject: str) -> bool:
    """Return whether a host may answer there. NATS lets it answer on whatever subject a request names, also that of another host."""
    return _REPLY.fullmatch(subject) is not None


def event_subject(host: str, serial: str, kind: str) -> str:
    """Return the subject of a kind of events; ``*`` stands for every device of the host."""
    return f"{PREFIX}.event.{token(host)}.{serial if serial == '*' else token(serial)}.{token(kind)}"


def tree_subject(host: str, serial: str) -> str:
    """Return the subject of the trees of a device; ``*`` stands for every device of the host."""
    return f"{PREFIX}.tree.{token(host)}.{serial if serial == '*' else token(serial)}"


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
