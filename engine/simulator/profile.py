"""Properties, settings and packages of a fresh device."""

from __future__ import annotations

from collections.abc import Iterable

from clawperator.engine.simulator.apps.view import App
from clawperator.engine.simulator.packages import FIRST_APP_UID, SimulatedPackage

RELEASES = {21: "5.0", 22: "5.1", 23: "6.0", 24: "7.0", 25: "7.1.1", 26: "8.0.0", 27: "8.1.0", 28: "9", 29: "10"}
RELEASES |= {30: "11", 31: "12", 32: "12", 33: "13", 34: "14", 35: "15", 36: "16"}
ABI = "x86_64"
ADB_KEYBOARD = "com.android.adbkeyboard/.AdbIME"
"""Types what broadcasts contain; installed, and not enabled at first."""
KEYBOARDS = ("com.google.android.inputmethod.latin/com.android.inputmethod.latin.LatinIME", ADB_KEYBOARD)
NOTIFICATIONS = "android.permission.POST_NOTIFICATIONS"

_SYSTEM_PACKAGES = (
    "android",
    "com.android.systemui",
    "com.android.shell",
    "com.android.providers.settings",
    "com.android.providers.media",
    "com.android.permissioncontroller",
    "com.android.packageinstaller",
    "com.google.android.inputmethod.latin",
)
_SYSTEM_UIDS = {"android": 1000, "com.android.shell": 2000, "com.android.settings": 1000}


def properties(
    *, serial: str, model: str, avd_name: str, sdk: int, density: int, build: str = "userdebug", booted: bool = True
) -> dict[str, str]:
    """System properties of a booted emulator image."""
    device = "emu64xa" if sdk >= 31 else "generic_x86_64"
    release = RELEASES.get(sdk, str(sdk))
    keys = "release-keys" if build == "user" else "dev-keys"
    fingerprint = f"google/sdk_gphone64_x86_64/{device}:{release}/SIM.231120.001/10000001:{build}/{keys}"
    complete = "1" if booted else ""
    return {
        "dev.bootcomplete": complete,
        "init.svc.adbd": "running",
        "init.svc.bootanim": "stopped" if booted else "running",
        "persist.sys.locale": "en-US",
        "persist.sys.timezone": "UTC",
        "ro.adb.secure": "1",
        "ro.boot.qemu": "1",
        "ro.boot.qemu.avd_name": avd_name,
        "ro.boot.serialno": serial,
        "ro.build.characteristics": "emulator",
        "ro.build.fingerprint": fingerprint,
        "ro.build.type": build,
        "ro.build.version.release": release,
        "ro.build.version.sdk": str(sdk),
        "ro.debuggable": str(int(build != "user")),
        "ro.hardware": "ranchu",
        "ro.kernel.qemu": "1",
        "ro.kernel.qemu.avd_name": avd_name,
        "ro.product.brand": "google",
        "ro.product.cpu.abi": ABI,
        "ro.product.cpu.abilist": ABI,
        "ro.product.device": device,
        "ro.product.locale": "en-US",
        "ro.product.manufacturer": "Google",
        "ro.product.model": model,
        "ro.product.name": "sdk_gphone64_x86_64",
        "ro.serialno": serial,
        "ro.sf.lcd_density": str(density),
        "sys.boot_completed": complete,
    }


def settings() -> dict[str, dict[str, str]]:
    """The settings provider's tables."""
    return {
        "global": {
            "adb_enabled": "1",
            "airplane_mode_on": "0",
            "animator_duration_scale": "1.0",
            "auto_time": "1",
            "bluetooth_on": "0",
            "development_settings_enabled": "1",
            "device_name": "sdk_gphone64_x86_64",
            "mobile_data": "1",
            "transition_animation_scale": "1.0",
            "wifi_on": "1",
            "window_animation_scale": "1.0",
            "zen_mode": "0",
        },
        "secure": {
            "accessibility_enabled": "0",
            "android_id": "5f1a9c3e7b2d4806",
            "default_input_method": KEYBOARDS[0],
            "enabled_input_methods": KEYBOARDS[0],
            "enabled_notification_listeners": "",
            "location_mode": "3",
            "user_setup_complete": "1",
        },
        "system": {
            "accelerometer_rotation": "0",
            "dark_theme": "0",
            "font_scale": "1.0",
            "haptic_feedback_enabled": "1",
            "screen_brightness": "128",
            "screen_brightness_mode": "0",
            "screen_off_timeout": "60000",
            "system_locales": "en-US",
            "user_rotation": "0",
        },
    }


def packages(apps: Iterable[App]) -> dict[str, SimulatedPackage]:
    """The system's own packages, and one per app."""
    found = {name: SimulatedPackage(name, 0, "14", 34, system=True) for name in _SYSTEM_PACKAGES}
    for app in apps:
        found[app.package] = SimulatedPackage(
            app.package, 0, app.version_name, app.version_code, system=app.system, requested=app.permissions
        )
    for number, package in enumerate(found.values()):
        package.uid = _SYSTEM_UIDS.get(package.name, FIRST_APP_UID + 50 + number)
    return found
