"""``--output pretty`` of ``emulator``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, line, records, safe_text
from clawperator.engine.emulators.avds import required

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.running import RunningEmulator


def avds(data: tuple[Sequence[Avd], Sequence[str]]) -> Drawing:
    listed, abis = data
    if not listed:
        yield safe_text("No virtual devices. Create one with `clawperator emulator provision`.", UNSURE)
        return
    columns: Columns = {
        "name": "name",
        "state": _state,
        "API": lambda avd: "" if avd.api_level is None else avd.api_level,
        "ABI": lambda avd: avd.abi or "",
        "device profile": lambda avd: avd.device_profile or "",
        "Play Store": lambda avd: "yes" if avd.play_store else "no",
        "supported": lambda avd: _verdict(avd.unsupported_reasons, abis),
    }
    yield records(listed, columns)


def avd(data: tuple[Avd, Sequence[str]]) -> Drawing:
    one, abis = data
    yield line((one.name, "bold"), "  ", _state(one))
    if not one.exists:
        return
    for label, value, reason in (
        ("API level", one.api_level, "unsupported_api_level"),
        ("ABI", one.abi, "unsupported_abi"),
        ("device profile", one.device_profile, "unsupported_device_profile"),
        ("system image", one.system_image, "missing_play_store"),
    ):
        unsupported = reason in one.unsupported_reasons
        needed = f"  {reason}: must be {required(reason, abis)}" if unsupported else ""
        yield line(f"  {label}: {'unknown' if value is None else value}", (needed, BAD))


def emulators(data: tuple[Sequence[RunningEmulator], Sequence[str]]) -> Drawing:
    running, abis = data
    if not running:
        yield safe_text("No emulator is running.", UNSURE)
        return
    columns: Columns = {
        "name": "avd_name",
        "serial": "serial",
        "state": lambda one: ("booted", GOOD) if one.booted else ("booting", UNSURE),
        "supported": lambda one: _verdict(one.unsupported_reasons, abis),
    }
    yield records(running, columns)


def emulator_started(data: Data) -> Drawing:
    yield line((data["avdName"], "bold"), ("  running", GOOD), f" as {data['serial']}")


def emulator_stopped(data: Data) -> Drawing:
    yield safe_text(f"{data['avdName']} is stopping")
    if details := data.get("details"):
        yield safe_text(f"  adb still lists {details['serial']}", UNSURE)


def avd_deleted(data: Data) -> Drawing:
    yield safe_text(f"{data['avdName']} was deleted")


def provisioned(data: Data) -> Drawing:
    how = "created and started" if data["created"] else "started" if data["started"] else "already running"
    yield line((data["avdName"], "bold"), ("  ready", GOOD), f" as {data['serial']}", (f"  {how}", FAINT))


def _state(avd: Avd) -> Text:
    if not avd.exists:
        return safe_text("does not exist", UNSURE)
    return safe_text("running", GOOD) if avd.running else safe_text("stopped", FAINT)


def _verdict(reasons: Sequence[str], abis: Sequence[str]) -> Text:
    if not reasons:
        return safe_text("yes", GOOD)
    lines = (f"{reason}: must be {required(reason, abis)}" for reason in reasons)
    return safe_text("\n".join(map(visible, lines)), BAD, lines=True)
