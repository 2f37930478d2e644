"""Settings: nested pages over the device's real settings tables, switches, and a list longer than the screen."""

from __future__ import annotations

from clawperator.engine.simulator.apps.effects import Effect, EffectTarget, do_nothing, flip_setting, go, go_back
from clawperator.engine.simulator.apps.view import (
    App,
    Scene,
    Screen,
    ViewSpec,
    column,
    icon_button,
    label,
    page,
    row,
    scroll_list,
    text_field,
    toolbar,
)

PACKAGE = "com.android.settings"
TAPS_TO_DEVELOPER = 7
WIFI = "Wi\u2011Fi"
"""With a non-breaking hyphen, as Android writes it: a matcher with a plain one finds nothing."""

_CATEGORIES = (
    ("Network & internet", f"Mobile, {WIFI}, hotspot", "network"),
    ("Connected devices", "Bluetooth, pairing", "connected"),
    ("Apps", "Assistant, recent apps, default apps", "apps"),
    ("Notifications", "Notification history, conversations", ""),
    ("Battery", "87%", "battery"),
    ("Storage", "42% used - 37.12 GB free", ""),
    ("Sound & vibration", "Volume, haptics, Do Not Disturb", ""),
    ("Display", "Dark theme, font size, brightness", "display"),
    ("Wallpaper & style", "Colors, themed icons, app grid", ""),
    ("Accessibility", "Display, interaction, audio", ""),
    ("Security & privacy", "App security, device lock, permissions", ""),
    ("Location", "On - 3 apps have access to location", ""),
    ("Safety & emergency", "Emergency SOS, medical info, alerts", ""),
    ("Passwords & accounts", "Saved passwords, autofill, synced accounts", ""),
    ("Digital Wellbeing & parental controls", "Screen time, app timers, bedtime schedules", ""),
    ("Google", "Services & preferences", ""),
    ("System", "Languages, gestures, time, backup", "system"),
    ("About emulated device", "Pixel 7", "about"),
)
_NETWORKS = (("AndroidWifi", "Connected"), ("Corner Café", "Saved"), ('Neighbour\'s "5G" <fast>', "Secured"))


def _count_down(actor: EffectTarget) -> None:
    """The build number's secret: the seventh tap turns developer options on."""
    actor.state["build_taps"] = actor.state.get("build_taps", 0) + 1
    if actor.state["build_taps"] >= TAPS_TO_DEVELOPER:
        actor.put_setting("global", "development_settings_enabled", "1")


def _open_search(actor: EffectTarget) -> None:
    """Search from an empty field."""
    actor.state["query"] = ""
    actor.push("search")


def preference(title: str, summary: str = "", tap: Effect | None = do_nothing, *extra: ViewSpec) -> ViewSpec:
    """One row of a preference screen."""
    texts = [label(title, id="android:id/title", height=28, look="heading")]
    if summary:
        texts.append(label(summary, id="android:id/summary", height=22))
    icon = ViewSpec(kind="ImageView", id="android:id/icon", width=40, height=40, look="image")
    return row(icon, column(*texts, kind="RelativeLayout", weight=1), *extra, tap=tap, height=76, pad=12, gap=16)


def switch(title: str, scene: Scene, namespace: str, key: str, summary: str = "") -> ViewSpec:
    """A row that flips a setting, with the switch that shows it."""
    on = scene.setting(namespace, key) == "1"
    widget = ViewSpec(kind="Switch", id="android:id/switch_widget", width=56, height=32, checkable=True, checked=on)
    return preference(title, summary, flip_setting(namespace, key), widget)


def _pane(title: str, *rows: ViewSpec, activity: str = ".SubSettings") -> Screen:
    return Screen(activity=activity, root=page(toolbar(title, back=go_back), scroll_list(*rows)))


def _main(_: Scene) -> Screen:
    search = ViewSpec(
        kind="TextView", id="search_action_bar_title", text="Search settings", tap=_open_search, height=52, look="hint"
    )
    body = scroll_list(search, *_categories(""), id="recycler_view")
    return Screen(
        activity=".Settings", root=page(label("Settings", id="homepage_title", height=88, look="heading", pad=16), body)
    )


def _categories(query: str) -> list[ViewSpec]:
    """Rows of the categories whose title or summary contains ``query``."""
    found = [row for row in _CATEGORIES if query.casefold() in f"{row[0]}\n{row[1]}".casefold()]
    return [preference(title, summary, go(target) if target else do_nothing) for title, summary, target in found]


def _search(scene: Scene) -> Screen:
    query = str(scene.state.get("query", "")).strip()
    found = _categories(query) if query else []
    bar = row(
        icon_button("Navigate up", go_back, id="search_back", size=52),
        text_field(scene, "query", "Search settings", id="search_src_text", weight=1),
        id="search_bar",
        height=64,
        gap=4,
        pad=4,
    )
    note = label("No results", id="no_results", height=64) if query and not found else label("", height=8)
    return Screen(activity=".SearchActivity", root=page(bar, note, scroll_list(*found, id="list_results")))


def _network(scene: Scene) -> Screen:
    wifi = "AndroidWifi" if scene.setting("global", "wifi_on") == "1" else "Off"
    return _pane(
        "Network & internet",
        preference("Internet", wifi, go("wifi")),
        preference("Calls & SMS", "T-Mobile"),
        preference("SIMs", "T-Mobile"),
        switch("Airplane mode", scene, "global", "airplane_mode_on"),
        preference("Hotspot & tethering", "Off"),
        preference("VPN", "None"),
    )


def _wifi(scene: Scene) -> Screen:
    on = scene.setting("global", "wifi_on") == "1"
    networks = [preference(name, state) for name, state in _NETWORKS] if on else []
    return _pane("Internet", switch(WIFI, scene, "global", "wifi_on"), *networks, preference("Network preferences"))


def _connected(scene: Scene) -> Screen:
    on = scene.setting("global", "bluetooth_on") == "1"
    note = preference("Pair new device", "Bluetooth will turn on to pair" if not on else "")
    return _pane("Connected devices", switch("Use Bluetooth", scene, "global", "bluetooth_on"), note)


def _apps(scene: Scene) -> Screen:
    return _pane("Apps", *(preference(name, package) for package, name in scene.launchers))


def _battery(_: Scene) -> Screen:
    return _pane("Battery", preference("Battery level", "87%"), preference("Time left", "About 1 day, 3 hr"))


def _display(scene: Scene) -> Screen:
    return _pane(
        "Display",
        preference("Brightness level", f"{round(int(scene.setting('system', 'screen_brightness') or 0) / 2.55)}%"),
        switch("Adaptive brightness", scene, "system", "screen_brightness_mode"),
        switch("Dark theme", scene, "system", "dark_theme", "Will turn on automatically at sunset"),
        switch("Auto-rotate screen", scene, "system", "accelerometer_rotation"),
        preference("Font size", "Default"),
    )


def _system(scene: Scene) -> Screen:
    rows = [
        preference("Languages", "English (United States)"),
        preference("Date & time", "GMT+00:00 Coordinated Universal Time"),
    ]
    if scene.setting("global", "development_settings_enabled") == "1":
        rows.append(preference("Developer options", "", go("developer")))
    return _pane("System", *rows)


def _developer(scene: Scene) -> Screen:
    return _pane(
        "Developer options",
        switch("Use developer options", scene, "global", "development_settings_enabled"),
        switch("USB debugging", scene, "global", "adb_enabled", "Debug mode when USB is connected"),
        switch("Stay awake", scene, "global", "stay_on_while_plugged_in", "Screen will never sleep while charging"),
    )


def _about(scene: Scene) -> Screen:
    build = "SIM.231120.001"
    developer = scene.setting("global", "development_settings_enabled") == "1"
    note = "You are already a developer" if developer else build
    return _pane(
        "About emulated device",
        preference("Device name", scene.setting("global", "device_name")),
        preference("Phone number", "Unknown"),
        preference("Model", "Pixel 7"),
        preference("Android version", "14", go("version")),
        preference("IP address", "10.0.2.16"),
        preference("Up time", "1:23:45"),
        preference("Build number", build if not scene.state.get("build_taps") else f"{build} ({note})", _count_down),
    )


def _version(_: Scene) -> Screen:
    return _pane(
        "Android version",
        preference("Android version", "14"),
        preference("Android security update", "November 5, 2023"),
        preference("Baseband version", "1.0.0.0"),
        preference("Kernel version", "6.1.23-android14-4"),
    )


SETTINGS = App(
    package=PACKAGE,
    label="Settings",
    system=True,
    version_name="14",
    version_code=34,
    uris={"android-settings:wifi": "wifi", "android-settings:display": "display"},
    screens={
        "main": _main,
        "search": _search,
        "network": _network,
        "wifi": _wifi,
        "connected": _connected,
        "apps": _apps,
        "battery": _battery,
        "display": _display,
        "system": _system,
        "developer": _developer,
        "about": _about,
        "version": _version,
    },
)
