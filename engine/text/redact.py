"""Redaction of personal data and secrets. Pure.

Recognised by shape: home folders, e-mail addresses, tokens and passwords, network addresses, emulator and Wi-Fi serials. The user, the
host and other serials must be given. A serial always gets the same pseudonym, so that devices can be distinguished.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from typing import Any

_TELLING = r"(?:password|passwd|passphrase|secret|token|api[_-]?key|access[_-]?key|private[_-]?key|authorization|cookie|credential)"
_NAMED = re.compile(  # possessive: a shorter name never matches
    rf"(?i)({_TELLING}[A-Z0-9_.-]{{0,64}}+[\"']?\s{{0,3}}[:=]\s{{0,3}}[\"']?)([^\s\"',;&}}]+)"
)
_SECRET_KEY = re.compile(rf"(?i){_TELLING}")
_PEM = re.compile(r"-----BEGIN [A-Z ]{0,40}PRIVATE KEY-----.*?(?:-----END [A-Z ]{0,40}PRIVATE KEY-----|\Z)", re.DOTALL)
_SCHEME = re.compile(r"(?i)\b(bearer|basic|digest)(\s{1,3})([A-Za-z0-9._~+/=-]{8,})")
_IN_URL = re.compile(r"(?<=://)[^\s/@]{1,256}@")
_KNOWN_TOKEN = re.compile(
    r"\b(?:eyJ[A-Za-z0-9_-]{8,}\.[A-Za-z0-9._-]+|gh[opsur]_[A-Za-z0-9]{16,}|github_pat_\w{16,}|glpat-[\w-]{16,}|"
    r"sk-[\w-]{16,}|xox[a-z]-[\w-]{10,}|AKIA[0-9A-Z]{12,}|AIza[\w-]{30,}|hf_\w{16,}|npm_\w{16,}|pypi-[\w-]{16,})"
)
_LONG_WORD = re.compile(r"(?<![\w+=-])[\w+=-]{32,}(?![\w+=-])")
_UUID = re.compile(r"(?i)[0-9a-f]{8}(?:-[0-9a-f]{4}){3}-[0-9a-f]{12}")
_EMAIL = re.compile(r"[^\s@<>\"'(),;:\[\]]{1,64}@[\w-]{1,63}(?:\.[\w-]{1,63}){1,8}")
_HOMES = re.compile(r"(?i)(?<![\w.])((?:/home|/Users|/var/home|[A-Z]:\\{1,2}Users)[/\\]{1,2})([^/\\\s\"':]+)")
_NETWORK = re.compile(r"\b(?!127\.0\.0\.1\b|0\.0\.0\.0\b)(?:\d{1,3}\.){3}\d{1,3}(?=:\d{2,5}\b)(:\d{2,5})")
_HERE = re.compile(r"127\.0\.0\.1(:\d+)?")
"""The serial of a simulated device on this computer."""
_DEVICE = re.compile(r"\bemulator-\d{4,5}\b|\badb-[\w-]{6,64}\._adb[\w-]{0,32}\._tcp\b")
_SHORTEST_SERIAL = 4
"""A shorter serial is replaced only as a whole value: it matches inside many words."""
_COMMON_NAMES = frozenset(
    ("root", "user", "users", "home", "admin", "runner", "nobody", "localhost", "host", "device", "emulator", "secret", "email",
     "address", "android", "clawperator")
)  # fmt: skip
"""Names that identify no one and match ordinary words."""


class Redactor:
    """Redacts a whole bundle consistently; ``counts`` has the number of replacements by kind.

    ``home`` is the user's home folder; ``user``, ``host`` and ``serials`` are names to redact.
    """

    def __init__(self, *, home: str = "", user: str = "", host: str = "", serials: Iterable[str] = ()) -> None:
        self.counts: Counter[str] = Counter()
        self._stand_ins: dict[str, str] = {}
        self._home = _pattern([home.rstrip("/")], after=r"(?![\w.-])")
        self._names = {kind: _pattern([name]) for kind, name in (("host", host), ("user", user)) if _identifies(name)}
        for serial in serials:
            self._stand_in(serial)
        self._serials = _pattern(
            sorted((one for one in self._stand_ins if len(one) >= _SHORTEST_SERIAL), key=len)[::-1]
        )

    def text(self, text: str) -> str:
        """Return ``text`` redacted."""
        text = _PEM.sub(self._by("token", "<secret>"), text)
        text = _IN_URL.sub(self._by("token", "<secret>@"), text)
        text = _SCHEME.sub(self._by("token", r"\1\2<secret>"), text)
        text = _NAMED.sub(self._by("token", r"\1<secret>"), text)
        text = _KNOWN_TOKEN.sub(self._by("token", "<secret>"), text)
        text = _EMAIL.sub(self._by("e-mail address", "<email>"), text)
        text = self._serials.sub(lambda found: self._stand_in(found[0], counted=True), text)
        text = _DEVICE.sub(lambda found: self._stand_in(found[0], counted=True), text)
        text = self._home.sub(self._by("home folder", "~"), text)
        text = _HOMES.sub(self._by("home folder", r"\1<user>"), text)
        text = _NETWORK.sub(self._by("network address", r"<address>\1"), text)
        for kind, name in self._names.items():
            text = name.sub(self._by(f"{kind} name", f"<{kind}>"), text)
        return _LONG_WORD.sub(self._long, text)

    def value(self, value: Any) -> Any:
        """Return JSON data with texts and keys redacted; values of keys that name a secret are replaced."""
        match value:
            case str():
                return self._stand_in(value, counted=True) if value.casefold() in self._stand_ins else self.text(value)
            case dict():
                return {self.text(str(key)): self._entry(str(key), inner) for key, inner in value.items()}
            case list() | tuple():
                return [self.value(item) for item in value]
        return value

    def _entry(self, key: str, value: Any) -> Any:
        if isinstance(value, str) and value and _SECRET_KEY.search(key):
            self.counts["token"] += 1
            return "<secret>"
        return self.value(value)

    def _stand_in(self, serial: str, *, counted: bool = False) -> str:
        if not serial or _HERE.fullmatch(serial):
            return serial
        self.counts["device serial"] += counted
        kind = "emulator" if serial.startswith("emulator-") else "device"
        return self._stand_ins.setdefault(serial.casefold(), f"<{kind}-{len(self._stand_ins) + 1}>")

    def _by(self, kind: str, replacement: str) -> Callable[[re.Match[str]], str]:
        def replace(found: re.Match[str]) -> str:
            self.counts[kind] += 1
            return found.expand(replacement)

        return replace

    def _long(self, found: re.Match[str]) -> str:
        """Replace keys and hashes: long words in hex, or with digits and both cases."""
        word = found[0]
        mixed = any(map(str.isdigit, word)) and any(map(str.islower, word)) and any(map(str.isupper, word))
        if _UUID.fullmatch(word) or not (mixed or re.fullmatch(r"(?i)[0-9a-f]+", word)):
            return word
        self.counts["token"] += 1
        return "<secret>"


def _identifies(name: str) -> bool:
    return len(name) > 1 and name.lower() not in _COMMON_NAMES


def _pattern(words: Sequence[str], *, after: str = r"(?!\w)") -> re.Pattern[str]:
    """Return a pattern for ``words`` as whole words, in any case; without words it never matches."""
    alternatives = "|".join(re.escape(word) for word in words if len(word) > 1)
    return re.compile(rf"(?<![\w.-])(?:{alternatives}){after}" if alternatives else r"(?!)", re.IGNORECASE)


# -- tracebacks

_FRAME = re.compile(r"  File \"[^\"]{1,500}\", line \d+, in [\w.<>]{1,100}")
_HEADING = re.compile(
    r"\d{4}-\d\d-\d\d \d\d:\d\d:\d\d  [\w #.'-]{1,100}|clawperator [\w.+-]+, Python [\w.+-]+, \w+"
    r"|Traceback \(most recent call last\):|During handling of the above exception, another exception occurred:"
    r"|The above exception was the direct cause of the following exception:"
)
_RAISED = re.compile(r"([A-Za-z_][\w.]{0,200})(:.*)?")


def without_messages(text: str) -> list[str]:
    """Return the lines of tracebacks without messages, which can quote a screen.

    Only lines of known shape are kept; source lines are dropped, too.
    """
    kept: list[str] = []
    inside = False
    for line in text.splitlines():
        if _FRAME.fullmatch(line) or _HEADING.fullmatch(line):
            kept.append(line)
            inside = True
        elif inside and (raised := _RAISED.fullmatch(line)):
            kept.append(f"{raised[1]}: (message left out)" if raised[2] else raised[1])
            inside = False
    return kept
