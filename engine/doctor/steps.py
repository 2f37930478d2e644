"""Every check in report order, with the question that it answers and what it depends on (doctor.md#checks)."""

from __future__ import annotations

import asyncio
from collections.abc import Awaitable, Callable
from dataclasses import dataclass

from clawperator.engine.doctor import accessibility, building, condition, host, readiness
from clawperator.engine.doctor import device as device_checks
from clawperator.engine.doctor.check import Check
from clawperator.engine.doctor.visit import BlockedError, Visit
from clawperator.engine.errors import EngineError
from clawperator.engine.skills.registry import open_registry


@dataclass(frozen=True, slots=True)
class Step:
    """One check: ``question`` is the one whose time counts as that of the check; ``full`` ones belong to full runs only."""

    id: str
    find: Callable[[Visit], Awaitable[Check]]
    question: str = ""
    full: bool = False


async def _python(_: Visit) -> Check:
    return host.python_version()


async def _node(visit: Visit) -> Check:
    return host.node_version(await visit.tool("node", "--version"))


async def _git(visit: Visit) -> Check:
    return host.git_presence(await visit.tool("git", "--version"))


async def _skills(visit: Visit) -> Check:
    try:
        found = await asyncio.to_thread(open_registry, visit.env, visit.settings.skills_registry or None)
    except EngineError as exc:
        return host.skills_registry(exc)
    return host.skills_registry(found)


async def _adb(visit: Visit) -> Check:
    path, said = await visit.adb()
    answers = said is None and await visit.server_answers()
    return host.adb_presence(path, said, server_at=str(visit.server.address) if answers else "")


async def _server(visit: Visit) -> Check:
    return host.adb_server(str(visit.server.address), await visit.server_version())


async def _adb_version(visit: Visit) -> Check:
    (_, said), protocol = await visit.adb(), await visit.server_version()
    if said is None:
        await visit.need("host.adb.presence")
    if isinstance(protocol, EngineError):
        await visit.need("host.adb.server")
        raise protocol
    return host.adb_version(said or "", protocol)


async def _adb_servers(visit: Visit) -> Check:
    if not visit.server.address.is_local:
        return host.adb_servers((), visit.server.address.port)
    return host.adb_servers(await visit.adb_servers(), visit.server.address.port)


async def _java(visit: Visit) -> Check:
    return host.java_version(await visit.tool("java", "-version", both=True))


async def _assemble(visit: Visit) -> Check:
    await visit.after("host.adb.presence", "host.adb.server", "host.java.version")
    async with visit.timed("assemble"):
        return await building.gradle("build.android.assemble", visit.project, visit.env)


async def _discovery(visit: Visit) -> Check:
    await visit.after("build.android.assemble")
    return await visit.discover()


async def _install(visit: Visit) -> Check:
    device = await visit.device()
    async with visit.timed("install"):
        return await building.gradle("build.android.install", visit.project, visit.env, device_id=device.serial)


async def _launch(visit: Visit) -> Check:
    device = await visit.device()
    await visit.after("build.android.install")
    async with visit.timed("launch"):
        return await building.launch(device, visit.package)


async def _capability(visit: Visit) -> Check:
    try:
        (sdk, size, density, *_), _ = await visit.system()
    except EngineError as exc:
        return device_checks.capability(exc)
    return device_checks.capability((sdk, size, density))


async def _presence(visit: Visit) -> Check:
    listed, _ = await visit.packages()
    return readiness.apk_presence(visit.package, listed, visit.serial)


async def _version(visit: Visit) -> Check:
    await visit.need("readiness.apk.presence")
    listed, dump = await visit.packages()
    accepted = visit.settings.accepted_versions
    return readiness.version_compatibility(visit.package, listed, dump, strict=visit.strict, accepted=accepted)


async def _developer_options(visit: Visit) -> Check:
    return readiness.developer_options((await visit.settings_values())[0])


async def _usb_debugging(visit: Visit) -> Check:
    return readiness.usb_debugging((await visit.settings_values())[1])


async def _enabled(visit: Visit) -> Check:
    await visit.need("readiness.apk.presence")
    switch, listed = (await visit.settings_values())[2:4]
    return accessibility.enabled(switch, listed, visit.serial, visit.package)


async def _bound(visit: Visit) -> Check:
    """Of a service that is switched off nobody needs to hear that it does not run either."""
    enabled = await visit.begin("readiness.accessibility.enabled")
    await visit.need("readiness.apk.presence")
    if enabled.code is not None:
        raise BlockedError(enabled)
    dump, listed = (await visit.services())[0], (await visit.settings_values())[3]
    return accessibility.bound(dump, listed, visit.serial, visit.package)


async def _ui_automation(visit: Visit) -> Check:
    dump, *listings = await visit.services()
    processes = "\n".join(listing.text for listing in listings)
    return accessibility.ui_automation(dump, processes, visit.serial, visit.package)


async def _screen(visit: Visit) -> Check:
    power, policy = await visit.screen()
    return condition.screen(power, policy, visit.serial)


async def _log_buffer(visit: Visit) -> Check:
    parts, _ = await visit.system()
    return condition.log_buffer(parts[3], visit.serial)


async def _clock(visit: Visit) -> Check:
    parts, now = await visit.system()
    return condition.clock(parts[4], now)


async def _handshake(visit: Visit) -> Check:
    await visit.need("readiness.apk.presence")
    await visit.need("readiness.version.compatibility")
    async with visit.timed("handshake"):
        return await readiness.handshake(visit.send, visit.serial, visit.package)


async def _smoke(visit: Visit) -> Check:
    await visit.need("readiness.apk.presence")
    await visit.need("readiness.version.compatibility")
    await visit.after("readiness.handshake")
    async with visit.timed("smoke"):
        return await readiness.smoke(visit.send, visit.serial)


STEPS = (
    Step("host.python.version", _python),
    Step("host.node.version", _node, "node"),
    Step("host.git.presence", _git, "git"),
    Step("host.skills.registry", _skills),
    Step("host.adb.presence", _adb, "adb"),
    Step("host.adb.server", _server, "server"),
    Step("host.adb.version", _adb_version),
    Step("host.adb.servers", _adb_servers, "servers"),
    Step("host.java.version", _java, "java", full=True),
    Step("build.android.assemble", _assemble, "assemble", full=True),
    Step("device.discovery", _discovery, "devices"),
    Step("build.android.install", _install, "install", full=True),
    Step("build.android.launch", _launch, "launch", full=True),
    Step("device.capability", _capability, "system"),
    Step("readiness.apk.presence", _presence, "packages"),
    Step("readiness.version.compatibility", _version, "packages"),
    Step("readiness.settings.dev_options", _developer_options, "settings"),
    Step("readiness.settings.usb_debugging", _usb_debugging, "settings"),
    Step("readiness.accessibility.enabled", _enabled, "settings"),
    Step("readiness.accessibility.bound", _bound, "services"),
    Step("readiness.uiautomation", _ui_automation, "services"),
    Step("device.screen", _screen, "screen"),
    Step("device.log_buffer", _log_buffer, "system"),
    Step("device.clock", _clock, "system"),
    Step("readiness.handshake", _handshake, "handshake"),
    Step("readiness.smoke", _smoke, "smoke", full=True),
)
"""The ids that are not of the contract are advisory: skills registry, adb version and servers, accessibility, UiAutomation, screen, log, clock."""
