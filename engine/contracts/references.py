"""References: the number of a node in a dump, and the id of the dump."""

from __future__ import annotations

import re
from typing import NamedTuple, Self

TREE_ID = re.compile(r"[0-9a-f]{8}")
REFERENCE = re.compile(rf"e([0-9]{{1,7}})@({TREE_ID.pattern})")


class Reference(NamedTuple):
    """The node at position ``number`` of the dump with the id ``tree``."""

    number: int
    tree: str

    @classmethod
    def read(cls, text: str) -> Self:
        """Return the value of a valid reference, such as ``e12@7f3a1b2c``."""
        found = REFERENCE.fullmatch(text)
        assert found is not None
        return cls(int(found[1]), found[2])

    def __str__(self) -> str:
        return f"e{self.number}@{self.tree}"


def tree_id(xml: str) -> str:
    """Return the id of a dump: the beginning of its sha256."""
    import hashlib

    return hashlib.sha256(xml.encode("utf-8", "surrogatepass")).hexdigest()[:8]
