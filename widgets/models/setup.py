"""The state of the Operator app's setup. Pure."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from clawperator.widgets.models.job import Job

if TYPE_CHECKING:
    from clawperator.engine.operator.reports import OperatorStatus


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
    problem: str = ""


@dataclass(frozen=True, slots=True, kw_only=True)
class SetupState:
    """Setup of the device ``serial``. ``status`` is ``None`` while unknown, or with a ``problem``.

    ``files`` are those of the downloads folder, newest first, then entered ones; ``None`` before the first read.
    """

    EMPTY: ClassVar[SetupState]

    serial: str = ""
    status: OperatorStatus | None = None
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
