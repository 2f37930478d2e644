"""The Operator app's setup as the console knows it: what is installed, what could be, and how it goes. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clawperator.widgets.models.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledApp:
    """One of the Operator apps on a device; ``version`` empty and ``version_code`` -1 where unreadable."""

    package: str
    version: str = ""
    version_code: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """How the Operator app is on a device. ``running`` and ``notifications`` are ``None`` where Android does not tell."""

    installed: tuple[InstalledApp, ...] = ()
    fits: bool = True
    enabled: bool = False
    running: bool | None = None
    notifications: bool | None = None
    listener: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApkFile:
    """An APK file on this computer; ``problem`` says why it is none, and then only ``path`` means anything.

    ``version_code`` is -1 and ``min_sdk`` 0 where unknown.
    """

    path: str
    package: str = ""
    version: str = ""
    version_code: int = -1
    size: int = 0
    min_sdk: int = 0
    abis: tuple[str, ...] = ()
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupState:
    """For the device ``serial``. ``status`` is how the app is there: ``None`` while unknown, or with a ``problem``.

    ``files`` are those of the downloads folder, newest first, and then those that somebody named; ``None`` until looked for.
    """

    EMPTY: ClassVar[SetupState]

    serial: str = ""
    status: AppState | None = None
    problem: str = ""
    code: str = ""
    folder: str = ""
    files: tuple[ApkFile, ...] | None = None
    job: Job | None = None

    @property
    def asking(self) -> bool:
        return self.status is None and not self.problem

    def file(self, path: str) -> ApkFile | None:
        return next((file for file in self.files or () if file.path == path), None)


SetupState.EMPTY = SetupState()
