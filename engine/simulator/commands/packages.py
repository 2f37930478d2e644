"""``pm`` and ``cmd package``: installed packages, permissions, installation."""

from __future__ import annotations

from collections.abc import Iterable
from getopt import GetoptError, gnu_getopt
from typing import Final

from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.operator.apk import ApkFacts, facts_of
from clawperator.engine.operator.zip_index import ZipError
from clawperator.engine.simulator.android_users import CURRENT, EVERY, IDS_PER_USER, OWNER, user_number
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.intents import parse_intent
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.dumpsys import dumpsys
from clawperator.engine.simulator.packages import FIRST_APP_UID, SimulatedPackage, version_code_of
from clawperator.engine.simulator.process import Command, Process, Service, command_of
from clawperator.engine.simulator.profile import NOTIFICATIONS

MAX_APK: Final = 512 * 1024 * 1024
_LIST_FLAGS: Final = "fdes3iluUa"
_LIST_LONG: Final = ("show-versioncode", "user=", "uid=", "apex-only", "factory-only", "match-libraries")
_INSTALL_LONG: Final = (
    "user=",
    "abi=",
    "fastdeploy",
    "instant",
    "full",
    "dont-kill",
    "force-uuid=",
    "install-location=",
    "originating-uri=",
    "referrer=",
    "pkg=",
    "apex",
    "bypass-low-target-sdk-block",
    "no-streaming",
    "streaming",
    "enable-rollback",
    "staged",
    "non-staged",
)
_FEATURES: Final = ("reqGlEsVersion=0x30000", "android.hardware.touchscreen", "android.software.input_methods")


async def package_service(process: Process, words: list[str]) -> int:
    """``pm VERB …`` or ``cmd package VERB …``."""
    verb, *rest = words or [""]
    handler = _VERBS.get(verb)
    if handler is None:
        raise CommandError(f"Unknown command: {verb}", 255)
    return await handler(process, rest)


# -- installed packages


async def _list(process: Process, words: list[str]) -> int:
    what, *rest = words or [""]
    if what in ("packages", "package"):
        await process.lines(_packages(process, rest))
    elif what == "users":
        users = process.device.users
        names = {
            user: f"\tUserInfo{{{user}:{'Owner' if user == OWNER else 'User'}:4c13}} running" for user in users.all
        }
        await process.lines(["Users:", *names.values()])
    elif what == "features":
        await process.lines(f"feature:{name}" for name in _FEATURES)
    else:
        raise CommandError(f"Error: unknown list type '{what}'", 255)
    return 0


def _packages(process: Process, words: list[str]) -> Iterable[str]:
    """Lines of ``list packages``. The filter is a part of the name (android-facts 3c)."""
    flags = _LIST_FLAGS if process.device.sdk >= 26 else _LIST_FLAGS.replace("U", "")
    options, rest = _options(words, flags, _LIST_LONG)
    wanted = rest[0] if rest else ""
    uid = options.get("uid", "")
    user = _user(process, options, EVERY if process.device.sdk >= 33 else OWNER)
    asked = process.device.users.all if user == EVERY else (user,)
    for package in process.device.packages.values():
        hidden = (
            wanted not in package.name
            or ("3" in options and package.system)
            or ("s" in options and not package.system)
            or ("d" in options and package.enabled)
            or ("e" in options and not package.enabled)
            or (uid and uid != str(package.uid))
        )
        if (found := [user for user in asked if package.is_for(user)]) and not hidden:
            yield _row(package, options, found)


def _row(package: SimulatedPackage, options: dict[str, str], users: list[int]) -> str:
    path = f"{package.path}=" if "f" in options else ""
    code = f" versionCode:{package.version_code}" if "show-versioncode" in options else ""
    installer = "  installer=null" if "i" in options else ""
    uids = ",".join(str(user * IDS_PER_USER + package.uid) for user in users)
    uid = f" uid:{uids}" if {"U", "uid"} & options.keys() else ""
    return f"package:{path}{package.name}{code}{installer}{uid}"


def _user(process: Process, options: dict[str, str], default: int) -> int:
    """The user that a verb acts for. Before Android 11, most verbs do not know the current one: user -2 has nothing."""
    user = user_number(options["user"]) if "user" in options else default
    return user if user == CURRENT and process.device.sdk < 30 else process.device.users.require(user)


def _options(words: list[str], short: str, long: Iterable[str]) -> tuple[dict[str, str], list[str]]:
    try:
        pairs, rest = gnu_getopt(words, short, list(long))
    except GetoptError as exc:
        dashes = "-" if len(exc.opt) == 1 else "--"
        raise CommandError(f"Error: Unknown option: {dashes}{exc.opt}", 255) from exc
    return {key.lstrip("-"): value for key, value in pairs}, rest


async def _path(process: Process, words: list[str]) -> int:
    package, _ = _named(process, words)
    if package is None:
        return 1
    await process.out(f"package:{package.path}\n")
    return 0


async def _dump(process: Process, words: list[str]) -> int:
    await process.out(dumpsys(process.device, "package", [_operand(words)]))
    return 0


async def _resolve_activity(process: Process, words: list[str]) -> int:
    """``resolve-activity --brief [-a ACTION] [-c CATEGORY] [-d URI] PACKAGE``: the launcher entry, or what views the URI."""
    intent = parse_intent([word for word in words if word not in ("--brief", "--components")])
    activities = process.device.activities
    name = activities.viewer(intent.data) if intent.data else intent.package or intent.component.partition("/")[0]
    launcher = _entry(process, name, intent.category)
    component = f"{name}/{launcher}"
    if process.device.scenario.of_device("two_launchers", package=name) and not intent.data:
        component = "android/com.android.internal.app.ResolverActivity"
    await process.out(f"{_MATCH}\n{component}\n" if launcher else "No activity found\n")
    return 0


def _entry(process: Process, name: str, category: str) -> str:
    """The activity of an app that has an entry of ``category``; empty without one."""
    own = "LEANBACK_LAUNCHER" if process.device.scenario.of_device("leanback_only", package=name) else "LAUNCHER"
    asked = category.rpartition(".")[2] or "LAUNCHER"
    known = asked in (own, "DEFAULT")
    return process.device.activities.launcher_activity(name) if known else ""


_MATCH: Final = "priority=0 preferredOrder=0 match=0x108000 specificIndex=-1 isDefault=false"


async def _query_activities(process: Process, words: list[str]) -> int:
    """``query-activities [--brief] [-a ACTION] [-c CATEGORY] [PACKAGE]``: all launcher entries, of one app or of all."""
    intent = parse_intent([word for word in words if word not in ("--brief", "--components")])
    names = [intent.package] if intent.package else list(process.device.packages)
    entries = [(name, activity) for name in names for activity in _entries(process, name, intent.category)]
    brief = "--brief" in words
    rows = [f"{len(entries)} activities found:" if entries else "No activities found"]
    for at, (name, activity) in enumerate(entries):
        component = [f"    {name}/{activity}"] if brief else _resolve_info(process, name, activity)
        rows += [f"  Activity #{at}:", f"    {_MATCH}", *component]
    await process.lines(rows)
    return 0


def _entries(process: Process, name: str, category: str) -> list[str]:
    """The launcher entries of an app that is installed and enabled for the current user."""
    package = process.device.packages.get(name)
    launcher = _entry(process, name, category)
    if not launcher or package is None or not package.enabled or not package.is_for(process.device.users.current):
        return []
    several = process.device.scenario.of_device("two_launchers", package=name)
    return [launcher, ".OtherEntry"] if several else [launcher]


def _resolve_info(process: Process, name: str, activity: str) -> Iterable[str]:
    """The long form of an entry, of ``ResolveInfo.dump``. Apps of the system have their labels in their resources."""
    package, app = process.device.packages[name], process.device.ui.apps.get(name)
    label = "null" if package.system or app is None else app.label
    resource = "0x7f1100b3" if label == "null" else "0x0"
    yield "    ActivityInfo:"
    yield f"      name={name}{activity}" if activity.startswith(".") else f"      name={activity}"
    yield f"      packageName={name}"
    yield "      enabled=true exported=true directBootAware=false"
    yield "      ApplicationInfo:"
    yield f"        packageName={name}"
    yield f"        labelRes={resource} nonLocalizedLabel={label} icon=0x7f0d0000 banner=0x0"
    yield f"        processName={name}"


# -- permissions and state


async def _grant(process: Process, words: list[str]) -> int:
    package, permission = _permission(process, "grant", words)
    package.permissions.add(permission)
    return 0


async def _revoke(process: Process, words: list[str]) -> int:
    package, permission = _permission(process, "revoke", words)
    package.permissions.discard(permission)
    return 0


def _permission(process: Process, verb: str, words: list[str]) -> tuple[SimulatedPackage, str]:
    package, names = _named(process, words, 2)
    if package is None:
        raise _exception(verb, f"java.lang.IllegalArgumentException: Unknown package: {names[0]}")
    if names[1] == "android.permission.POST_NOTIFICATIONS" and process.device.sdk < 33:
        raise _exception(verb, f"java.lang.IllegalArgumentException: Unknown permission: {names[1]}")
    if names[1] not in package.requested:
        reason = f"Package {names[0]} has not requested permission {names[1]}"
        raise _exception(verb, f"java.lang.SecurityException: {reason}")
    return package, names[1]


def _exception(verb: str, text: str) -> CommandError:
    return CommandError(f"\nException occurred while executing '{verb}':\n{text}", 255)


async def _clear(process: Process, words: list[str]) -> int:
    package, _ = _named(process, words)
    if package is None:
        await process.out("Failed\n")
        return 1
    process.device.clear(package.name)
    await process.out("Success\n")
    return 0


def _enabled(state: str, *, value: bool) -> Service:
    async def change(process: Process, words: list[str]) -> int:
        name = _operand(words)
        package = process.device.packages.get(name)
        if package is None:
            raise _exception("enable", f"java.lang.IllegalArgumentException: Unknown package: {name}")
        package.enabled = value
        await process.out(f"Package {name} new state: {state}\n")
        return 0

    return change


# -- installing


async def _install(process: Process, words: list[str]) -> int:
    """``install [OPTIONS] [-S SIZE] [PATH|-]``: with a size, exactly that many bytes come on standard input (fact 4k)."""
    options, rest = _options(words, "lrtfdgi:p:S:R", _INSTALL_LONG)
    if "S" in options:
        apk = await _stream(process, options["S"])
    elif rest:
        apk = _file(process, rest[0])
    else:
        raise CommandError("Error: APK content must be streamed", 1)
    reinstall = "r" in options or ("R" not in options and process.device.sdk >= 28)
    user = user_number(options["user"]) if "user" in options else EVERY
    user = user if user == EVERY else process.device.users.require(user)
    result = install(process.device, apk, reinstall=reinstall, user=user)
    await process.out(f"{result}\n")
    return int(not result.startswith("Success"))


async def _stream(process: Process, size: str) -> bytes:
    if not size.isdigit() or len(size) > 12 or int(size) > MAX_APK:
        raise CommandError(f"Error: bad size {size}", 1)
    apk = await process.stdin.exactly(int(size))
    if len(apk) < int(size):
        raise CommandError(f"Error: failed to write; read {len(apk)} of {size} bytes", 1)
    return apk


def _file(process: Process, name: str) -> bytes:
    try:
        return process.read(name)
    except OSError as exc:
        text = f"Error: Unable to open file: {name}\nConsider using a file under /data/local/tmp/"
        raise CommandError(text, 255) from exc


async def _uninstall(process: Process, words: list[str]) -> int:
    options, names = _options(words, "k", ("user=", "versionCode="))
    result = process.device.uninstall(_operand(names), _user(process, options, EVERY))
    await process.out(f"{result}\n")
    return int(not result.startswith("Success"))


def _named(process: Process, words: list[str], count: int = 1) -> tuple[SimulatedPackage | None, list[str]]:
    """The package that ``words`` name, if the user has it, and the operands."""
    names = _operands(words, count)
    user = _user(process, _options(words, "", ("user=",))[0], OWNER)
    package = process.device.packages.get(names[0])
    return (package if package is not None and package.is_for(user) else None), names


def _operand(words: list[str]) -> str:
    return _operands(words, 1)[-1]


def _operands(words: list[str], count: int) -> list[str]:
    names = _options(words, "", ("user=", "brief", "components"))[1]
    if len(names) < count:
        raise CommandError("Error: no package specified", 255)
    return names


_VERBS: Final[dict[str, Service]] = {
    "clear": _clear,
    "disable": _enabled("disabled", value=False),
    "disable-user": _enabled("disabled-user", value=False),
    "dump": _dump,
    "enable": _enabled("enabled", value=True),
    "grant": _grant,
    "install": _install,
    "list": _list,
    "path": _path,
    "query-activities": _query_activities,
    "resolve-activity": _resolve_activity,
    "revoke": _revoke,
    "uninstall": _uninstall,
}

PACKAGES: Final[dict[str, Command]] = {"pm": command_of(package_service)}


_STAGED = "/data/app/vmdl1234567890.tmp/base.apk"
_FIRST_INSTALLED_UID = FIRST_APP_UID + 300


def install(device: SimulatedDevice, apk: bytes, *, reinstall: bool, user: int = EVERY) -> str:
    """Install an APK from its bytes: ``Success`` or ``Failure [CODE: words]``."""
    refused = device.scenario.of_device("install_refused")
    if refused is not None:
        return f"Failure [{refused.code}: {refused.message}]" if refused.message else f"Failure [{refused.code}]"
    try:
        facts = facts_of(apk)
    except ZipError:
        reason = f"Failed to parse {_STAGED}: Failed to load asset path {_STAGED}"
        return f"Failure [INSTALL_PARSE_FAILED_NOT_APK: {reason}]"
    name = facts.package
    present = device.packages.get(name)
    if present is not None and not reinstall:
        return f"Failure [INSTALL_FAILED_ALREADY_EXISTS: Attempt to re-install {name} without first uninstalling.]"
    if refusal := _refusal(device, facts, present):
        return refusal
    _put(device, facts, present)
    users = {*device.users.all} if user == EVERY else {user}
    package = device.packages[name]
    if present is None:
        package.users = users
    elif package.users is not None:
        package.users |= users
    return "Success"


def _refusal(device: SimulatedDevice, facts: ApkFacts, present: SimulatedPackage | None) -> str:
    if facts.min_sdk > device.sdk:
        reason = f"Failed parse during installPackageLI: {_STAGED}: Requires newer sdk version #{facts.min_sdk} (current version is #{device.sdk})"
        return f"Failure [INSTALL_FAILED_OLDER_SDK: {reason}]"
    if facts.abis and device.props.get("ro.product.cpu.abi") not in facts.abis:
        reason = "INSTALL_FAILED_NO_MATCHING_ABIS: Failed to extract native libraries, res=-113"
        return f"Failure [INSTALL_FAILED_NO_MATCHING_ABIS: {reason}]"
    if present is not None and 0 <= facts.version_code < present.version_code:
        reason = (
            f"Downgrade detected: Update version code {facts.version_code} is older than current {present.version_code}"
        )
        return f"Failure [INSTALL_FAILED_VERSION_DOWNGRADE: {reason}]"
    return ""


def _put(device: SimulatedDevice, facts: ApkFacts, present: SimulatedPackage | None) -> None:
    name, version = facts.package, facts.version_name
    if present is None and name in OPERATOR_PACKAGES:
        device.add_operator(name, version)
    elif present is None:
        uid = _FIRST_INSTALLED_UID + len(device.packages)
        device.packages[name] = SimulatedPackage(name, uid, version or "1.0", requested=(NOTIFICATIONS,))
    elif version:
        present.version_name = version
    package = device.packages[name]
    package.version_code = facts.version_code if facts.version_code >= 0 else version_code_of(version)
    package.min_sdk = facts.min_sdk or package.min_sdk
