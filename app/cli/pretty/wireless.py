"""``--output pretty`` of ``devices pair|connect|disconnect``."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from clawperator.app.cli.pretty.drawing import BAD, GOOD, UNSURE, plain_table, safe_text

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from clawperator.engine.adb.mdns import MdnsService


def paired(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    """What is paired now, and whether it is connected."""
    facts = data["paired"]
    guid = f" ({facts['guid']})" if facts["guid"] else ""
    yield safe_text(f"Paired with {facts['address']}{guid}", GOOD)
    if data["device"]:
        yield from connected(data["device"])
    if problem := data.get("problem"):
        yield safe_text(f"Not connected: {problem['message']}", BAD)
    for action in data.get("nextActions", ()):
        yield safe_text(f"Next: {action}", UNSURE)


def connected(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    verb = "Already connected" if data["alreadyConnected"] else "Connected"
    usable = data["state"] == "device"
    yield safe_text(f"{verb}: {data['serial']}" + ("" if usable else f" ({data['state']})"), GOOD if usable else UNSURE)


def announced(services: Sequence[MdnsService]) -> Iterator[RenderableType]:
    """What `clawperator devices pair` and `connect` would find."""
    if not services:
        yield safe_text("No devices discovered on the network.", UNSURE)
        return
    table = plain_table("announced", "type", "address")
    for service in services:
        table.add_row(safe_text(service.name), safe_text(service.kind), safe_text(service.address))
    yield table


def disconnected(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    if not data["disconnected"]:
        yield safe_text("No network devices were connected.", UNSURE)
    for serial in data["disconnected"]:
        yield safe_text(f"Disconnected: {serial}", GOOD)
