"""The state of the Operator app's setup. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import ClassVar

from clawperator.widgets.models.job import Job


@dataclass(frozen=True, slots=True, kw_only=True)
class InstalledApp:
    """An Operator app on a device; ``version`` is empty and ``version_code`` -1 where unreadable."""

    package: str
    version: str = ""
    version_code: int = -1


@dataclass(frozen=True, slots=True, kw_only=True)
class AppState:
    """The Operator app on a device. ``running`` and ``notifications`` are ``None`` where unknown."""

    installed: tuple[InstalledApp, ...] = ()
    fits: bool = True
    enabled: bool = False
    running: bool | None = None
    notifications: bool | None = None
    listener: bool = False


@dataclass(frozen=True, slots=True, kw_only=True)
class ApkFile:
    """An APK file on this host; with a ``problem`` only ``path`` is valid.

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
    """Setup of the device ``serial``. ``status`` is ``None`` while unknown, or with a ``problem``.

    ``files`` are those of the downloads folder, newest first, then entered ones; ``None`` before the first read.
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
