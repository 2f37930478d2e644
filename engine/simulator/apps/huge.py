"""A screen with an exact number of nodes, for benchmarks."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import do_nothing
from clawperator.engine.simulator.apps.view import App, Scene, Screen, ViewSpec, column, label, row, scroll_list

PACKAGE = "com.example.huge"
_PER_ITEM = 5


def huge_app(nodes: int) -> App:
    """An app whose only screen has exactly ``nodes`` nodes (at least 2): a list of cards, and a few single labels."""
    items, singles = divmod(nodes - 2, _PER_ITEM)

    def main(_: Scene) -> Screen:
        cards = [_card(number) for number in range(items)]
        rest = [label(f"Footnote {number + 1}", id="footnote") for number in range(singles)]
        return Screen(root=column(scroll_list(*cards, *rest), id="content", look="page"))

    return App(package=PACKAGE, label="Huge", screens={"main": main})


def _card(number: int) -> ViewSpec:
    texts = column(
        label(f"Item {number}", id="title"),
        label(f"Detail of item {number} & its “neighbours”", id="summary"),
        id="texts",
        weight=1,
    )
    return row(
        ViewSpec(kind="ImageView", id="thumbnail", width=48), texts, id="card", height=64, tap=do_nothing, look="card"
    )
