"""``Engine``: one short method per operation, and one event bus. Every front end uses one."""

from __future__ import annotations

import asyncio
import json
from collections.abc import Callable, Iterable, Sequence
from contextlib import AsyncExitStack, nullcontext
from copy import copy
from dataclasses import replace
from functools import partial
from types import TracebackType
from typing import TYPE_CHECKING, Self, TypedDict, Unpack

from clawperator.engine.adb.device import AdbDevice
from clawperator.engine.adb.phones import shared_serial_error
from clawperator.engine.adb.presence import DeviceEntry, DeviceState
from clawperator.engine.adb.recognition import list_devices, recognise, watch
from clawperator.engine.adb.server import AdbServer
from clawperator.engine.config.active_profile import load_profile, permit
from clawperator.engine.config.environment import settings_path, wait_limit
from clawperator.engine.config.policy import OBSERVE, SETUP_OPERATOR, STOCK_BACKEND, Profile, admit, admit_action
from clawperator.engine.config.settings import Settings, backend_name, package_name
from clawperator.engine.contracts.caller import ANONYMOUS, Caller
from clawperator.engine.contracts.issues import device_suggestion
from clawperator.engine.contracts.limits import BACKENDS, THEN
from clawperator.engine.contracts.read_only import INTERNAL, refuse_acting
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.events.bus import EventBus
from clawperator.engine.executions import build
from clawperator.engine.executions.attempt import Attempt, ExecutionResult, settling
from clawperator.engine.executions.backend import Backend, Diagnosis
from clawperator.engine.executions.backends.operator import OperatorBackend
from clawperator.engine.executions.command import Command
from clawperator.engine.executions.composition import Composition, ShellBackend
from clawperator.engine.executions.device_lock import DeviceLocks, LockStatus, PhoneLocks
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.kept_trees import KeptTrees
from clawperator.engine.executions.locked_run import run_locked
from clawperator.engine.executions.log_stream import LogStreams
from clawperator.engine.executions.probe import Probe
from clawperator.engine.executions.run import refuse_unwritable_pictures
from clawperator.engine.executions.trace import Trace
from clawperator.engine.executions.validate import Profile as PayloadProfile
from clawperator.engine.executions.validate import Validated, strictly, validate
from clawperator.engine.guard import Guard

if TYPE_CHECKING:
    from clawperator.engine.adb.wireless import Wireless
    from clawperator.engine.contracts.envelope import Envelope
    from clawperator.engine.device_admin import DeviceAdmin
    from clawperator.engine.doctor.fix import Fixer
    from clawperator.engine.doctor.run import Doctor
    from clawperator.engine.emulators.manager import EmulatorManager
    from clawperator.engine.executions.attempt import ExecutionRecorder
    from clawperator.engine.executions.references import References
    from clawperator.engine.follow.follower import Follow, FollowState
    from clawperator.engine.history.worker import HistoryWorker
    from clawperator.engine.operator.app import OperatorApp

__all__ = ["Engine", "ExecutionResult", "RunOptions"]

_SETUP_SECONDS = 180.0
"""The time limit that the device lock shows while the Operator app is set up."""


class BackendOptions(TypedDict, total=False):
    """The keyword arguments of ``Engine.execute`` that say how a device is reached."""

    receiver_package: str | None
    backend: str | None
    allow_unbind: bool | None
    compressed: bool | None
    wait_ms: object


class ExecuteOptions(BackendOptions, total=False):
    """The keyword arguments of ``Engine.execute``."""

    device_id: str | None
    timeout_ms: object
    options: RunOptions | None


class Engine:
    """Use as ``async with Engine(settings) as engine``. Expected failures are ``EngineError``s.

    Without ``settings``, they are those of the environment and of the user's settings file, as on the command line.
    One engine serves concurrent callers; executions on one device exclude each other, also across processes. ``face`` names
    the front end in the history (``cli``, ``console`` …); without one, ``history`` is ``None``. ``logged`` writes events to
    the log file. ``strict``: an action whose selector finds several nodes fails, unless it says ``"strict": false``; by default for
    programs, that is without a ``face``.
    """

    def __init__(
        self, settings: Settings | None = None, *, face: str = "", logged: bool = False, strict: bool | None = None
    ) -> None:
        self.settings = (settings or Settings.resolve(file=settings_path())).placed()
        self.events = EventBus()
        self.face = face
        self.strict = not face if strict is None else strict
        self.caller = ANONYMOUS
        self.history: HistoryWorker | None = None
        self.recorders: list[ExecutionRecorder] = []
        self._logged = logged
        self._open = AsyncExitStack()
        if face and self.settings.history_enabled and self.settings.history_path:
            self.history, recorder = _history(self.settings, self.events, face)
            self.recorders.append(recorder)
        adb = {"ADB_PATH": self.settings.adb_path} if self.settings.adb_path else {}
        self.server = AdbServer.from_env({**self.settings.environment, **adb})
        self._locks = PhoneLocks(DeviceLocks(self.settings.lock_dir), self.server.phones)
        self._arrivals = asyncio.Lock()
        """Callers that wait for a device draw their tickets in the order in which they came."""
        self._logs = LogStreams(self.events)
        self._probe = Probe()
        self._emulators: list[EmulatorManager] = []
        """At most one, created on first use; a list, so that ``under`` shares it."""
        self.trees = KeptTrees(self.settings.trees_folder)
        """The recent trees of devices, to which references refer; without a history, in memory only."""

    def backend_of(self, device_id: str) -> str:
        """Return the backend of executions on a device that choose none."""
        return self.settings.backend_of(self.settings.serial_of(device_id))

    def use_backend(self, name: str) -> None:
        """Use ``name`` from now on; stock may then unbind accessibility services. Raises ``EngineError`` where policy forbids it."""
        stock = backend_name(name) != BACKENDS[0]
        if stock:
            permit(self.settings, STOCK_BACKEND, "use the stock backend")
        self.settings = self.settings.with_options(backend=name, allow_unbind=stock)

    async def __aenter__(self) -> Self:
        if self._logged:
            from clawperator.engine.diagnostics.log_file import follow_bus, open_log

            log = open_log(self.settings)
            await self._open.enter_async_context(follow_bus(self.events, log, self.server.trace))
        return self

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, tb: TracebackType | None
    ) -> None:
        """Close the log and, unless the history is held, write the rest of the history."""
        await self._open.aclose()
        if self.history is not None and not self.history.held:
            await asyncio.to_thread(self.history.close)

    # -- executing

    def validate(self, payload: object, *, timeout_ms: object = None, profile: PayloadProfile = "classic") -> Validated:
        """Check ``payload``, or a plan of actions only, against the execution contract; touches no device."""
        return validate(build.completed(payload), timeout_ms=timeout_ms, profile=profile)

    async def execute(
        self,
        payload: object,
        *,
        device_id: str | None = None,
        receiver_package: str | None = None,
        backend: str | None = None,
        allow_unbind: bool | None = None,
        compressed: bool | None = None,
        timeout_ms: object = None,
        wait_ms: object = None,
        options: RunOptions | None = None,
    ) -> ExecutionResult:
        """Run one execution: validate, admit, resolve, lock the device, run, finish, publish, record.

        ``payload`` is parsed JSON (execution.md#payload), the actions alone, or a composition. Returns a result or raises ``EngineError``, whose
        ``broadcastDispatchStatus``, if present, says whether anything reached the device. ``wait_ms`` limits the wait for
        a locked device, first come first served (0 to 600,000; default: the settings'). ``backend``, ``allow_unbind`` and
        ``compressed`` replace the settings' choice.
        """
        options = options or RunOptions()
        options = options if options.strict is not None else replace(options, strict=self.strict)
        composed = payload if isinstance(payload, Composition) else None
        payload = composed or build.completed(payload)
        if options.then not in (None, *THEN):
            raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, f"then must be {', '.join(THEN)}")
        with Attempt(self.events, payload, self.recorders, self.caller, recorded=options.recorded) as attempt:
            validated = self._validated(payload, options, timeout_ms)
            package = self._package(receiver_package)
            by_shell = composed is not None and not composed.uses_operator
            name = await _chosen_backend(self, backend, device_id)
            if (by_shell or name != BACKENDS[0]) and timeout_ms is None and build.has_default_limit(payload):
                validated = self._validated(payload, options, build.slow_limit(validated.execution.actions))
            attempt.admit(validated, ShellBackend.name if by_shell else name, package)
            profile = _admit_execution(self.settings, validated, composed, options)
            composed = composed and replace(composed, admit=partial(admit_action, profile))
            through = self._backend(receiver_package, name, allow_unbind=allow_unbind, compressed=compressed)
            acting: Backend = ShellBackend() if by_shell else through
            await refuse_unwritable_pictures(validated.execution, overwrite=options.screenshot_overwrite)
            wait = self.settings.wait_ms if wait_ms is None else wait_limit(wait_ms)
            async with attempt.prepared_within(validated.execution.timeout_ms):
                async with self._arrivals if wait else nullcontext():
                    device = await self.device(device_id)
                    ticket = self._locks.ticket(device.serial) if wait else None
                with ticket or nullcontext():
                    attempt.start(device.serial)
                    attempt.phone = await self._probe.phone(device, package if acting.name == BACKENDS[0] else "")
                    finished = await run_locked(
                        attempt,
                        device,
                        acting,
                        through if options.then else acting,
                        hold=self._locks.hold(device, Command.of(validated), wait_ms=wait, ticket=ticket),
                        composed=composed,
                        references=_references(self, validated, composed, device.serial),
                        options=options,
                    )
            await self.trees.keep_last(device.serial, attempt.trace.hierarchies)
            return attempt.finish(finished)

    def _validated(self, payload: object, options: RunOptions, timeout_ms: object) -> Validated:
        """Return a payload or a composition as it is admitted and run."""
        if isinstance(payload, Composition):
            validated = payload.validated(timeout_ms=timeout_ms)
        else:
            validated = self.validate(payload, timeout_ms=timeout_ms, profile=options.profile)
        return strictly(validated) if options.strict else validated

    def _backend(self, receiver_package: str | None, name: str | None = None, **stock: bool | None) -> Backend:
        """Return the backend ``name``, or that of the settings. Raises ``EngineError`` where the policy forbids it."""
        package, settings = self._package(receiver_package), self.settings
        if backend_name(name or settings.backend) != BACKENDS[0]:
            return _stock(settings, self.events, package, **stock)
        chosen, action = bool(receiver_package) or settings.package_chosen, settings.action_agent_command
        return OperatorBackend(self._logs, self._probe, _diagnose, package=package, chosen=chosen, action=action)

    def _package(self, receiver_package: str | None) -> str:
        return package_name(receiver_package or self.settings.receiver_package)

    async def operator_package(self, device: AdbDevice) -> str:
        """Return the Operator app to use on ``device``: the one of the settings, or the installed one if they name none."""
        package, _ = await self._probe.app(device, self._package(None), chosen=self.settings.package_chosen)
        return package

    async def snapshot(self, **how: Unpack[ExecuteOptions]) -> ExecutionResult:
        """Take a snapshot of the active window: ``stepResults[0].data.text`` holds the XML. ``how`` is that of ``execute``."""
        return await self.execute(build.snapshot(), **how)

    async def screenshot(self, *, path: str | None = None, **how: Unpack[ExecuteOptions]) -> ExecutionResult:
        """Save a PNG of the screen on this host: ``stepResults[0].data.path`` names the file. ``how`` is that of ``execute``."""
        return await self.execute(build.screenshot(path), **how)

    def admit(self, payload: object, what: str) -> None:
        """Check ``what``, which is done without an execution, against the policy as if it were ``payload``.

        Raises ``EngineError`` as ``policy.admit`` does, after recording the refusal.
        """
        with self.guard.refusals(what):
            admit(load_profile(self.settings), self.validate(payload).execution)

    async def picture(self, *, device_id: str | None = None, display: int = 0) -> bytes:
        """Return the screen of a display as a PNG, without the Operator and the device lock: black for secure windows and a screen that is off."""
        from clawperator.engine.executions.screenshot import picture

        self.admit(build.screenshot(), "take a screenshot")
        return await picture(await self.device(device_id), display)

    async def force_stop(self, package: str, *, device_id: str | None = None) -> None:
        """Stop an app without the device lock: for a plan that cannot be cancelled (``executions/force_stop.py``)."""
        from clawperator.engine.executions.force_stop import force_stop

        what = f"stop {package}"
        self.admit(build.close_app(package), what)
        with self.guard.acting("app", what, device_id=device_id or ""):
            await force_stop(await self.device(device_id), package)

    # -- devices

    async def devices(self) -> tuple[DeviceEntry, ...]:
        """Return everything that the adb server lists, in any state; rows of one phone name each other (``other_transports``)."""
        self.guard.permit(OBSERVE, "list devices")
        return await list_devices(self.server)

    async def device(self, device_id: str | None = None) -> AdbDevice:
        """Return the device to use: ``device_id``, else the settings' choice, else the only usable phone (``find_device``).

        Raises ``EngineError`` (NO_DEVICES, DEVICE_NOT_FOUND, DEVICE_UNAUTHORIZED, DEVICE_OFFLINE, ADB_NO_USB_PERMISSIONS,
        MULTIPLE_DEVICES_DEVICE_ID_REQUIRED, ADB_NOT_FOUND).
        """
        wanted = self.settings.serial_of(device_id or self.settings.device_id)
        return await find_device(self.server, wanted, self.settings.devices)

    async def packages(self, *, device_id: str | None = None, third_party: bool = False) -> list[str]:
        """Return the names of installed packages in adb's order."""
        from clawperator.engine.adb.android_user import pm
        from clawperator.engine.adb.batch import run_commands
        from clawperator.engine.operator.package_choice import installed

        self.guard.permit(OBSERVE, "list the packages of a device")
        device = await self.device(device_id)
        (listed,) = await run_commands(device, [pm("list packages", *(["-3"] if third_party else []))])
        return installed(listed, device.serial)

    def locks(self) -> list[LockStatus]:
        """Return the device locks on this machine that are held or settling after an unknown outcome."""
        self.guard.permit(OBSERVE, "show device locks")
        return self._locks.taken()

    def lock(self, device_id: str) -> LockStatus:
        self.guard.permit(OBSERVE, "show device locks")
        return self._locks.status(self.settings.serial_of(device_id))

    async def lock_of(self, device_id: str) -> LockStatus:
        """Return the lock of a device, which is asked which phone it is where that may be in use by another serial."""
        self.guard.permit(OBSERVE, "show device locks")
        return await self._locks.found(self.settings.serial_of(device_id), partial(self.device, device_id))

    # -- readiness

    def doctor(
        self,
        *,
        device_id: str | None = None,
        full: bool = False,
        strict: bool = False,
        backend: str | None = None,
    ) -> Doctor:
        """Return a doctor for one run: iterate its ``checks()``.

        ``full`` adds building, installing, launching and the smoke test; ``strict`` requires the exact tested Operator release.
        With ``backend`` (default: the settings') stock, the Operator app is not checked.
        Raises ``EngineError`` if the policy does not allow to observe, or ``full``.
        """
        self.guard.permit(OBSERVE, "examine a device")
        if full:
            self.guard.permit(SETUP_OPERATOR, "build and install the Operator app")
        from clawperator.engine.doctor.run import Doctor

        return Doctor(
            self.server,
            device_id=self.settings.serial_of(device_id or self.settings.device_id),
            package=self._package(None),
            settings=self.settings,
            send=lambda serial, command: self._send(serial, None, command),
            full=full,
            strict=strict,
            backend=backend_name(backend or self.backend_of(device_id or self.settings.device_id)),
        )

    def fixer(self) -> Fixer:
        """Return the runner of the fixes that checks offer."""
        from clawperator.engine.doctor.fix import Fixer

        return Fixer(self)

    def operator_app(self, *, device_id: str | None = None, receiver_package: str | None = None) -> OperatorApp:
        """The Operator app on one device: install it, grant what it needs, ask how it is.

        Without ``receiver_package`` and without a choice in the settings, it is the one variant that is installed.
        """
        from clawperator.engine.operator.app import OperatorApp

        chosen = receiver_package or (self.settings.receiver_package if self.settings.package_chosen else "")
        errand = Command.errand("operator-setup", seconds=_SETUP_SECONDS)
        return OperatorApp(
            lambda: self.device(device_id),
            package=package_name(chosen) if chosen else "",
            settings=self.settings,
            send=self._send,
            look=lambda serial, package: self.snapshot(
                device_id=serial, receiver_package=package, backend=BACKENDS[0], options=RunOptions(recorded=False)
            ),
            installed=self.operator_package,
            hold=lambda device: self._locks.hold(device, errand, wait_ms=self.settings.wait_ms),
            guard=self.guard,
        )

    def device_admin(self, *, device_id: str | None = None, wait_ms: int | None = None) -> DeviceAdmin:
        """Return the commands about apps and state of one device; they wait ``wait_ms`` for a device that is in use."""
        from clawperator.engine.device_admin import DeviceAdmin

        errand = Command.errand("device-command", seconds=_SETUP_SECONDS)
        hold = partial(self._locks.hold, command=errand, wait_ms=self.settings.wait_ms if wait_ms is None else wait_ms)
        return DeviceAdmin(partial(self.device, device_id), hold, self.guard)

    @property
    def wireless(self) -> Wireless:
        """Pairing and connecting over the network."""
        from clawperator.engine.adb.wireless import Wireless

        return Wireless(self.server, acting=lambda what: self.guard.acting(SETUP_OPERATOR, what))

    @property
    def emulators(self) -> EmulatorManager:
        """Return the manager of this computer's virtual devices."""
        if not self._emulators:
            from clawperator.engine.emulators.manager import EmulatorManager

            self._emulators.append(EmulatorManager(self.server, self.settings))
        return self._emulators[0].under(self.guard)

    def under(self, caller: Caller) -> Engine:
        """Return this engine bound to ``caller`` and its policy profile; everything else is shared."""
        bound = copy(self)
        bound.caller = caller
        if caller.profile:
            bound.settings = replace(self.settings, policy_profile=caller.profile)
        return bound

    @property
    def guard(self) -> Guard:
        """Return the policy check and audit of operations that are not executions."""
        write = self.history.put_audit if self.history is not None else None
        return Guard(self.settings, self.face, self.caller, write)

    async def _send(self, serial: str, package: str | None, command: Command) -> Envelope:
        """Send one of the doctor's commands under the device lock."""
        if command.last_action[1] not in INTERNAL:
            self.admit(json.loads(command.wire), "examine a device")
        device, backend, trace = AdbDevice(self.server, serial), self._backend(package, BACKENDS[0]), Trace()
        await backend.check(device)
        async with self._locks.hold(device, command, wait_ms=self.settings.wait_ms) as held:
            with settling(held, trace):
                return (await backend.run(device, command, trace)).envelope

    # -- watching

    async def watch_devices(self) -> None:
        """Publish ``DevicesChanged``, and ``AdbServerLost`` when the server ends, until cancelled. Run it as a task."""
        from clawperator.engine.events.types import AdbServerLost, DevicesChanged

        def changed(devices: tuple[DeviceEntry, ...]) -> None:
            self._probe.keep_only({entry.serial for entry in devices if entry.usable})
            self.events.publish(DevicesChanged(devices=devices))

        await watch(self.server, changed, lambda error: self.events.publish(AdbServerLost(reason=error.message)))

    async def watch_log(self, device_id: str) -> None:
        """Publish one device's log until cancelled: batches, command progress, envelopes, snapshots. Run it as a task."""
        chosen = self.settings.package_chosen
        await self._logs.watch(AdbDevice(self.server, device_id), self._probe, self._package(None), chosen=chosen)

    async def record_seen(self) -> None:
        """Record the executions of other processes that ``watch_log`` sees, until cancelled. Run it as a task.

        Returns at once without a history.
        """
        if self.history is None:
            return
        from clawperator.engine.history.seen_runs import SeenRuns, record

        with self.events.subscribe() as subscription:
            seen = SeenRuns(self.history, self.face, self.events.typed, self.server.phones.newest)
            await record(subscription, seen)

    def follow(self, device_id: str, on_state: Callable[[FollowState], object]) -> Follow:
        """Return follow mode for ``device_id``: run its ``run()`` as a task. Executions have precedence over it.

        Trees arrive as ``SnapshotSeen`` events; call ``painted()`` when the newest one is shown. ``on_state`` is called with each
        new state. With ``watch_log`` running too, trees of other executions replace snapshots of its own.
        """
        from clawperator.engine.executions.reconnection import had_to_wait_for
        from clawperator.engine.follow.follower import BUDGET_MS, STOCK_BUDGET_MS, Follow, look

        async def look_once(command: Command) -> str:
            self.admit(build.snapshot(), "follow a device")
            return await look(
                await self.device(device_id),
                self._backend(None, await _chosen_backend(self, None, device_id)),
                partial(self._locks.hold, yields=True),
                command,
            )

        return Follow(
            self.events,
            device_id,
            look=look_once,
            lock=lambda: self._locks.status(self.settings.serial_of(device_id)),
            wait_for_device=lambda gone: had_to_wait_for(self.server, device_id, gone),
            on_state=on_state,
            budget_ms=lambda: BUDGET_MS if self.backend_of(device_id) == BACKENDS[0] else STOCK_BUDGET_MS,
        )


def _history(settings: Settings, events: EventBus, face: str) -> tuple[HistoryWorker, ExecutionRecorder]:
    from clawperator.engine.history.recorder import HistoryRecorder
    from clawperator.engine.history.worker import HistoryWorker

    worker = HistoryWorker(
        settings.history_path,
        events,
        days=settings.history_days,
        megabytes=settings.history_megabytes,
        safe=settings.safe_logs,
    )
    return worker, HistoryRecorder(worker, face)


def _admit_execution(
    settings: Settings, validated: Validated, composed: Composition | None, options: RunOptions
) -> Profile:
    """Check an execution against the session and the policy, with the snapshots that references and ``then`` take; return the profile."""
    if settings.read_only:
        refuse_acting(validated.execution)
    profile = load_profile(settings)
    admit(profile, validated.execution)
    if options.then or validated.execution.has_references or (composed is not None and composed.reference):
        admit(profile, validate(build.snapshot()).execution)
    return profile


async def _chosen_backend(engine: Engine, given: str | None, device_id: str | None) -> str:
    """Return the backend of a call: its own, that of a flag or variable, that of the device's profile, or the settings'."""
    settings = engine.settings
    if given or settings.backend_chosen or not any(profile.backend for profile in settings.devices.values()):
        return backend_name(given or settings.backend)
    return settings.backend_of((await engine.device(device_id)).serial)


def _references(engine: Engine, validated: Validated, composed: Composition | None, serial: str) -> References | None:
    """Return the references in a payload or composition, ``None`` without any. Raises ``EngineError`` (REF_UNKNOWN)."""
    if not (validated.execution.has_references if composed is None else composed.reference):
        return None
    from clawperator.engine.executions.references import References

    return References(validated, engine.trees, serial, composed)


def _stock(settings: Settings, events: EventBus, package: str, **chosen: bool | None) -> Backend:
    """Return the stock backend; what is ``chosen`` replaces the settings. Raises ``EngineError`` where the policy forbids it."""
    permit(settings, STOCK_BACKEND, "use the stock backend")
    from clawperator.engine.executions.backends.stock import StockBackend

    usual = {"allow_unbind": settings.allow_unbind, "compressed": settings.compressed}
    options = usual | {name: value for name, value in chosen.items() if value is not None}
    return StockBackend(events, package=package, input_method=settings.input_method, **options)


async def _diagnose(device: AdbDevice, package: str, *, timeout: float) -> Diagnosis:
    from clawperator.engine.doctor.blockers import read_blockers

    return await read_blockers(device, package, timeout=timeout)


def _starting(devices: Sequence[DeviceEntry]) -> str | None:
    """Return the hint about devices in recovery and the like, which adb lists although Android does not run."""
    found = [f"{entry.serial} is in the state {entry.state}" for entry in devices]
    return f"{', '.join(found)}: start Android on it and reconnect it." if found else None


async def find_device(server: AdbServer, wanted: str, aliases: Iterable[str] = ()) -> AdbDevice:
    """Return the device ``wanted``: a serial, ``usb:PATH`` or ``transport_id:N``; if that is empty, the only usable phone.

    A phone that is connected twice is used by USB; devices are asked who they are only without ``wanted``. Raises as ``choose_device``.
    """
    listed = await server.devices()
    if not wanted:
        listed = await recognise(server, listed)
    chosen = choose_device(listed, wanted, aliases)
    return AdbDevice(server, chosen.serial, chosen.transport_id)


def choose_device(devices: tuple[DeviceEntry, ...], device_id: str, aliases: Iterable[str] = ()) -> DeviceEntry:
    """Return the row to use among ``devices`` (execution.md#how-it-runs); an empty ``device_id`` means the only usable phone.

    ``aliases`` are suggested for a similar ``device_id``.
    """
    ready = [entry for entry in devices if entry.usable]
    usable = [entry.serial for entry in ready]
    if device_id:
        chosen = [entry for entry in devices if entry.is_named(device_id)]
        if chosen and chosen[0].usable:
            return chosen[0]
        if (shared := shared_serial_error(device_id, devices)) is not None:
            raise shared
        known = state_error(chosen)
        details = {"connected": usable, **({"state": chosen[0].state} if chosen else {})}
        if known is not None:
            known.details = details
            raise known
        raise EngineError(
            ErrorCode.DEVICE_NOT_FOUND,
            f"Device {device_id} not found or not in device state",
            hint=device_suggestion(device_id, [*usable, *aliases]) or _starting(chosen),
            details=details,
        )
    if not usable:
        states = {entry.serial: entry.state for entry in devices}
        raise state_error(devices) or EngineError(
            ErrorCode.NO_DEVICES,
            "No connected devices",
            hint=_starting(devices),
            details={"states": states} if states else None,
        )
    phones = [entry for entry in ready if entry.preferred]
    if len(phones) > 1:
        serial, *others = {entry.shared_serial for entry in phones}
        raise (None if others else shared_serial_error(serial, phones)) or EngineError(
            ErrorCode.MULTIPLE_DEVICES_DEVICE_ID_REQUIRED,
            "Multiple devices connected; set --device-id",
            details={"devices": usable},
        )
    return phones[0]


_UNUSABLE = {
    DeviceState.UNAUTHORIZED: (
        ErrorCode.DEVICE_UNAUTHORIZED,
        "is unauthorized: it has not authorized this computer yet",
    ),
    DeviceState.AUTHORIZING: (ErrorCode.DEVICE_UNAUTHORIZED, "waits for the debugging dialog to be confirmed"),
    DeviceState.NO_PERMISSIONS: (ErrorCode.ADB_NO_USB_PERMISSIONS, "may not be opened by this user"),
    DeviceState.OFFLINE: (ErrorCode.DEVICE_OFFLINE, "is offline"),
}
"""States with an error code of their own; earlier ones take precedence."""


def state_error(devices: Iterable[DeviceEntry]) -> EngineError | None:
    """Return the error about the listed devices, none of which is usable; ``None`` where no state has a code of its own."""
    listed = list(devices)
    for state, (code, words) in _UNUSABLE.items():
        for entry in listed:
            if entry.state == state:
                states = {entry.serial: entry.state for entry in listed}
                return EngineError(code, f"Device {entry.serial} {words}", details={"states": states})
    return None
