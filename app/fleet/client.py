"""A client of a fleet: discovery, and executions on ``host/serial``. Nothing is sent twice; no answer is ``unknown``."""

from __future__ import annotations

import asyncio
import base64
import binascii
import getpass
import json
import math
import socket
import time
from collections.abc import AsyncIterator, Mapping, Sequence
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Annotated, Any, NamedTuple, Unpack

from nats.errors import Error as NatsError
from pydantic import BaseModel, ConfigDict, Field, ValidationError

from clawperator.app.fleet import subjects
from clawperator.app.fleet.connection import connected, end_if_cancelled
from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError, ErrorCode, interruption
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.fan_out import TAG, Target, names_in

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from clawperator.engine.facade import BackendOptions

_FIRST_SECONDS, _QUIET_SECONDS = 2.0, 1.0
"""How long a discovery waits for its first answer, and for the next one: that of a host with much to do. Without a listener, the
server says so at once."""
_MOST_SECONDS = 10.0
_MAX_HOSTS = 10_000
_NO_RESPONDERS = "503"
_LOST = "The connection to the fleet is lost"
_REFUSED = "permissions violation for publish to"
_CLOCK_SECONDS = 60.0
"""How long the time of a host is known before it is asked again: its clock may be set."""
_SKEW_SECONDS = 2.0
"""Smaller differences of clocks are ignored."""

_Name = Annotated[str, Field(max_length=255)]


class HostDevice(BaseModel):
    """A device as its host lists it."""

    model_config = ConfigDict(extra="ignore", strict=True)

    serial: Annotated[str, Field(min_length=1, max_length=255)]
    state: _Name
    model: _Name = ""
    detail: Annotated[str, Field(max_length=1_024)] = ""
    alias: _Name = ""
    tags: Annotated[list[_Name], Field(max_length=100)] = Field(default_factory=list)


class HostState(BaseModel):
    """The answer of one host to ``subjects.HOSTS``."""

    model_config = ConfigDict(extra="ignore", strict=True)

    host: Annotated[str, Field(pattern=f"^{subjects.HOST}$")]
    version: _Name = ""
    at: Annotated[float, Field(ge=0, le=1e12)] = 0.0
    devices: Annotated[list[HostDevice], Field(max_length=10_000)]
    locks: Annotated[list[dict[str, Any]], Field(max_length=10_000)] = Field(default_factory=list)
    skew: float = 0.0
    """Seconds to add to a time of the host to get local time."""


class _Tagged(BaseModel):
    """The answer of one host about a tag."""

    host: Annotated[str, Field(pattern=f"^{subjects.HOST}$")]
    serials: Annotated[list[Annotated[str, Field(min_length=1, max_length=255)]], Field(max_length=10_000)]


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
        self._count = 0

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
        for wait in self._waiting.values() if _REFUSED in words else ():
            if f'"{wait.subject.lower()}"' in words:
                wait.queue.put_nowait(error)

    # -- discovery

    async def hosts(self) -> list[HostState]:
        """Return every host that answers, by name, with its devices; invalid answers are left out."""
        found = []
        for answer in await _ask_all(self.client, subjects.HOSTS):
            with suppress(ValidationError):
                host = HostState.model_validate(answer)
                skew = time.time() - host.at
                host.skew = skew if abs(skew) > _SKEW_SECONDS else 0.0
                found.append(host)
        return sorted(found, key=lambda host: host.host)

    async def devices(self) -> list[dict[str, Any]]:
        """Return host, serial, state, alias and tags of every device that a host lists.

        ``alsoOn`` names other hosts that list the same serial: unless it is that of an emulator, they see the same phone.
        """
        rows: dict[str, dict[str, Any]] = {}
        places: dict[str, list[str]] = {}
        for host in await self.hosts():
            for device in host.devices:
                name = f"{host.host}/{device.serial}"
                facts = {"host": host.host, "version": host.version, **device.model_dump(exclude_defaults=True)}
                rows[name] = {"device": name, "alias": "", "tags": [], **facts}
                if not _is_local(device.serial):
                    places.setdefault(device.serial, []).append(host.host)
        for row in rows.values():
            if also := sorted({*places.get(row["serial"], ())} - {row["host"]}):
                row["alsoOn"] = also
        return [rows[name] for name in sorted(rows)]

    async def targets(self, text: str) -> list[Target]:
        """Return the devices of ``text``: ``host/serial``, ``host/alias``, ``tag:<name>`` and ``all`` (every ready one), separated
        by commas.

        A phone that several hosts list is chosen once by ``all`` and a tag: that of the first host by name.

        Raises ``EngineError``: USAGE, INVALID_DEVICE_ID, DEVICE_TAG_UNKNOWN, NO_DEVICES.
        """
        chosen: list[str] = []
        words = names_in(text)
        tags = [word.removeprefix(TAG) for word in words if word.startswith(TAG)]
        listed, tagged = [], {}
        if len(words) > 1 or tags or words == ["all"]:
            listed, *answers = await asyncio.gather(self.devices(), *map(self._tagged, tags))
            tagged = dict(zip(tags, answers, strict=True))
        aliases = {row["device"]: f"{row['host']}/{row['alias']}" for row in listed if row["alias"]}
        serials = {alias: device for device, alias in aliases.items()}
        for word in words:
            if word == "all":
                found = [row["device"] for row in listed if row["state"] == "device"]
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
        return [Target(name, aliases.get(name, "")) for name in dict.fromkeys(chosen)]

    async def _tagged(self, tag: str) -> list[str]:
        found: set[str] = set()
        for answer in await _ask_all(self.client, subjects.tag_subject(tag)):
            with suppress(ValidationError):
                host = _Tagged.model_validate(answer)
                found.update(f"{host.host}/{serial}" for serial in host.serials)
        if not found:
            tags = {name for row in await self.devices() for name in row["tags"]}
            hint = (
                suggestion(tag, tags)
                or f"Known tags: {', '.join(sorted(tags)) or 'none'}. Each host has its own in its settings."
            )
            raise EngineError(
                ErrorCode.DEVICE_TAG_UNKNOWN, f"No device of the fleet has the tag {shown(tag)}", hint=hint
            )
        return sorted(found)

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

        Raises ``EngineError``: what the host answered; DEVICE_NOT_FOUND and FLEET_UNAVAILABLE if nothing was sent;
        FLEET_NO_ANSWER if the outcome is unknown.
        """
        chosen = asdict(options or RunOptions())
        del chosen["screenshot_overwrite"]
        usual = asdict(RunOptions())
        changed = {name: value for name, value in chosen.items() if value != usual[name]}
        until = await self._until(device)
        answer = await self._ask(device, payload=payload, options=changed, timeoutMs=timeout_ms, how=how, until=until)
        if not isinstance(answer.get("envelope", answer.get("executions")), dict | list):
            raise _unknown(device, f"The answer of {device} has no result")
        return answer

    async def picture(self, device: str) -> bytes:
        """Return the screen of ``host/serial`` as PNG. Raises ``EngineError``."""
        try:
            return base64.b64decode((await self._ask(device, ask="picture"))["png"], validate=True)
        except (LookupError, TypeError, ValueError, binascii.Error) as exc:
            raise _unknown(device, f"The answer of {device} has no picture") from exc

    async def doctor(self, device: str, backend: str) -> dict[str, Any]:
        """Return the checks of the doctor for ``host/serial`` on its host. Raises ``EngineError``."""
        return await self._ask(device, ask="doctor", how={"backend": backend})

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
        body = {"id": skill, "args": list(args), "expectContains": expect_contains}
        options = {"then": then} if then is not None else {}
        until = await self._until(device)
        return await self._ask(
            device, ask="skill", payload=body, timeoutMs=timeout_ms, options=options, how=how, until=until
        )

    async def follow(self, device: str, watcher: str, *, painted: bool = False, leaves: bool = False) -> dict[str, Any]:
        """Have the host follow the screen for ``watcher``, for ``subjects.SILENT_SECONDS``; return the state. Raises ``EngineError``."""
        return await self._ask(device, ask="follow", payload={"id": watcher, "painted": painted, "leaves": leaves})

    async def history(self, host: str, **read: Any) -> dict[str, Any]:
        """Return a page of the host's runs, one ``run``, or one ``tree``. Raises ``EngineError``."""
        return await self._request(subjects.device_subject(host, ""), host, ask="history", payload=read)

    async def _until(self, device: str) -> float:
        """Return the time of the host after which it must not start what is sent now: a partition can hold a request back for
        longer than its caller waits.

        Raises ``EngineError``; nothing was sent then.
        """
        host, _ = subjects.address(device)
        ahead, asked = self._clocks.get(host, (0.0, -math.inf))
        if time.monotonic() - asked > _CLOCK_SECONDS:
            try:
                now = float((await self._ask(device, ask="time"))["time"])
            except (LookupError, TypeError, ValueError) as exc:
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, f"The answer of {device} cannot be read", device) from exc
            except EngineError as exc:
                if exc.code is not ErrorCode.FLEET_NO_ANSWER:
                    raise
                hint = "Its computer may be asleep or cut off. Check `clawperator fleet join` there."
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, exc.message, device, hint) from exc
            asked = time.monotonic()
            ahead = now - asked
            self._clocks[host] = ahead, asked
        return time.monotonic() + ahead + subjects.SILENT_SECONDS

    async def _ask(self, device: str, **body: Any) -> dict[str, Any]:
        return await self._request(subjects.device_subject(*subjects.address(device)), device, **body)

    async def _request(self, subject: str, device: str, /, **body: Any) -> dict[str, Any]:
        """Publish a request once and return the answer of the host of ``device``. Raises ``EngineError``."""
        request = {"caller": self._caller, **body}
        data = json.dumps(request, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if len(data) > self.client.max_payload:
            raise EngineError(ErrorCode.PAYLOAD_TOO_LARGE, "The execution is larger than a message of the fleet")
        self._count += 1
        name = str(self._count)
        wait = self._waiting[name] = _Wait(subject, asyncio.Queue())
        try:
            try:
                await self.client.publish(subject, data, reply=f"{self._inbox}.{name}")
            except (NatsError, OSError) as exc:
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, _LOST, device) from exc
            answer = await _answer(wait.queue, device)
        except asyncio.CancelledError as exc:
            raise exc from interruption("sent", deviceId=device)
        finally:
            del self._waiting[name]
        if isinstance(named := answer.get("deviceId"), str) and named:
            device = f"{device.partition('/')[0]}/{named}"  # the request may have named an alias
        if answer.get("ok") or "error" not in answer:
            return {**answer, "deviceId": device}
        raise _remote_error({**answer, "deviceId": device})


async def _answer(queue: asyncio.Queue[Msg | Exception | None], device: str) -> dict[str, Any]:
    parts: dict[int, bytes] = {}
    while True:
        try:
            async with asyncio.timeout(subjects.SILENT_SECONDS):
                message = await queue.get()
        except TimeoutError:
            raise _unknown(device, f"The host of {device} does not answer any more") from None
        if message is None:
            raise _unknown(device, "The connection to the fleet was lost while the execution ran")
        if isinstance(message, Exception):
            words = f"The NATS server does not permit this user to send to {device}"
            hint = "The permissions of the user in the server's configuration decide that."
            raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, words, device, hint)
        headers = message.headers or {}
        if headers.get("Status") == _NO_RESPONDERS:
            hint = "`clawperator fleet devices nats://…` lists the devices of a fleet."
            raise _not_sent(ErrorCode.DEVICE_NOT_FOUND, f"No host of the fleet offers {device}", device, hint)
        if subjects.ALIVE in headers:
            continue
        if sum(map(len, parts.values())) + len(message.data) > subjects.MAX_ANSWER_BYTES:
            raise _unknown(device, f"The answer of {device} is too large")
        try:
            number, _, count = headers.get(subjects.PART, "1/1").partition("/")
            parts[int(number)] = message.data
            if len(parts) == int(count):
                answer = json.loads(b"".join(part for _, part in sorted(parts.items())))
                return dict(answer)
        except (ValueError, TypeError, RecursionError) as exc:
            raise _unknown(device, f"The answer of {device} cannot be read: {exc}") from exc


def _is_local(serial: str) -> bool:
    """Return whether other hosts may have another device of this serial: an emulator, or a port of the host itself."""
    return serial.startswith(("emulator-", "localhost:", "127."))


def _not_sent(code: ErrorCode, message: str, device: str, hint: str | None = None) -> EngineError:
    return EngineError(code, message, hint=hint, extra={"deviceId": device, "broadcastDispatchStatus": "not_sent"})


def _unknown(device: str, message: str) -> EngineError:
    status = {"deviceId": device, "broadcastDispatchStatus": "unknown"}
    return EngineError(ErrorCode.FLEET_NO_ANSWER, message, extra=status)


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


async def ask_hosts(client: Client) -> list[str]:
    """Return the names of all hosts that answer, whatever their version."""
    found = await _ask_all(client, f"$SRV.PING.{subjects.SERVICE}", silent=True)
    metadata = [answer.get("metadata") for answer in found]
    return [str(facts.get("host", "")) for facts in metadata if isinstance(facts, dict)]


async def _ask_all(client: Client, subject: str, *, silent: bool = False) -> list[dict[str, Any]]:
    """Return the JSON objects that answer a request within a moment; none if the server says that no host listens.

    Without any answer it raises ``EngineError`` (FLEET_UNAVAILABLE), unless ``silent``.
    """
    inbox = client.new_inbox()
    answers: list[Any] = []
    size, unheard = 0, False
    try:
        subscription = await client.subscribe(inbox, max_msgs=_MAX_HOSTS)
        try:
            await client.publish(subject, reply=inbox)
            async with asyncio.timeout(_MOST_SECONDS):
                while size < subjects.MAX_ANSWER_BYTES:
                    message = await subscription.next_msg(_QUIET_SECONDS if answers else _FIRST_SECONDS)
                    if (message.headers or {}).get("Status") == _NO_RESPONDERS:
                        unheard = True
                        break
                    size += len(message.data)
                    with suppress(ValueError, RecursionError):
                        answers.append(json.loads(message.data))
        except TimeoutError:
            pass
        finally:
            with suppress(NatsError):
                await subscription.unsubscribe()
    except (NatsError, OSError) as exc:
        end_if_cancelled()
        words = f"The fleet cannot be asked: {exc}" if client.is_connected else _LOST
        raise EngineError(ErrorCode.FLEET_UNAVAILABLE, words) from exc
    end_if_cancelled()
    if not (answers or unheard or silent):
        raise EngineError(ErrorCode.FLEET_UNAVAILABLE, "No host of the fleet answers, nor does the NATS server")
    return [answer for answer in answers if isinstance(answer, dict)]
