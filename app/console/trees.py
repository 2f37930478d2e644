"""Parse UI trees and prepare what panes ask of them."""

from __future__ import annotations

from clawperator.engine.errors import EngineError
from clawperator.engine.hierarchy.postings import postings_anywhere, postings_of
from clawperator.engine.hierarchy.tree import UiTree, parse
from clawperator.widgets.models.find import words_of


def read_tree(xml: str, *, searching: bool = False) -> tuple[UiTree | None, str]:
    """Parse a dump; return the tree and what is wrong with the dump. Blocks: call it in a worker thread.

    ``searching`` also prepares the tree for the text search.
    """
    try:
        tree = parse(xml, recover=True)
    except EngineError as exc:
        return None, exc.message
    _ = tree.on_screen, searching and words_of(tree)
    return tree, tree.recovered


def warm(tree: UiTree) -> None:
    """Compute what finding and matching ask of every node, so that no key has to wait for it."""
    _ = words_of(tree), tree.roles
    postings_of(tree).prepare()
    postings_anywhere(tree).prepare()
