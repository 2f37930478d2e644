"""What a verb acts on."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Protocol

from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.widgets.models.snapshot import TreeSnapshot


class SubjectSource(Protocol):
    """The tree that a subject is on."""

    def read_again(self) -> bool:
        """Request a new tree, to show it; return whether it comes."""

    def seen_now(self, subject: Subject) -> Subject:
        """Return the subject on the tree that is shown now."""


@dataclass(frozen=True, slots=True)
class Subject:
    """What a verb acts on: a matcher, and what is known of it on ``tree``, which ``source`` shows.

    ``matches`` counts its on-screen matches, of which the device uses ``first_name``. ``container`` is for scrolling.
    ``warnings`` are sentences about the node; ``outdated`` says why the tree no longer shows the screen.
    """

    matcher: Matcher
    container: Matcher | None = None
    node_name: str = ""
    matches: int = 0
    first_name: str = ""
    warnings: Sequence[str] = ()
    tree: TreeSnapshot = TreeSnapshot.EMPTY
    outdated: str = ""
    source: SubjectSource | None = None
