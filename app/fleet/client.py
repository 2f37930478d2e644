"""A client of a fleet: discovery, and executions on ``host/serial``. Nothing is sent twice; no answer is ``unknown``."""

from __future__ import annotations

import asyncio
import base64
import binascii
import getpass
import json
import math
import secrets
import socket
import time
from collections.abc import AsyncIterator, Callable, Iterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Self, TypeGuard, Unpack

from nats.errors import Error as NatsError
from pydantic import BaseModel, Field, ValidationError, model_validator

from clawperator.app.client import wire
from clawperator.app.fleet import subjects
from clawperator.app.fleet.connection import connected
from clawperator.engine.adb.presence import DeviceEntry
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.contracts.limits import MAX_EXECUTION_TIMEOUT_MS, MAX_WAIT_MS
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.executions.outcome import Status
from clawperator.engine.fan_out import TAG, Target, names_in, once_per_phone

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from clawperator.engine.facade import BackendOptions

_FIRST_SECONDS, _QUIET_SECONDS = 2.0, 1.0
"""How long a discovery waits for its first answer, and for the next one: that of a host with much to do. Without a listener, the
server says so at once."""
_MOST_SECONDS = 10.0
_MAX_HOSTS = 10_000
_SPARE_SECONDS = 30.0
"""How much longer than its own time limit an execution may take: the device's log, a follow snapshot in front, the screen afterwards."""
_ASK_SECONDS, _DOCTOR_SECONDS = 30.0, 180.0
"""Time limits of requests that have none of their own."""
_LOST = "The connection to the fleet is lost"
_REFUSED, _DEAF = "permissions violation for publish to", "permissions violation for subscription to"
_MAX_PARTS = 65_536
_CLOCK_SECONDS = 60.0
"""How long the time of a host is known before it is asked again: its clock may be set."""
_SKEW_SECONDS = 2.0
"""Smaller differences of clocks are ignored."""


class HostState(wire.Devices):
    """What a host says about itself."""

    host: Annotated[str, Field(pattern=f"^{subjects.HOST}$")]
    version: wire.Name = ""
    at: wire.Seconds = 0.0
    locks: Annotated[list[wire.Lock], Field(max_length=10_000)] = Field(default_factory=list)
    tagged: dict[wire.Name, list[wire.Name]] = Field(default_factory=dict, max_length=1_000)
    """The serials of each tag, also those that are not connected."""
    skew: float = 0.0
    """Seconds to add to a time of the host to get local time."""

    @model_validator(mode="after")
    def _can_be_addressed(self) -> Self:
        for entry in self.devices:
            subjects.address(f"{self.host}/{entry.serial}")
        return self

    def entries(self) -> Iterator[DeviceEntry]:
        """Yield the devices with their names in the fleet."""
        for entry in self.devices:
            others = tuple(f"{self.host}/{serial}" for serial in entry.other_transports)
            yield entry._replace(serial=f"{self.host}/{entry.serial}", other_transports=others)


class _Step(BaseModel):
    id: str
    status: str


class _Outcome(BaseModel):
    """What an answer says about an execution; exit codes follow it."""

    status: Status
    steps: list[_Step]


class _Wait(NamedTuple):
    """An answer that is waited for: ``None`` is a lost connection, an exception a refusal of the server."""

    subject: str
    queue: asyncio.Queue[Msg | Exception | None]


@asynccontextmanager
async def fleet(servers: str, *, caller: str = "", lasting: bool = False) -> AsyncIterator[Fleet]:
    """Connect to the fleet for the time of the block. ``caller`` appears in the hosts' audit (default: user and host).

    Raises ``EngineError`` as ``connected`` does.
    """
    made = Fleet(caller or f"{getpass.getuser()}@{socket.gethostname()}")
    name = "clawperator client"
    async with connected(servers, name=name, lasting=lasting, on_lost=made.lost, on_error=made.refused) as client:
        await made.open(client)
        yield made


class Fleet:
    """Use by ``async with fleet(…)``."""

    def __init__(self, caller: str) -> None:
        self._caller = caller
        self._waiting: dict[str, _Wait] = {}
        self._clocks: dict[str, tuple[float, float]] = {}
        """By host: what to add to the monotonic clock to get the host's time, and when it was asked for that."""
        self._deaf: Exception | None = None
        """Why the server delivers no answers to this user."""

    async def open(self, client: Client) -> None:
        self.client, self._inbox = client, client.new_inbox()
        await client.subscribe(f"{self._inbox}.*", cb=self._arrived)

    async def _arrived(self, message: Msg) -> None:
        wait = self._waiting.get(message.subject.rpartition(".")[2])
        if wait is not None:
            wait.queue.put_nowait(message)

    def lost(self) -> None:
        """End all waits: their outcome is unknown."""
        for wait in self._waiting.values():
            wait.queue.put_nowait(None)

    def refused(self, error: Exception) -> None:
        """End the waits for answers to requests that the server did not deliver."""
        words = str(error).lower()
        if _DEAF in words and f'"{self._inbox}.*"'.lower() in words:
            self._deaf = error
        for wait in self._waiting.values():
            if self._deaf or (_REFUSED in words and f'"{wait.subject.lower()}"' in words):
                wait.queue.put_nowait(error)

    # -- discovery

    async def hosts(self) -> list[HostState]:
        """Return every host that answers, by name, with its devices; invalid answers are left out.

        Any host can answer with any name, so each name is asked on its own subject. Raises ``EngineError`` (FLEET_UNAVAILABLE).
        """
        asked: dict[str, asyncio.Task[HostState | None]] = {}

        def ask(answer: Mapping[str, Any]) -> None:
            if isinstance(name := answer.get("host"), str) and name not in asked:
                asked[name] = asyncio.create_task(self._describe(name), name=f"devices of {shown(name)}")

        try:
            await self._hear(subjects.HOSTS, ask)
            found = await asyncio.gather(*asked.values())
        finally:
            for task in asked.values():
                task.cancel()
        return sorted((host for host in found if host is not None), key=lambda host: host.host)

    async def _describe(self, name: str) -> HostState | None:
        with suppress(ValidationError, EngineError):
            subject = subjects.host_subject(subjects.host_name(name))
            host = HostState.model_validate(await self._request(subject, name, _FIRST_SECONDS, ask="devices"))
            skew = time.time() - host.at
            if host.host == name:
                return host.model_copy(update={"skew": skew if abs(skew) > _SKEW_SECONDS else 0.0})
        return None

    async def devices(self) -> list[dict[str, Any]]:
        """Return host, serial, state, alias and tags of every device that a host lists.

        ``alsoOn`` names other hosts that list the same serial: unless it is that of an emulator, they see the same phone.
        """
        return _rows(await self.hosts())

    async def targets(self, text: str) -> list[Target]:
        """Return the devices of ``text``: ``host/serial``, ``host/alias``, ``tag:<name>`` and ``all`` (every ready one), separated
        by commas.

        A phone that several hosts list is chosen once by ``all`` and a tag: that of the first host by name.

        Raises ``EngineError``: USAGE, INVALID_DEVICE_ID, DEVICE_TAG_UNKNOWN, NO_DEVICES.
        """
        chosen: list[str] = []
        words = names_in(text)
        tags = [word.removeprefix(TAG) for word in words if word.startswith(TAG)]
        hosts = await self.hosts() if len(words) > 1 or tags or words == ["all"] else []
        tagged = {tag: _tagged(hosts, tag) for tag in tags}
        listed = _rows(hosts)
        aliases = {row["device"]: f"{row['host']}/{row['alias']}" for row in listed if row["alias"]}
        serials = {alias: device for device, alias in aliases.items()}
        for word in words:
            if word == "all":
                found = [row["device"] for row in listed if row["state"] == "device" and row.get("preferred", True)]
            elif word.startswith(TAG):
                found = tagged[word.removeprefix(TAG)]
            else:
                subjects.address(word)
                chosen.append(serials.get(word, word))
                continue
            taken = {serial for _, serial in map(subjects.address, chosen) if not _is_local(serial)}
            for name in found:
                _, serial = subjects.address(name)
                if serial not in taken or _is_local(serial):
                    chosen.append(name)
                taken.add(serial)
        if not chosen:
            raise EngineError(ErrorCode.NO_DEVICES, "No host of the fleet offers a ready device")
        return once_per_phone(
            list(dict.fromkeys(chosen)), (entry for host in hosts for entry in host.entries()), aliases
        )

    # -- requests

    async def execute(
        self,
        payload: object,
        device: str,
        *,
        timeout_ms: object = None,
        options: RunOptions | None = None,
        **how: Unpack[BackendOptions],
    ) -> dict[str, Any]:
        """Run ``payload``, or a compiled artifact, once on ``host/serial`` and return the host's answer document.

        Without a ``wait_ms`` it does not wait for a locked device. Raises ``EngineError``: what the host answered; DEVICE_NOT_FOUND and
        FLEET_UNAVAILABLE if nothing was sent; FLEET_NO_ANSWER and FLEET_ANSWER_MISMATCH if the outcome is unknown.
        """
        chosen = asdict(options or RunOptions())
        del chosen["screenshot_overwrite"]
        usual = asdict(RunOptions())
        changed = {name: value for name, value in chosen.items() if value != usual[name]}
        plans = payload["executions"] if _is_compiled(payload) else [payload]
        wait = _milliseconds(how.get("wait_ms"), MAX_WAIT_MS, 0)
        seconds = sum((_limit(plan, timeout_ms) + wait) / 1000 + _SPARE_SECONDS for plan in plans)
        until = await self._until(device)
        body = {"payload": payload, "options": changed, "timeoutMs": timeout_ms, "how": _waiting(how), "until": until}
        answer = await self._ask(device, seconds, **body)
        whole = isinstance(answer.get("envelope", answer.get("executions")), dict | list)
        if not whole or not isinstance(answer.get("ok"), bool):
            raise _unknown(device, f"The answer of {device} has no result")
        _require_same(plans, answer, device)
        return answer

    async def picture(self, device: str) -> bytes:
        """Return the screen of ``host/serial`` as PNG. Raises ``EngineError``."""
        try:
            return base64.b64decode((await self._ask(device, _ASK_SECONDS, ask="picture"))["png"], validate=True)
        except (LookupError, TypeError, ValueError, binascii.Error) as exc:
            raise _unknown(device, f"The answer of {device} has no picture") from exc

    async def doctor(self, device: str, backend: str) -> dict[str, Any]:
        """Return the checks of the doctor for ``host/serial`` on its host. Raises ``EngineError``."""
        return await self._ask(device, _DOCTOR_SECONDS, ask="doctor", how={"backend": backend})

    async def run_skill(
        self,
        skill: str,
        device: str,
        /,
        *,
        args: Sequence[str] = (),
        timeout_ms: int | None = None,
        expect_contains: str | None = None,
        then: str | None = None,
        **how: Unpack[BackendOptions],
    ) -> dict[str, Any]:
        """Run the script of ``skill``, from the registry of the host, for ``host/serial``. Raises ``EngineError``."""
        from clawperator.engine.skills.run import DEFAULT_TIMEOUT_MS  # much else comes with it

        body = {"id": skill, "args": list(args), "expectContains": expect_contains}
        options = {"then": then} if then is not None else {}
        seconds = (timeout_ms or DEFAULT_TIMEOUT_MS) / 1000 + _SPARE_SECONDS
        until = await self._until(device)
        sent = {"payload": body, "timeoutMs": timeout_ms, "options": options, "how": _waiting(how), "until": until}
        answer = await self._ask(device, seconds, ask="skill", **sent)
        if answer.get("skillId") != skill:
            raise _mismatch(device, "skillId", skill, answer.get("skillId"))
        return answer

    async def follow(self, device: str, watcher: str, *, painted: bool = False, leaves: bool = False) -> dict[str, Any]:
        """Have the host follow the screen for ``watcher``, for ``subjects.SILENT_SECONDS``; return the state. Raises ``EngineError``."""
        watch = {"id": watcher, "painted": painted, "leaves": leaves}
        return await self._ask(device, _ASK_SECONDS, ask="follow", payload=watch)

    async def history(self, host: str, **read: Any) -> dict[str, Any]:
        """Return a page of the host's runs, one ``run``, or one ``tree``. Raises ``EngineError``."""
        return await self._request(subjects.host_subject(host), host, _ASK_SECONDS, ask="history", payload=read)

    async def _until(self, device: str) -> float:
        """Return the time of the host after which it must not start what is sent now: a partition can hold a request back for
        longer than its caller waits.

        Raises ``EngineError``; nothing was sent then.
        """
        host, _ = subjects.address(device)
        ahead, asked = self._clocks.get(host, (0.0, -math.inf))
        if time.monotonic() - asked > _CLOCK_SECONDS:
            try:
                now = float((await self._ask(device, 2 * subjects.SILENT_SECONDS, ask="time"))["time"])
            except (LookupError, TypeError, ValueError) as exc:
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, f"The answer of {device} cannot be read", device) from exc
            except EngineError as exc:
                if exc.code is ErrorCode.FLEET_ANSWER_MISMATCH:
                    exc.extra["broadcastDispatchStatus"] = "not_sent"
                if exc.code is not ErrorCode.FLEET_NO_ANSWER:
                    raise
                hint = "Its computer may be asleep or cut off. Check `clawperator fleet join` there."
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, exc.message, device, hint) from exc
            asked = time.monotonic()
            ahead = now - asked
            self._clocks[host] = ahead, asked
        return time.monotonic() + ahead + subjects.SILENT_SECONDS

    async def _ask(self, device: str, seconds: float, **body: Any) -> dict[str, Any]:
        return await self._request(subjects.device_subject(*subjects.address(device)), device, seconds, **body)

    async def _request(self, subject: str, device: str, seconds: float, /, **body: Any) -> dict[str, Any]:
        """Publish a request once and return what the host of ``device`` answers within ``seconds``. Raises ``EngineError``."""
        request = {"caller": self._caller, **body}
        data = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if len(data) > self.client.max_payload:
            raise EngineError(ErrorCode.PAYLOAD_TOO_LARGE, "The execution is larger than a message of the fleet")
        try:
            async with self._sent(subject, data) as queue:
                answer = await _answer(queue, device, time.monotonic() + seconds)
        except (NatsError, OSError) as exc:
            raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, _LOST, device) from exc
        except asyncio.CancelledError as exc:
            raise exc from interruption("sent", deviceId=device)
        given, (_, _, asked) = answer.get("deviceId"), device.partition("/")
        if asked and given not in (None, asked) and answer.pop("alias", None) != asked:
            raise _mismatch(device, "deviceId", asked, given)
        if isinstance(named := answer.get("deviceId"), str) and named:
            device = f"{device.partition('/')[0]}/{named}"  # the request may have named an alias
        if answer.get("ok") or "error" not in answer:
            return {**answer, "deviceId": device}
        raise _remote_error({**answer, "deviceId": device})

    @asynccontextmanager
    async def _sent(self, subject: str, data: bytes) -> AsyncIterator[asyncio.Queue[Msg | Exception | None]]:
        """Publish ``data`` and yield the queue of its answers, whose subject no other request has. Raises ``NatsError`` and ``OSError``."""
        name = secrets.token_hex(12)
        wait = self._waiting[name] = _Wait(subject, asyncio.Queue())
        if self._deaf is not None:
            wait.queue.put_nowait(self._deaf)
        try:
            await self.client.publish(subject, data, reply=f"{self._inbox}.{name}")
            yield wait.queue
        finally:
            del self._waiting[name]

    async def _hear(self, subject: str, take: Callable[[dict[str, Any]], object]) -> None:
        """Call ``take`` with the JSON objects that answer a request within a moment; with none if the server says that no host listens.

        Without any answer it raises ``EngineError`` (FLEET_UNAVAILABLE).
        """
        count = size = 0
        try:
            async with self._sent(subject, b"") as queue, asyncio.timeout(_MOST_SECONDS):
                while count < _MAX_HOSTS and size < subjects.MAX_ANSWER_BYTES:
                    async with asyncio.timeout(_QUIET_SECONDS if count else _FIRST_SECONDS):
                        message = await queue.get()
                    if message is None:
                        raise EngineError(ErrorCode.FLEET_UNAVAILABLE, _LOST)
                    if isinstance(message, Exception):
                        raise _not_permitted(message, "the hosts")
                    if (message.headers or {}).get("Status") == subjects.NO_RESPONDERS:
                        return
                    count, size = count + 1, size + len(message.data)
                    with suppress(ValueError, RecursionError):
                        answer = json.loads(message.data)
                        if isinstance(answer, dict):
                            take(answer)
        except TimeoutError:
            pass
        except (NatsError, OSError) as exc:
            words = f"The fleet cannot be asked: {exc}" if self.client.is_connected else _LOST
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, words) from exc
        if not count:
            raise EngineError(ErrorCode.FLEET_UNAVAILABLE, "No host of the fleet answers, nor does the NATS server")


def _rows(hosts: Sequence[HostState]) -> list[dict[str, Any]]:
    rows: dict[str, dict[str, Any]] = {}
    places: dict[str, list[str]] = {}
    for host in hosts:
        for entry in host.devices:
            serial, name = entry.serial, f"{host.host}/{entry.serial}"
            tags = [tag for tag, serials in host.tagged.items() if serial in serials]
            facts = {"host": host.host, "version": host.version, **entry._replace(device="", transport_id=0).to_dict()}
            rows[name] = {"device": name, "alias": host.aliases.get(serial, ""), "tags": tags, **facts}
            if not _is_local(serial):
                places.setdefault(serial, []).append(host.host)
    for row in rows.values():
        if also := sorted({*places.get(row["serial"], ())} - {row["host"]}):
            row["alsoOn"] = also
    return [rows[name] for name in sorted(rows)]


def _tagged(hosts: Sequence[HostState], tag: str) -> list[str]:
    """Return the devices with a tag. Raises ``EngineError`` (DEVICE_TAG_UNKNOWN)."""
    found = {f"{host.host}/{serial}" for host in hosts for serial in host.tagged.get(tag, ()) if serial}
    if not found:
        tags = {name for host in hosts for name in host.tagged}
        hint = (
            suggestion(tag, tags)
            or f"Known tags: {', '.join(sorted(tags)) or 'none'}. Each host has its own in its settings."
        )
        raise EngineError(ErrorCode.DEVICE_TAG_UNKNOWN, f"No device of the fleet has the tag {shown(tag)}", hint=hint)
    return sorted(found)


async def _answer(queue: asyncio.Queue[Msg | Exception | None], device: str, until: float) -> dict[str, Any]:
    """Return the document that answers a request. Raises ``EngineError``."""
    parts: dict[int, bytes] = {}
    size = total = 0
    while True:
        left = until - time.monotonic()
        try:
            async with asyncio.timeout(min(subjects.SILENT_SECONDS, left)):
                message = await queue.get()
        except TimeoutError:
            silent = left > subjects.SILENT_SECONDS
            why = "does not answer any more" if silent else "is alive, but has not answered within the time limit"
            raise _unknown(device, f"The host of {device} {why}") from None
        if message is None:
            raise _unknown(device, "The connection to the fleet was lost while the execution ran")
        if isinstance(message, Exception):
            raise _not_permitted(message, device)
        headers = message.headers or {}
        if headers.get("Status") == subjects.NO_RESPONDERS:
            hint = "`clawperator fleet devices nats://…` lists the devices of a fleet."
            raise _not_sent(ErrorCode.DEVICE_NOT_FOUND, f"No host of the fleet offers {device}", device, hint)
        if subjects.ALIVE in headers:
            continue
        size += len(message.data)
        if size > subjects.MAX_ANSWER_BYTES:
            raise _unknown(device, f"The answer of {device} is too large")
        try:
            number, _, count = headers.get(subjects.PART, "1/1").partition("/")
            total = total or int(count)
            if not (1 <= int(number) <= total <= _MAX_PARTS and int(count) == total):
                raise _unknown(device, f"The answer of {device} has a part {shown(number)} of {shown(count)}")
            parts[int(number)] = message.data
            if len(parts) == total:
                answer = json.loads(b"".join(part for _, part in sorted(parts.items())))
                return dict(answer)
        except (ValueError, TypeError, RecursionError) as exc:
            raise _unknown(device, f"The answer of {device} cannot be read: {exc}") from exc


def _is_compiled(payload: object) -> TypeGuard[dict[str, list[object]]]:
    return isinstance(payload, dict) and isinstance(payload.get("executions"), list)


def _waiting(how: BackendOptions) -> dict[str, Any]:
    """Return ``how`` with the wait for a locked device: the caller has its time limit, so the host's default does not count."""
    return {**how, "wait_ms": how.get("wait_ms") or 0}


def _limit(plan: object, timeout_ms: object) -> float:
    """Return the time limit of an execution, in milliseconds."""
    given = plan.get("timeoutMs") if timeout_ms is None and isinstance(plan, dict) else timeout_ms
    return _milliseconds(given, MAX_EXECUTION_TIMEOUT_MS, MAX_EXECUTION_TIMEOUT_MS)


def _milliseconds(value: object, most: float, default: float) -> float:
    """Return ``value`` within 0 and ``most``; the host refuses others."""
    if not isinstance(value, int | float) or isinstance(value, bool):
        return default
    return min(max(value, 0), most)


def _require_same(plans: Sequence[object], answer: Mapping[str, Any], device: str) -> None:
    """Raise ``EngineError`` (FLEET_ANSWER_MISMATCH) unless ``answer`` is about the executions that were sent, in their order."""
    done = answer["executions"] if "envelope" not in answer else [answer]
    if not isinstance(done, list) or len(done) > len(plans):
        raise _mismatch(device, "executions", str(len(plans)), "more")
    for plan, found in zip(plans, done, strict=False):
        envelope = found.get("envelope") if isinstance(found, dict) else None
        for name in ("commandId", "taskId"):
            sent = plan.get(name) if isinstance(plan, dict) else None
            given = envelope.get(name) if isinstance(envelope, dict) else None
            if isinstance(sent, str) and given != sent and (given or name == "commandId"):
                raise _mismatch(device, name, sent, given)
        try:
            outcome = _Outcome.model_validate(found.get("outcome") if isinstance(found, dict) else None)
        except ValidationError as exc:
            raise _unknown(device, f"The answer of {device} has no outcome") from exc
        missing = _step_ids(plan) - {step.id for step in outcome.steps if step.status == "done"}
        if missing and outcome.status == "succeeded":
            raise _mismatch(device, "steps", min(missing), "not done")


def _step_ids(plan: object) -> set[str]:
    actions = plan.get("actions") if isinstance(plan, dict) else None
    ids = [step.get("id") for step in actions if isinstance(step, dict)] if isinstance(actions, list) else []
    return {each for each in ids if isinstance(each, str)}


def _is_local(serial: str) -> bool:
    """Return whether other hosts may have another device of this serial: an emulator, or a port of the host itself."""
    return serial.startswith(("emulator-", "localhost:", "127."))


def _not_sent(code: ErrorCode, message: str, device: str, hint: str | None = None) -> EngineError:
    return EngineError(code, message, hint=hint, extra={"deviceId": device, "broadcastDispatchStatus": "not_sent"})


def _unknown(device: str, message: str) -> EngineError:
    status = {"deviceId": device, "broadcastDispatchStatus": "unknown"}
    return EngineError(ErrorCode.FLEET_NO_ANSWER, message, extra=status)


def _mismatch(device: str, name: str, sent: object, given: object) -> EngineError:
    words = f"The answer of {device} is not for what was sent: its {name} is {shown(str(given)) or 'missing'}"
    status = {"deviceId": device, "broadcastDispatchStatus": "unknown"}
    details = {"field": name, "sent": shown(str(sent)), "answered": shown(str(given))}
    return EngineError(ErrorCode.FLEET_ANSWER_MISMATCH, words, details=details, extra=status)


def _not_permitted(refused: Exception, device: str) -> EngineError:
    """Return what the server refuses as an error: that this user sends to ``device``, or that it gets answers."""
    hint = "The permissions of the user in the server's configuration decide that."
    words = f"The NATS server does not permit this user to send to {device}"
    if _DEAF in str(refused).lower():
        words = f"The NATS server does not permit this user to receive answers: {str(refused).removeprefix('nats: ')}"
        hint = "It needs the permission to subscribe to _INBOX_<user>.>: see examples/nats-fleet.conf."
    return _not_sent(ErrorCode.FLEET_UNAVAILABLE, words, device, hint)


def _remote_error(answer: Mapping[str, Any]) -> EngineError:
    """Return the error of a host's answer."""
    if not isinstance(answer["error"], dict):
        return _unknown(answer["deviceId"], f"The answer of {answer['deviceId']} cannot be read")
    given = {"code": "UNKNOWN", "message": "", **answer["error"]}
    extra = {
        key: value for key, value in given.items() if key not in ("code", "message", "hint", "details", "retryable")
    }
    extra |= {name: answer[name] for name in ("deviceId", "executionId", "outcome") if name in answer}
    code = ErrorCode.known(str(given["code"])) or ErrorCode.UNKNOWN
    hint, details, host = given.get("hint"), given.get("details"), answer["deviceId"].partition("/")[0]
    if isinstance(details, dict) and details.pop("policy", None):  # a file of the host
        hint = f"The policy of the host {host} decides this, and can be changed only there."
    elif code is ErrorCode.REGISTRY_READ_FAILED:
        hint = (
            f"On the host {host}, run `clawperator skills install`, or join with CLAWPERATOR_SKILLS_REGISTRY=builtin."
        )
    return EngineError(
        code,
        str(given["message"]),
        hint=hint if isinstance(hint, str) else None,
        details=details if isinstance(details, dict) else {},
        extra=extra,
    )
