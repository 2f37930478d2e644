"""``emulator`` in ``--output pretty``: what there is, what runs, and what an unsupported one lacks."""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

from rich.text import Text

from clawperator.app.cli.output import visible
from clawperator.app.cli.pretty.drawing import BAD, FAINT, GOOD, UNSURE, plain_table, safe_text
from clawperator.engine.emulators.avds import required

if TYPE_CHECKING:
    from collections.abc import Iterator, Mapping, Sequence

    from rich.console import RenderableType

    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.running import RunningEmulator

_COLUMNS = ("name", "state", "api", "abi", "profile", "play store", "supported")


def avds(data: tuple[Sequence[Avd], Sequence[str]]) -> Iterator[RenderableType]:
    listed, abis = data
    if not listed:
        yield safe_text("No virtual devices. Create one with `clawperator emulator provision`.", UNSURE)
        return
    table = plain_table(*_COLUMNS)
    for avd in listed:
        table.add_row(
            safe_text(avd.name),
            _state(avd),
            safe_text("" if avd.api_level is None else avd.api_level),
            safe_text(avd.abi or ""),
            safe_text(avd.device_profile or ""),
            safe_text("yes" if avd.play_store else "no"),
            _verdict(avd.unsupported_reasons, abis),
        )
    yield table


def avd(data: tuple[Avd, Sequence[str]]) -> Iterator[RenderableType]:
    one, abis = data
    yield Text.assemble((visible(one.name), "bold"), "  ", _state(one))
    if not one.exists:
        return
    facts = (
        ("API level", one.api_level, "unsupported_api_level"),
        ("ABI", one.abi, "unsupported_abi"),
        ("device profile", one.device_profile, "unsupported_device_profile"),
        ("system image", one.system_image, "missing_play_store"),
    )
    for label, value, reason in facts:
        shown = visible("unknown" if value is None else value)
        if reason in one.unsupported_reasons:
            wanted = f"  {reason}: must be {required(reason, abis)}"
            yield Text.assemble(f"  {label}: {shown}", (visible(wanted), BAD))
        else:
            yield safe_text(f"  {label}: {shown}")


def emulators(data: tuple[Sequence[RunningEmulator], Sequence[str]]) -> Iterator[RenderableType]:
    running, abis = data
    if not running:
        yield safe_text("No emulator is running.", UNSURE)
        return
    table = plain_table("name", "serial", "state", "supported")
    for one in running:
        state = safe_text("booted", GOOD) if one.booted else safe_text("booting", UNSURE)
        table.add_row(safe_text(one.avd_name), safe_text(one.serial), state, _verdict(one.unsupported_reasons, abis))
    yield table


def emulator_up(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield Text.assemble((visible(data["avdName"]), "bold"), ("  runs", GOOD), f" as {visible(data['serial'])}")


def emulator_stopped(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['avdName']} is stopping")
    if details := data.get("details"):
        yield safe_text(f"  adb still lists {details['serial']}", UNSURE)


def avd_deleted(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    yield safe_text(f"{data['avdName']} was deleted")


def provisioned(data: Mapping[str, Any]) -> Iterator[RenderableType]:
    how = "created and started" if data["created"] else "started" if data["started"] else "already running"
    yield Text.assemble(
        (visible(data["avdName"]), "bold"), ("  ready", GOOD), f" as {visible(data['serial'])}", (f"  {how}", FAINT)
    )


def _state(avd: Avd) -> Text:
    if not avd.exists:
        return safe_text("does not exist", UNSURE)
    return safe_text("running", GOOD) if avd.running else safe_text("stopped", FAINT)


def _verdict(reasons: Sequence[str], abis: Sequence[str]) -> Text:
    if not reasons:
        return safe_text("yes", GOOD)
    lines = (f"{reason}: must be {required(reason, abis)}" for reason in reasons)
    return safe_text("\n".join(map(visible, lines)), BAD, lines=True)
