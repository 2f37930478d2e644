"""A screen that is never idle: each snapshot shows another number."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import go_back
from clawperator.engine.simulator.apps.view import App, Scene, Screen, ViewSpec, button, column, label, page, toolbar

PACKAGE = "com.example.spinner"


def _main(scene: Scene) -> Screen:
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


SPINNER = App(package=PACKAGE, label="Sync", version_name="1.4", version_code=14, screens={"main": _main})
