"""A browser without a network: every address is a page that shows the address."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import EffectTarget
from clawperator.engine.simulator.apps.view import App, Scene, Screen, ViewSpec, column, label, page, row, text_field

PACKAGE = "com.android.chrome"
ACTIVITY = "com.google.android.apps.chrome.Main"
_HINT = "Search or type URL"


def _visit(actor: EffectTarget) -> None:
    """Open the URL in the address bar."""
    address = str(actor.state.pop("url", "")).strip().removeprefix("https://").removeprefix("http://")
    if address:
        actor.push("page", address)


def _bar(scene: Scene) -> ViewSpec:
    field = text_field(scene, "url", scene.arg or _HINT, id="url_bar", submit=_visit, weight=1)
    return row(field, id="toolbar", height=64, pad=4, look="bar")


def _main(scene: Scene) -> Screen:
    body = column(label("New tab", id="new_tab_title", height=64, look="heading"), weight=1, pad=24)
    return Screen(activity=ACTIVITY, root=page(_bar(scene), body))


def _page(scene: Scene) -> Screen:
    host, _, path = scene.arg.partition("/")
    web = column(
        label(host, height=64, look="heading"),
        label(f"/{path}", height=48),
        label("A simulated page: nothing is fetched.", height=48),
        kind="android.webkit.WebView",
        text=host,
        weight=1,
        pad=24,
    )
    return Screen(activity=ACTIVITY, root=page(_bar(scene), web))


BROWSER = App(
    package=PACKAGE,
    label="Chrome",
    system=True,
    version_name="113.0.5672.136",
    version_code=567213636,
    uris={"https://": "page", "http://": "page"},
    screens={"main": _main, "page": _page},
)
