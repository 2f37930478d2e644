"""What the console uses of an engine: one of this process, one of a server, or none behind saved dumps."""

from __future__ import annotations

from collections.abc import AsyncIterator, Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, Protocol, TypeAlias

from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.events.bus import EventBus
from clawperator.engine.filters.grammar import Filter
from clawperator.engine.progress import OnProgress, unreported

if TYPE_CHECKING:
    from clawperator.engine.adb.wireless import Wireless
    from clawperator.engine.doctor.fix import FixResult, PlannedFix
    from clawperator.engine.emulators.avds import Avd
    from clawperator.engine.emulators.lifecycle import Stopped
    from clawperator.engine.emulators.provision import Provisioned, ProvisionPlan
    from clawperator.engine.emulators.running import RunningEmulator
    from clawperator.engine.follow.follower import FollowState
    from clawperator.engine.history.records import RunRecord, RunSummary
    from clawperator.engine.operator.reports import OperatorStatus, SetupReport


class Documented(Protocol):
    """A value of the engine with a JSON form."""

    def to_dict(self) -> dict[str, Any]: ...


Document: TypeAlias = Mapping[str, Any] | Documented
"""JSON data, or a value that has such a form."""


def as_mapping(value: Document) -> Mapping[str, Any]:
    """Return the JSON form of an engine value."""
    return value if isinstance(value, Mapping) else value.to_dict()


def known_aliases(engine: object) -> Mapping[str, str]:
    """Return the names of devices by serial: those in the settings, or those that the computers of the devices send."""
    settings = getattr(engine, "settings", None)
    if settings is None:
        aliases: Mapping[str, str] = getattr(engine, "aliases", {})
        return aliases
    return {profile.serial: alias for alias, profile in settings.devices.items()}


class HistoryEngine(Protocol):
    """Reads recorded runs. Raises ``EngineError``."""

    async def runs(
        self, where: Filter = ..., *, limit: int = ..., before: int | None = ...
    ) -> Sequence[RunSummary]: ...
    async def count(self, where: Filter = ...) -> int: ...
    async def find(self, key: str | int) -> RunRecord: ...
    async def tree(self, digest: str) -> str: ...
    async def version(self) -> int: ...
    async def mark_interrupted(self) -> None: ...


class BackendEngine(Protocol):
    """Reaches devices by one backend at a time."""

    def backend_of(self, device_id: str) -> str: ...
    def use_backend(self, name: str) -> None:
        """Use ``name`` from now on; stock may then unbind accessibility services. Raises ``EngineError``."""


class ExecutionAnswer(Protocol):
    """The part of an execution's result that the console reads."""

    @property
    def envelope(self) -> Mapping[str, Any]: ...
    @property
    def duration_ms(self) -> float: ...


class ExecutionEngine(Protocol):
    """Runs executions and stops apps."""

    async def execute(self, payload: object, *, device_id: str | None = None) -> ExecutionAnswer: ...
    async def force_stop(self, package: str, *, device_id: str | None = None) -> None: ...


class PictureEngine(Protocol):
    """Takes screenshots."""

    async def picture(self, *, device_id: str | None = None) -> bytes: ...


class FollowRun(Protocol):
    """Follow mode on one device (``engine.follow.follower``)."""

    state: FollowState

    async def run(self) -> None: ...
    def painted(self) -> None: ...
    def owns(self, command_id: str) -> bool: ...


class FollowEngine(Protocol):
    """Starts follow mode."""

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> FollowRun: ...


class DoctorRun(Protocol):
    """One run of the doctor (``engine.doctor.run``)."""

    @property
    def ids(self) -> tuple[str, ...]: ...
    def checks(self, *, only: str = "", since: str = "") -> AsyncIterator[Document]: ...


class FixRunner(Protocol):
    """Plans and runs the fixes that checks offer (``engine.doctor.fix``)."""

    def plan(self, checks: Sequence[Any], device_id: str) -> tuple[PlannedFix, ...]: ...
    async def run(self, fix: PlannedFix, on_progress: OnProgress = ...) -> FixResult: ...


class DoctorEngine(BackendEngine, Protocol):
    """Starts doctor runs and fixes."""

    def doctor(self, *, device_id: str | None = None, full: bool = False) -> DoctorRun: ...
    def fixer(self) -> FixRunner: ...


class EmulatorManager(Protocol):
    """Manages virtual devices (``engine.emulators.manager``)."""

    home: str
    supported_abis: tuple[str, ...]

    async def avds(self) -> tuple[Avd, ...]: ...
    async def status(self) -> tuple[RunningEmulator, ...]: ...
    async def plan(self, name: str = "") -> ProvisionPlan: ...
    async def create(self, name: str = "", *, on_progress: OnProgress = unreported) -> Avd: ...
    async def start(self, name: str, *, on_progress: OnProgress = unreported) -> RunningEmulator: ...
    async def stop(self, name: str, *, on_progress: OnProgress = unreported) -> Stopped: ...
    async def delete(self, name: str) -> None: ...
    async def provision(self, name: str = "", *, on_progress: OnProgress = unreported) -> Provisioned: ...


class EmulatorEngine(Protocol):
    """Has a manager of virtual devices. Raises ``EngineError`` where there is none."""

    @property
    def emulators(self) -> EmulatorManager: ...


class OperatorSetup(Protocol):
    """Installs the Operator app and reports its state (``engine.operator.app``)."""

    async def status(self) -> OperatorStatus: ...
    async def setup(self, apk: str = "", *, on_progress: OnProgress = unreported) -> SetupReport: ...


class OperatorEngine(Protocol):
    """Gives access to the Operator app of a device."""

    def operator_app(self, *, device_id: str | None = None) -> OperatorSetup: ...


class WirelessEngine(Protocol):
    """Pairs and connects devices over the network. Raises ``EngineError`` where it cannot."""

    @property
    def wireless(self) -> Wireless: ...


class ConsoleEngine(
    ExecutionEngine, PictureEngine, FollowEngine, DoctorEngine, EmulatorEngine, OperatorEngine, WirelessEngine, Protocol
):
    """Everything that the console uses."""

    events: EventBus

    @property
    def history(self) -> HistoryEngine | None: ...
    async def devices(self) -> tuple[DeviceEntry, ...]: ...
    async def snapshot(self, *, device_id: str | None = None) -> ExecutionAnswer: ...
    def locks(self) -> Sequence[Document]: ...
    async def watch_devices(self) -> None: ...
    async def watch_log(self, device_id: str) -> None: ...
    async def record_seen(self) -> None: ...
