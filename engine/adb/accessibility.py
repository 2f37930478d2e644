"""Parse ``dumpsys accessibility`` of Android 7 to 16 and of vendors: which services are listed, and which run.

The format differs between versions and vendors, so missing parts are empty, and whether a service is bound may be unknown.
"""

from __future__ import annotations

import re
from dataclasses import dataclass

MAX_DUMP = 1 << 20
"""Limit of the dump, in characters."""
_HEADING = r"(?i)^[ \t]*{kind}[ \t]*:[ \t]*\{{"
_COMPONENT = re.compile(r"[A-Za-z_][\w.]{0,255}/[\w.$]{1,512}", re.ASCII)
_USER = re.compile(r"^[ \t]*User state\[", re.MULTILINE)
_STATE_OF = re.compile(r"attributes:\{id=(\d{1,9})\b", re.ASCII)
_CURRENT_USER = re.compile(r"^[ \t]*currentUserId=(\d{1,9})\b", re.MULTILINE | re.ASCII)
"""Android 10 and later; before, the user's state has ``currentUser=true``."""
_SERVICE = re.compile(r"Service\[")
_LABEL = re.compile(r"label=([^,\]\n]{0,200})")
_UI_AUTOMATION = re.compile(r"^[ \t]*Ui ?Automation ?\[(?![ \t]*\])", re.MULTILINE | re.IGNORECASE)
_OLD_UI_AUTOMATION = re.compile(r"attributes:\{[^{}]*,\s*(?:Service\[|Exception occurred while dumping)")
"""Before Android 9 its client stands among the user's attributes, as a service without a label, on which the dump fails."""


@dataclass(frozen=True, slots=True)
class BoundService:
    """A running service. Android itself prints the label only; ``component`` is empty then."""

    label: str
    component: str = ""


@dataclass(frozen=True, slots=True)
class AccessibilityDump:
    """The state of the current ``user`` (0 where the dump does not say). Components are spelled ``package/full.class.Name``; ``known`` is false for another text.

    ``ui_automation``: some test client holds the UiAutomation connection, which keeps services suspended.
    """

    known: bool = False
    user: int = 0
    installed: tuple[str, ...] = ()
    enabled: tuple[str, ...] = ()
    bound: tuple[BoundService, ...] = ()
    binding: tuple[str, ...] = ()
    crashed: tuple[str, ...] = ()
    ui_automation: bool = False

    def is_bound(self, component: str, switched_on: int = 0) -> bool | None:
        """Whether that service runs; ``None`` where the dump does not show it.

        ``switched_on`` counts the entries of the secure list. Android before 10 does not repeat them here, so the caller vouches
        that ``component`` is one of them.
        """
        wanted = full_component(component)
        if not self.known:
            return None
        if wanted in (service.component for service in self.bound):
            return True
        if wanted in self.crashed or wanted in self.binding or not self.bound:
            return False
        if all(service.component for service in self.bound):
            return False
        if wanted in self.enabled and len(self.bound) == len(self.enabled):
            return True  # as many run as are enabled
        if not self.enabled and len(self.bound) == switched_on:
            return True
        return None


def full_component(text: str) -> str:
    """``package/.Class`` as ``package/package.Class``; other texts as they are."""
    package, slash, name = text.partition("/")
    return f"{package}/{package}{name}" if slash and name.startswith(".") else text


def parse_accessibility(text: str) -> AccessibilityDump:
    """Parse the dump of any Android; never raises."""
    text = text[:MAX_DUMP]
    state = _current_user(text)
    found = {
        kind: _block(state, f"{kind} services") for kind in ("installed", "enabled", "bound", "binding", "crashed")
    }
    if found["bound"] is None:  # Android 8 and before
        found["bound"] = _block(state, "services")
    held = any(pattern.search(text) for pattern in (_UI_AUTOMATION, _OLD_UI_AUTOMATION))
    return AccessibilityDump(
        known=held or found["bound"] is not None,
        user=int(user[1]) if (user := _STATE_OF.search(state)) else 0,
        installed=_components(found["installed"]),
        enabled=_components(found["enabled"]),
        bound=_services(found["bound"]),
        binding=_components(found["binding"]),
        crashed=_components(found["crashed"]),
        ui_automation=held,
    )


def _current_user(text: str) -> str:
    starts = [match.start() for match in _USER.finditer(text)]
    if not starts:
        return text
    states = [text[at:end] for at, end in zip(starts, [*starts[1:], len(text)], strict=True)]
    current = _CURRENT_USER.search(text[: starts[0]])
    of_current = re.compile(rf"\{{id={current[1]}\b" if current else r"currentUser=true")
    return next((state for state in states if of_current.search(state[:400])), states[0])


def _block(state: str, kind: str) -> str | None:
    """The text between the braces after ``kind:``; ``None`` without such a heading."""
    heading = re.search(_HEADING.format(kind=re.escape(kind)), state, re.MULTILINE)
    if heading is None:
        return None
    depth = 1
    for brace in re.finditer(r"[{}]", state[heading.end() :]):
        depth += 1 if brace[0] == "{" else -1
        if not depth:
            return state[heading.end() : heading.end() + brace.start()]
    return state[heading.end() :]


def _components(block: str | None) -> tuple[str, ...]:
    return tuple(dict.fromkeys(full_component(found) for found in _COMPONENT.findall(block or "")))


def _services(block: str | None) -> tuple[BoundService, ...]:
    found: list[BoundService] = []
    for piece in _SERVICE.split(block or "")[1:]:
        label, component = _LABEL.search(piece), _COMPONENT.search(piece)
        found.append(BoundService(label[1].strip() if label else "", full_component(component[0]) if component else ""))
    if not found:  # a vendor's list of names, one a line
        found = [BoundService("", component) for component in _components(block)]
    return tuple(found)
