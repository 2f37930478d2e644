"""Apps that tests and benchmarks need: content that is not in the tree, a screen that is never idle, an exact number of nodes."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import do_nothing, go_back
from clawperator.engine.simulator.apps.view import (
    App,
    Scene,
    Screen,
    ViewSpec,
    button,
    column,
    label,
    page,
    row,
    scroll_list,
    toolbar,
)

DRAWN = {"webview_empty": "android.webkit.WebView", "canvas": "android.view.SurfaceView"}
"""The class of the view by the scenario's name for it."""


def drawn_app(what: str) -> App:
    """Return an app whose only screen has a title, a caption, and a large view of that class."""

    def main(_: Scene) -> Screen:
        area = ViewSpec(kind=DRAWN[what], id="area", weight=1, look="image")
        return Screen(
            root=page(toolbar("Places", back=go_back), area, label("3 places nearby", id="caption", height=40))
        )

    return App(package="com.example.places", label="Places", screens={"main": main})


def _syncing(scene: Scene) -> Screen:
    percent = scene.tick * 7 % 100
    body = column(
        ViewSpec(kind="ProgressBar", id="progress", desc="Syncing", height=96),
        label(f"Syncing… {percent}%", id="status", height=48, look="heading"),
        label(f"{scene.tick} files checked", id="detail", height=32),
        button("Cancel", go_back, id="cancel"),
        weight=1,
        pad=24,
        gap=16,
    )
    return Screen(idle=False, root=page(toolbar("Sync"), body))


SPINNER = App(
    package="com.example.spinner", label="Sync", version_name="1.4", version_code=14, screens={"main": _syncing}
)


_PER_ITEM = 5


def huge_app(nodes: int) -> App:
    """An app whose only screen has exactly ``nodes`` nodes (at least 2): a list of cards, and a few single labels."""
    items, singles = divmod(nodes - 2, _PER_ITEM)

    def main(_: Scene) -> Screen:
        cards = [_card(number) for number in range(items)]
        rest = [label(f"Footnote {number + 1}", id="footnote") for number in range(singles)]
        return Screen(root=column(scroll_list(*cards, *rest), id="content", look="page"))

    return App(package="com.example.huge", label="Huge", screens={"main": main})


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
