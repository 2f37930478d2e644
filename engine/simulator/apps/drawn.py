"""Screens whose content is not in the tree: a page in a WebView that has no children yet, and a drawn map."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import go_back
from clawperator.engine.simulator.apps.view import App, Scene, Screen, ViewSpec, label, page, toolbar

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
