"""The three permissions of the Operator app, granted in order, each attempted (doctor.md#operator-setup)."""

from __future__ import annotations

import asyncio
import re
from contextlib import asynccontextmanager
from typing import TYPE_CHECKING

from clawperator.engine.adb import secure_list
from clawperator.engine.adb.android_user import CURRENT, pm, settings
from clawperator.engine.adb.batch import BatchOutput, run_commands
from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.parse import parse_failure, refusal_hint
from clawperator.engine.adb.quote import quote
from clawperator.engine.contracts.operator_identity import listener_of, service_of
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.operator.package_choice import choose, installed, list_command
from clawperator.engine.operator.reports import GrantReport, ListGrant, NotificationGrant, Permissions
from clawperator.engine.progress import JobProgress, OnProgress, unreported
from clawperator.engine.text.suggestions import adb_line

if TYPE_CHECKING:
    from collections.abc import AsyncIterator

SERVICES = "enabled_accessibility_services"
LISTENERS = "enabled_notification_listeners"
SWITCH = "accessibility_enabled"
POST_NOTIFICATIONS = "android.permission.POST_NOTIFICATIONS"
OFF_SECONDS = 0.5
"""How long ``force`` keeps the service switched off, for Android to unbind it (doctor.md#operator-setup)."""
RESTORE_SECONDS = 5.0
_NO_SUCH_RIGHT = ("unknown permission", "not a changeable permission type", "already granted")
_LONGEST_ERROR = 1_000
_FAILURE = re.compile(
    r"\s*(?:Error\b|Exception\b|Security exception|java\.|android\.|cmd: |Can't find service|Failure\b|Failed\b|usage:|/system/)",
    re.IGNORECASE,
)
"""The start of error output of tools whose exit code is 0."""


def settings_value(answer: BatchOutput) -> str:
    """Return the value that ``settings get`` printed, without the line end that it adds.

    Raises ``EngineError`` (DEVICE_SHELL_UNAVAILABLE) for a failure, and for bytes that are not UTF-8.
    """
    if not answer.ok:
        raise _unreadable(answer.text.strip() or f"exit code {answer.exit_code}")
    try:
        text = answer.data.decode()
    except UnicodeDecodeError as exc:
        raise _unreadable("it is not UTF-8 text and could not be restored") from exc
    if _FAILURE.match(text):
        raise _unreadable(text.strip())
    return text.removesuffix("\n")


def _unreadable(why: str) -> EngineError:
    return EngineError(ErrorCode.DEVICE_SHELL_UNAVAILABLE, f"The setting cannot be read: {why[:_LONGEST_ERROR]}")


def _get(name: str) -> list[str]:
    return settings("get", "secure", name)


def _put(name: str, value: str) -> list[str]:
    return settings("put", "secure", name, value)


def command_lines(serial: str, package: str) -> tuple[str, ...]:
    """Return the adb commands that granting runs; ``<current>`` stands for the current list."""
    lines = (
        _get(SERVICES),
        _put(SWITCH, "1"),
        _put(SERVICES, f"<current>:{service_of(package)}"),
        ("pm", "grant", *CURRENT.split(), package, POST_NOTIFICATIONS),  # the right exists from Android 13 on
        _get(LISTENERS),
        _put(LISTENERS, f"<current>:{listener_of(package)}"),
    )
    return tuple(adb_line(serial, "shell", *words) for words in lines)


async def grant_alone(
    device: AdbDevice, package: str, *, force: bool, on_progress: OnProgress = unreported
) -> GrantReport:
    """Run ``grant-device-permissions``: choose the package and grant. Raises as ``OperatorApp.grant``."""
    with JobProgress("grant", on_progress).stage("permissions"):
        (listed,) = await run_commands(device, [list_command(package)])
        chosen = choose(package, installed(listed, device.serial), device.serial)
        permissions = await grant(device, chosen, force=force)
        if not permissions.ok:
            extra = {"receiverPackage": chosen, **permissions.to_dict()}
            hint = refusal_hint(permissions.error)
            raise EngineError(ErrorCode.GRANT_DEVICE_PERMISSIONS_FAILED, permissions.error, hint=hint, extra=extra)
    return GrantReport(device.serial, chosen, permissions)


async def grant(device: AdbDevice, package: str, *, force: bool = False) -> Permissions:
    """Grant ``package`` its missing permissions: one round trip to read, one to write.

    A failing grant does not prevent the others. ``force`` first removes the accessibility service from its list, and adds it
    again half a second later.

    Raises ``EngineError`` only if the device is gone before anything was attempted.
    """
    answers = await run_commands(device, [_get(SERVICES), _get(SWITCH), _get(LISTENERS)])
    services = _List(SERVICES, service_of(package), answers[0])
    listeners = _List(LISTENERS, listener_of(package), answers[2])
    switched_on = answers[1].ok and answers[1].text.strip() == "1"
    try:
        async with _switched_off(device, services, force=force):
            first = services.commands(switch=not switched_on, force=force)
            done = await run_commands(device, [*first, pm("grant", package, POST_NOTIFICATIONS), *listeners.commands()])
        permissions = Permissions(
            services.outcome(done[: len(first)], untouched=switched_on and not force),
            _notification(done[len(first)]),
            listeners.outcome(done[len(first) + 1 :], untouched=True),
        )
    except EngineError as exc:
        lost = f"the device was disconnected: {exc.message}"
        enabled = ListGrant(ok=False, error=lost)
        return Permissions(enabled, NotificationGrant(ok=False, error=lost), enabled)
    if force and services.listed and not permissions.accessibility.ok:
        await _restore(device, services)
    return permissions


@asynccontextmanager
async def _switched_off(device: AdbDevice, services: _List, *, force: bool) -> AsyncIterator[None]:
    """With ``force``, remove the service from its list and run the block, which adds it again, half a second later.

    An exception restores the list. Changes by other programs in the meantime are kept.
    """
    if not force or not services.listed:
        yield
        return
    rest = secure_list.without(services.text, services.entry)
    try:
        await run_commands(device, [_put(SERVICES, rest)])
        await _let_go()
        (now,) = await run_commands(device, [_get(SERVICES)])
        if (current := settings_value(now)) != rest and not secure_list.is_empty(current):
            services.text = secure_list.appended(current, services.entry)
        yield
    except BaseException:
        await _restore(device, services)
        raise


async def _let_go() -> None:
    """Wait for Android to unbind the service: not every release has an event for it."""
    await asyncio.sleep(OFF_SECONDS)


async def _restore(device: AdbDevice, services: _List) -> None:
    """Restore the list, even when cancelled: it contains the services of other apps."""
    restoring = asyncio.ensure_future(device.shell(_put(SERVICES, services.text), timeout=RESTORE_SECONDS))
    await asyncio.wait([restoring])
    if not restoring.cancelled():
        restoring.exception()  # retrieved, so that asyncio does not log it


class _List:
    """One of the secure lists, and the commands that add an entry to it."""

    def __init__(self, name: str, entry: str, answer: BatchOutput) -> None:
        self.name = name
        self.entry = entry
        self.text = self.error = ""
        try:
            self.text = settings_value(answer)
            quote(secure_list.appended(self.text, entry))  # what cannot be written back is not touched
        except EngineError as exc:
            self.error = f"{name}: {exc.message}"

    @property
    def listed(self) -> bool:
        return not self.error and secure_list.contains(self.text, self.entry)

    def commands(self, *, switch: bool = False, force: bool = False) -> list[list[str]]:
        """Return the commands to run, reading the list back at the end; none if nothing is missing or the list is unknown."""
        if self.error or (self.listed and not switch and not force):
            return []
        found = [_put(SWITCH, "1")] if self.name == SERVICES else []
        if force or not self.listed:
            found.append(_put(self.name, secure_list.appended(self.text, self.entry)))
        return [*found, _get(self.name)]

    def outcome(self, done: list[BatchOutput], *, untouched: bool) -> ListGrant:
        """Return the result of ``commands``; ``untouched``: nothing else had to be changed for an existing entry."""
        if self.error:
            return ListGrant(ok=False, error=self.error)
        if not done:
            return ListGrant(ok=True, already_enabled=True)
        failed = next((part for part in done if not part.ok or _FAILURE.match(part.text)), None)
        if failed is not None:
            return ListGrant(ok=False, error=f"{self.name}: {_words(failed)}")
        if not secure_list.contains(done[-1].text.removesuffix("\n"), self.entry):
            return ListGrant(ok=False, error=f"{self.name}: the device did not keep the new value")
        return ListGrant(ok=True, already_enabled=self.listed and untouched)


def _notification(done: BatchOutput) -> NotificationGrant:
    if done.ok and not _FAILURE.match(done.text):
        return NotificationGrant(ok=True)
    text = _words(done)
    if any(words in done.text.lower() for words in _NO_SUCH_RIGHT):
        return NotificationGrant(ok=True, skipped=True, error=text)
    return NotificationGrant(ok=False, error=text)


def _words(part: BatchOutput) -> str:
    """Return why a command failed, without its stack trace."""
    return parse_failure(part.text, part.exit_code or 1)[:_LONGEST_ERROR]
