"""``--output pretty`` of ``devices …``, ``packages list`` and ``lock status``."""

from __future__ import annotations

from typing import TYPE_CHECKING

from clawperator.app.cli.pretty.styles import BAD, FAINT, GOOD, UNSURE
from clawperator.app.cli.pretty.toolbox import Columns, Data, Drawing, records, safe_text

if TYPE_CHECKING:
    from collections.abc import Sequence

    from clawperator.engine.adb.mdns import MdnsService
    from clawperator.engine.adb.presence import DeviceEntry


def devices(entries: Sequence[DeviceEntry]) -> Drawing:
    if not entries:
        yield safe_text("No devices. Connect one, or try `clawperator demo`.", UNSURE)
        return
    columns: Columns = {
        "serial": "serial",
        "state": lambda entry: (entry.state, GOOD if entry.usable else UNSURE),
        "model": "model",
        "product": "product",
        "connection": lambda entry: (entry.usb or entry.detail, FAINT),
    }
    if any(entry.shared_serial for entry in entries):
        columns = {**columns, "adb serial": "shared_serial"}
    if any(entry.other_transports for entry in entries):
        columns = {**columns, "same device as": lambda entry: (", ".join(entry.other_transports), UNSURE)}
    yield records(entries, columns)


def fleet(data: Data) -> Drawing:
    if not data["devices"]:
        yield safe_text("No host of the fleet offers a device. Run on a host: clawperator fleet join", UNSURE)
        return
    columns: Columns = {
        "device": "device",
        "state": lambda row: (row["state"], GOOD if row["state"] == "device" else UNSURE),
        "alias": "alias",
        "tags": lambda row: ", ".join(row["tags"]),
        "model": lambda row: row.get("model", ""),
        "also on": lambda row: (", ".join(row.get("alsoOn", ())), UNSURE),
    }
    yield records(data["devices"], columns)


def discovered(data: tuple[Sequence[DeviceEntry], Sequence[MdnsService]]) -> Drawing:
    yield from devices(data[0])
    yield from _announced(data[1])


def _announced(services: Sequence[MdnsService]) -> Drawing:
    """Draw the devices that ``devices pair`` and ``devices connect`` can discover."""
    if not services:
        yield safe_text("No devices discovered on the network.", UNSURE)
        return
    yield records(services, {"discovered": "name", "type": "kind", "address": "address"})


def paired(data: Data) -> Drawing:
    facts = data["paired"]
    guid = f" ({facts['guid']})" if facts["guid"] else ""
    yield safe_text(f"Paired with {facts['address']}{guid}", GOOD)
    if data["device"]:
        yield from connected(data["device"])
    if problem := data.get("problem"):
        yield safe_text(f"Not connected: {problem['message']}", BAD)
    for action in data.get("nextActions", ()):
        yield safe_text(f"Next: {action}", UNSURE)


def connected(data: Data) -> Drawing:
    verb = "Already connected" if data["alreadyConnected"] else "Connected"
    usable = data["state"] == "device"
    yield safe_text(f"{verb}: {data['serial']}" + ("" if usable else f" ({data['state']})"), GOOD if usable else UNSURE)


def disconnected(data: Data) -> Drawing:
    if not data["disconnected"]:
        yield safe_text("No network devices were connected.", UNSURE)
    for serial in data["disconnected"]:
        yield safe_text(f"Disconnected: {serial}", GOOD)


def packages(data: Data) -> Drawing:
    yield from map(safe_text, data["packages"])


def apps(data: Data) -> Drawing:
    if not data["apps"]:
        yield safe_text("No app matches.", UNSURE)
        return
    yield records(
        data["apps"],
        {"label": lambda app: app["label"] or "", "name": "derivedName", "application id": "applicationId"},
    )


def locks(data: Data) -> Drawing:
    if not data["locks"]:
        yield safe_text("No device is locked.", GOOD)
        return
    columns: Columns = {
        "device": "deviceId",
        "state": lambda lock: (lock["state"], GOOD if lock["state"] == "free" else UNSURE),
        "pid": "pid",
        "command": "commandId",
        "source": "source",
    }
    yield records(data["locks"], columns)
