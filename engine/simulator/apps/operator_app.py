"""The Operator's own window: whether its accessibility service runs, and a button to enable it."""

from __future__ import annotations

from clawperator.engine.contracts.operator_identity import brand_of, service_of
from clawperator.engine.simulator.apps.effects import launch
from clawperator.engine.simulator.apps.view import App, Scene, Screen, button, column, label, page, toolbar


def operator_app(package: str, version: str) -> App:
    """The app as installed under ``package``."""
    brand = brand_of(package)

    def main(scene: Scene) -> Screen:
        listed = scene.setting("secure", "enabled_accessibility_services").split(":")
        on = service_of(package) in listed and scene.setting("secure", "accessibility_enabled") == "1"
        body = column(
            label("Accessibility service is running" if on else "Accessibility service is off", id="status", height=48),
            label(f"Version {version}", id="version", height=32),
            button("Open settings", launch("com.android.settings"), id="open_settings", look="primary"),
            weight=1,
            pad=24,
            gap=16,
        )
        return Screen(activity=brand.activity, root=page(toolbar(f"{brand.word} Operator"), body))

    return App(package=package, label="Operator", version_name=version, screens={"main": main})
