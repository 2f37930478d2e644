"""The stages of jobs on virtual devices (emulators.md#provisioning)."""

from __future__ import annotations

from clawperator.engine.progress import DONE

CHECK_TOOLS = "check_tools"
SCAN_RUNNING = "scan_running"
SCAN_AVDS = "scan_avds"
INSTALL_IMAGE = "install_image"
CREATE_AVD = "create_avd"
START = "start"
WAIT_ADB = "wait_adb"
WAIT_BOOT = "wait_boot"
ENABLE_SETTINGS = "enable_settings"
STOP = "stop"
"""The only stage of stopping."""
STAGES = (
    CHECK_TOOLS,
    SCAN_RUNNING,
    SCAN_AVDS,
    INSTALL_IMAGE,
    CREATE_AVD,
    START,
    WAIT_ADB,
    WAIT_BOOT,
    ENABLE_SETTINGS,
    DONE,
)
"""The stages of provisioning, in order."""
