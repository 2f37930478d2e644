"""Every check in report order, with its probe and its prerequisites (doctor.md#checks)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass, replace

from clawperator.engine.adb.batch import BatchOutput
from clawperator.engine.doctor import accessibility, device_health, gradle, host, readiness, stock
from clawperator.engine.doctor import device as device_checks
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.probes import BlockedError, Probes
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.registry import open_registry


@dataclass(frozen=True, slots=True)
class CheckSpec:
    """One check: ``probe`` is the one whose duration is that of the check; ``full`` checks belong to full runs only."""

    id: str
    find: Callable[[Probes], Awaitable[Check]]
    probe: str = ""
    full: bool = False


async def _python(_: Probes) -> Check:
    return host.python_version()


def _tool(
    check: Callable[[str | None], Check], name: str, argument: str, *, both: bool = False
) -> Callable[[Probes], Awaitable[Check]]:
    """Return ``check`` of what the program ``name`` prints."""

    async def find(probes: Probes) -> Check:
        return check(await probes.tool(name, argument, both=both))

    return find


async def _skills(probes: Probes) -> Check:
    try:
        found = await asyncio.to_thread(open_registry, probes.env, probes.settings.skills_registry or None)
    except EngineError as exc:
        return host.skills_registry(exc)
    return host.skills_registry(found)


async def _adb(probes: Probes) -> Check:
    path, output = await probes.adb()
    answers = output is None and await probes.server_answers()
    server_at = str(probes.server.address) if answers else ""
    return host.adb_presence(path, output, server_at=server_at, chosen=probes.settings.adb_path)


async def _server(probes: Probes) -> Check:
    address = probes.server.address
    return host.adb_server(str(address), await probes.server_version(), local=address.is_local)


async def _adb_version(probes: Probes) -> Check:
    (_, output), protocol = await probes.adb(), await probes.server_version()
    if output is None:
        await probes.need("host.adb.presence")
    if isinstance(protocol, EngineError):
        await probes.need("host.adb.server")
        raise protocol
    return host.adb_version(output or "", protocol, local=probes.server.address.is_local)


async def _adb_servers(probes: Probes) -> Check:
    if not probes.server.address.is_local:
        return host.adb_servers((), probes.server.address.port)
    return host.adb_servers(await probes.adb_servers(), probes.server.address.port)


async def _assemble(probes: Probes) -> Check:
    await probes.after("host.adb.presence", "host.adb.server", "host.java.version")
    async with probes.timed("assemble"):
        return await gradle.run_gradle("build.android.assemble", probes.project, probes.env)


async def _discovery(probes: Probes) -> Check:
    await probes.after("build.android.assemble")
    return await probes.discover()


async def _install(probes: Probes) -> Check:
    device = await probes.device()
    async with probes.timed("install"):
        return await gradle.run_gradle("build.android.install", probes.project, probes.env, device_id=device.serial)


async def _launch(probes: Probes) -> Check:
    device = await probes.device()
    await probes.after("build.android.install")
    async with probes.timed("launch"):
        return await gradle.launch(device, probes.package)


async def _capability(probes: Probes) -> Check:
    try:
        (sdk, size, density, _, _, booted, *_), _ = await probes.system()
    except EngineError as exc:
        return device_checks.capability(exc)
    return device_checks.capability((sdk, size, density), booted)


async def _stock_programs(probes: Probes) -> Check:
    (sdk, *_), _ = await probes.system()
    return stock.programs((await probes.services())[3:], sdk)


async def _presence(probes: Probes) -> Check:
    listed, dump = await probes.packages()
    return readiness.apk_presence(probes.package, listed, dump, probes.serial)


async def _version(probes: Probes) -> Check:
    await probes.need("readiness.apk.presence")
    listed, dump = await probes.packages()
    accepted = probes.settings.accepted_versions
    return readiness.version_compatibility(probes.package, listed, dump, strict=probes.strict, accepted=accepted)


def _switch(name: str, place: int) -> Callable[[Probes], Awaitable[Check]]:
    """Return the check of a system setting, the one at ``place`` of ``probes.SETTINGS``."""

    async def find(probes: Probes) -> Check:
        return readiness.switched_on(name, (await probes.settings_values())[place])

    return find


async def _enabled(probes: Probes) -> Check:
    await probes.need("readiness.apk.presence")
    switch, listed = (await probes.settings_values())[2:4]
    return accessibility.enabled(switch, listed, probes.serial, probes.package)


async def _bound(probes: Probes) -> Check:
    """Check that the service is running, unless it is switched off."""
    enabled = await probes.begin("readiness.accessibility.enabled")
    await probes.need("readiness.apk.presence")
    if enabled.code is not None:
        raise BlockedError(enabled)
    dump, listed = (await probes.services())[0], (await probes.settings_values())[3]
    _, about = await probes.packages()
    return accessibility.bound(dump, listed, about, probes.serial, probes.package)


async def _hidden_nodes(probes: Probes) -> Check:
    await probes.need("readiness.apk.presence")
    (sdk, *_), _ = await probes.system()
    dump, protection = (await probes.services())[0], (await probes.settings_values())[4]
    return accessibility.hidden_nodes(dump, sdk, protection, probes.package)


def _holder(check: Callable[[BatchOutput, str, str, str], Check]) -> Callable[[Probes], Awaitable[Check]]:
    """Return ``check`` of who holds UiAutomation, by ``dumpsys accessibility`` and both listings of processes."""

    async def find(probes: Probes) -> Check:
        dump, *listings = (await probes.services())[:3]
        return check(dump, "\n".join(listing.text for listing in listings), probes.serial, probes.package)

    return find


async def _screen(probes: Probes) -> Check:
    power, policy = await probes.screen()
    return device_health.screen(power, policy, probes.serial)


async def _log_buffer(probes: Probes) -> Check:
    parts, _ = await probes.system()
    return device_health.log_buffer(parts[3], probes.serial)


async def _clock(probes: Probes) -> Check:
    parts, now = await probes.system()
    return device_health.clock(parts[4], now)


async def _handshake(probes: Probes) -> Check:
    await probes.need("readiness.apk.presence")
    await probes.need("readiness.version.compatibility", warned=True)
    async with probes.timed("handshake"):
        found = await readiness.handshake(probes.send, probes.serial, probes.package)
    if found.code is not ErrorCode.DEVICE_ACCESSIBILITY_NOT_RUNNING:
        return found
    for check_id in ("readiness.accessibility.enabled", "readiness.accessibility.bound"):
        cause = await probes.begin(check_id)
        if cause.code is not None:  # its fix is the right one
            found = replace(found, fix_title=cause.fix_title, fix=cause.fix)
            switchable = any(step.kind == "shell" for step in cause.fix)
            return found if switchable else replace(found, guidance_screen="", guidance=())
    return found


async def _smoke(probes: Probes) -> Check:
    await probes.need("readiness.apk.presence")
    await probes.need("readiness.version.compatibility", warned=True)
    await probes.after("readiness.handshake")
    async with probes.timed("smoke"):
        return await readiness.smoke(probes.send, probes.serial)


CATALOG = (
    CheckSpec("host.python.version", _python),
    CheckSpec("host.node.version", _tool(host.node_version, "node", "--version"), "node"),
    CheckSpec("host.git.presence", _tool(host.git_presence, "git", "--version"), "git"),
    CheckSpec("host.skills.registry", _skills),
    CheckSpec("host.adb.presence", _adb, "adb"),
    CheckSpec("host.adb.server", _server, "server"),
    CheckSpec("host.adb.version", _adb_version),
    CheckSpec("host.adb.servers", _adb_servers, "servers"),
    CheckSpec("host.java.version", _tool(host.java_version, "java", "-version", both=True), "java", full=True),
    CheckSpec("build.android.assemble", _assemble, "assemble", full=True),
    CheckSpec("device.discovery", _discovery, "devices"),
    CheckSpec("build.android.install", _install, "install", full=True),
    CheckSpec("build.android.launch", _launch, "launch", full=True),
    CheckSpec("device.capability", _capability, "system"),
    CheckSpec("stock.programs", _stock_programs, "services"),
    CheckSpec("stock.uiautomation", _holder(stock.ui_automation), "services"),
    CheckSpec("readiness.apk.presence", _presence, "packages"),
    CheckSpec("readiness.version.compatibility", _version, "packages"),
    CheckSpec("readiness.settings.dev_options", _switch("dev_options", 0), "settings"),
    CheckSpec("readiness.settings.usb_debugging", _switch("usb_debugging", 1), "settings"),
    CheckSpec("readiness.accessibility.enabled", _enabled, "settings"),
    CheckSpec("readiness.accessibility.bound", _bound, "services"),
    CheckSpec("readiness.accessibility.hidden_nodes", _hidden_nodes, "services"),
    CheckSpec("readiness.uiautomation", _holder(accessibility.ui_automation), "services"),
    CheckSpec("device.screen", _screen, "screen"),
    CheckSpec("device.log_buffer", _log_buffer, "system"),
    CheckSpec("device.clock", _clock, "system"),
    CheckSpec("readiness.handshake", _handshake, "handshake"),
    CheckSpec("readiness.smoke", _smoke, "smoke", full=True),
)
