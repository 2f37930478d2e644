"""Bearer tokens and their callers.

The file has one token per line: ``<token> [name] [profile]``, with a name for the audit and a profile of the policy. A
missing file is created with one random token. Other users must not be able to read it.
"""

from __future__ import annotations

import hashlib
import hmac
import os
import re
import secrets
from contextlib import nullcontext

from clawperator.engine.contracts.caller import Caller
from clawperator.engine.errors import EngineError, ErrorCode, not_readable, not_writable
from clawperator.engine.files.regular import open_regular, private_folder, write_file
from clawperator.engine.guard import Guard

_BYTES = 32
_SHORTEST = 16
_LONGEST_FILE = 64 * 1024
_TOKEN = re.compile(r"[A-Za-z0-9._~+/=-]+", re.ASCII)
_NAME = re.compile(r"[A-Za-z0-9._-]{1,64}", re.ASCII)


class Tokens:
    """The accepted tokens, stored as digests."""

    def __init__(self, callers: dict[str, Caller]) -> None:
        self._callers = {_digest(token): caller for token, caller in callers.items()}

    def caller(self, authorization: str) -> Caller | None:
        """Return the caller of an ``Authorization`` header. Every token is compared, in constant time."""
        scheme, _, token = authorization.partition(" ")
        if scheme.lower() != "bearer":
            return None
        given, found = _digest(token.strip()), None
        for digest, caller in self._callers.items():
            if hmac.compare_digest(digest, given):
                found = caller
        return found

    def profiles(self) -> set[str]:
        """Return the names of the profiles that tokens are bound to."""
        return {caller.profile for caller in self._callers.values() if caller.profile}


def _digest(token: str) -> bytes:
    return hashlib.sha256(token.encode("utf-8", "surrogatepass")).digest()


def open_tokens(path: str, guard: Guard | None = None) -> tuple[Tokens, bool]:
    """Return the tokens of ``path``, and whether the file was created; ``guard`` must permit that.

    Raises ``EngineError``: TOKEN_FILE_INVALID for a file that others may read or that has a wrong line, those of
    ``Guard.writing``, of ``not_writable`` and of ``not_readable``.
    """
    try:
        made = _make(path, guard)
    except OSError as exc:
        raise not_writable(path, exc, what="The token file") from exc
    try:
        text = _read(path)
    except OSError as exc:
        raise not_readable(path, exc, what="The token file") from exc
    return Tokens(_parse(text, path)), made


def _make(path: str, guard: Guard | None) -> bool:
    """Create the file with a new token, if it is missing."""
    if os.path.lexists(path):
        return False
    with guard.writing(path) if guard is not None else nullcontext():
        private_folder(os.path.dirname(path) or ".")
        write_file(path, f"{secrets.token_urlsafe(_BYTES)} owner\n".encode())
    return True


def _read(path: str) -> str:
    with open_regular(path) as stream:
        if os.name == "posix" and os.fstat(stream.fileno()).st_mode & 0o077:
            raise EngineError(
                ErrorCode.TOKEN_FILE_INVALID,
                f"The token file {path} can be read by others",
                hint=f"Run: chmod 600 {path}",
            )
        data = stream.read(_LONGEST_FILE + 1)
    if len(data) > _LONGEST_FILE:
        raise EngineError(ErrorCode.TOKEN_FILE_INVALID, f"The token file {path} is longer than {_LONGEST_FILE} bytes")
    return data.decode("utf-8-sig", "replace")


def _parse(text: str, path: str) -> dict[str, Caller]:
    callers: dict[str, Caller] = {}
    for number, line in enumerate(text.splitlines(), 1):
        words = line.split()
        if not words or words[0].startswith("#"):
            continue
        token, *names = words
        problem = ""
        if not _TOKEN.fullmatch(token) or len(token) < _SHORTEST:
            problem = f"a token has at least {_SHORTEST} characters of A-Z a-z 0-9 . _ ~ + / = -"
        elif len(names) > 2 or not all(map(_NAME.fullmatch, names)):
            problem = "only a name and a profile may follow a token"
        elif token in callers:
            problem = "this token appears twice"
        if problem:
            raise EngineError(
                ErrorCode.TOKEN_FILE_INVALID, f"{path}:{number}: {problem}", details={"file": path, "line": number}
            )
        callers[token] = Caller(*names)
    if not callers:
        raise EngineError(
            ErrorCode.TOKEN_FILE_INVALID,
            f"The token file {path} has no token",
            hint="Delete the file: the next start creates a new one.",
        )
    return callers
