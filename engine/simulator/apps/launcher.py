"""The home screen: a grid of icons, and the overview of recent apps."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import do_nothing, launch
from clawperator.engine.simulator.apps.view import App, Scene, Screen, ViewSpec, column, label, page, row

PACKAGE = "com.android.launcher3"
_PER_ROW = 4


def _main(scene: Scene) -> Screen:
    icons = [_icon(package, name) for package, name in scene.launchers]
    rows = [icons[start : start + _PER_ROW] for start in range(0, len(icons), _PER_ROW)]
    grid = [row(*line, *_blanks(_PER_ROW - len(line)), height=104, gap=8) for line in rows]
    search = ViewSpec(
        kind="TextView", id="search_container_hotseat", desc="Search", tap=do_nothing, height=52, look="hint"
    )
    return Screen(
        activity=".uioverrides.QuickstepLauncher",
        root=page(
            column(
                label("Friday, 20 November", id="clock", height=96, look="heading"),
                column(*grid, id="workspace", weight=1, gap=12),
                search,
                id="launcher",
                weight=1,
                pad=16,
            )
        ),
    )


def _icon(package: str, name: str) -> ViewSpec:
    return ViewSpec(kind="TextView", id="icon", text=name, desc=name, tap=launch(package), hold=do_nothing, look="app")


def _blanks(count: int) -> list[ViewSpec]:
    return [ViewSpec(kind="View") for _ in range(count)]


def _recents(scene: Scene) -> Screen:
    names = dict(scene.launchers)
    packages = [p for p in scene.facts.get("recents", "").split("\n") if p in names]
    cards = [_task_card(package, names[package]) for package in packages]
    empty = label("No recent items", id="empty", height=48)
    body = column(*(cards or [empty]), id="overview_panel", weight=1, pad=24, gap=16)
    return Screen(activity=".RecentsActivity", root=page(body))


def _task_card(package: str, name: str) -> ViewSpec:
    title = label(name, id="task_title", height=40, look="heading")
    return column(title, kind="FrameLayout", id="task", desc=name, tap=launch(package), height=160, pad=16, look="card")


LAUNCHER = App(
    package=PACKAGE,
    label="Home",
    screens={"main": _main, "recents": _recents},
    system=True,
    launchable=False,
    version_name="14",
    version_code=34,
)
