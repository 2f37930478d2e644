"""A client of a fleet: discovery, and executions on ``host/serial``. Nothing is sent twice; no answer is ``unknown``."""

from __future__ import annotations

import asyncio
import getpass
import json
import socket
from collections.abc import AsyncIterator, Mapping
from contextlib import asynccontextmanager, suppress
from dataclasses import asdict
from typing import TYPE_CHECKING, Any, Unpack

from nats.errors import Error as NatsError

from clawperator.app.fleet import subjects
from clawperator.app.fleet.connection import connected
from clawperator.engine.contracts.issues import suggestion
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.finish import RunOptions
from clawperator.engine.fan_out import TAG, Target

if TYPE_CHECKING:
    from nats.aio.client import Client
    from nats.aio.msg import Msg

    from clawperator.engine.facade import BackendOptions

_FIRST_SECONDS, _QUIET_SECONDS = 2.0, 0.4
"""How long a discovery waits for its first answer, and for the next one. Where nobody listens, the server says so at once."""
_MAX_HOSTS = 10_000
_NO_RESPONDERS = "503"


@asynccontextmanager
async def fleet(servers: str, *, caller: str = "", lasting: bool = False) -> AsyncIterator[Fleet]:
    """Connect to the fleet for the time of the block. ``caller`` appears in the hosts' audit (default: user and host).

    Raises ``EngineError`` as ``connected`` does.
    """
    made = Fleet(caller or f"{getpass.getuser()}@{socket.gethostname()}")
    async with connected(servers, name="clawperator client", lasting=lasting, on_lost=made.lost) as client:
        await made.open(client)
        yield made


class Fleet:
    """Use by ``async with fleet(…)``."""

    def __init__(self, caller: str) -> None:
        self._caller = caller
        self._waiting: dict[str, asyncio.Queue[Msg | None]] = {}
        self._count = 0

    async def open(self, client: Client) -> None:
        self._client, self._inbox = client, client.new_inbox()
        await self._client.subscribe(f"{self._inbox}.*", cb=self._arrived)

    async def _arrived(self, message: Msg) -> None:
        queue = self._waiting.get(message.subject.rpartition(".")[2])
        if queue is not None:
            queue.put_nowait(message)

    def lost(self) -> None:
        """End all waits: their outcome is unknown."""
        for queue in self._waiting.values():
            queue.put_nowait(None)

    # -- discovery

    async def devices(self) -> list[dict[str, Any]]:
        """Return host, serial, alias and tags of every device that a host offers."""
        rows = []
        for host in await ask_hosts(self._client):
            for endpoint in host["endpoints"]:
                if "serial" in (facts := endpoint.get("metadata") or {}):
                    tags = [tag for tag in facts.get("tags", "").split(",") if tag]
                    rows.append({"host": host["host"], "serial": facts["serial"], "alias": facts.get("alias", "")})
                    rows[-1] |= {"device": f"{host['host']}/{facts['serial']}", "tags": tags}
        return sorted(rows, key=lambda row: row["device"])

    async def targets(self, text: str) -> list[Target]:
        """Return the devices of ``text``: ``host/serial``, ``tag:<name>`` and ``all``, separated by commas.

        Raises ``EngineError``: INVALID_DEVICE_ID, DEVICE_TAG_UNKNOWN, NO_DEVICES.
        """
        chosen: list[str] = []
        for word in map(str.strip, text.split(",")):
            if word == "all":
                chosen += [row["device"] for row in await self.devices()]
            elif word.startswith(TAG):
                chosen += await self._tagged(word.removeprefix(TAG))
            else:
                subjects.address(word)
                chosen.append(word)
        if not chosen:
            raise EngineError(ErrorCode.NO_DEVICES, "No host of the fleet offers a device")
        return [Target(name) for name in dict.fromkeys(chosen)]

    async def _tagged(self, tag: str) -> list[str]:
        answers = await _ask_all(self._client, subjects.tag_subject(tag))
        found = sorted(f"{each['host']}/{serial}" for each in answers for serial in each["serials"])
        if not found:
            tags = {name for row in await self.devices() for name in row["tags"]}
            hint = suggestion(tag, tags) or (f"Known tags: {', '.join(sorted(tags))}." if tags else None)
            raise EngineError(ErrorCode.DEVICE_TAG_UNKNOWN, f"No device of the fleet has the tag {tag}", hint=hint)
        return found

    # -- executions

    async def execute(
        self,
        payload: object,
        device: str,
        *,
        timeout_ms: object = None,
        options: RunOptions | None = None,
        **how: Unpack[BackendOptions],
    ) -> dict[str, Any]:
        """Run ``payload`` once on ``host/serial`` and return the host's answer document.

        Raises ``EngineError``: what the host answered; DEVICE_NOT_FOUND and FLEET_UNAVAILABLE if nothing was sent;
        FLEET_NO_ANSWER if the outcome is unknown.
        """
        host, serial = subjects.address(device)
        chosen = {name: value for name, value in asdict(options or RunOptions()).items() if value is not None}
        body = {
            "payload": payload,
            "options": chosen,
            "caller": self._caller,
            "timeoutMs": timeout_ms,
            "how": how,
        }
        data = json.dumps(body, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "surrogatepass")
        if len(data) > self._client.max_payload:
            raise EngineError(ErrorCode.PAYLOAD_TOO_LARGE, "The execution is larger than a message of the fleet")
        self._count += 1
        name = str(self._count)
        queue = self._waiting[name] = asyncio.Queue()
        try:
            try:
                await self._client.publish(subjects.device_subject(host, serial), data, reply=f"{self._inbox}.{name}")
            except (NatsError, OSError) as exc:
                raise _not_sent(ErrorCode.FLEET_UNAVAILABLE, "The connection to the fleet is lost", device) from exc
            answer = await self._answer(queue, device)
        finally:
            del self._waiting[name]
        answer = {**answer, "deviceId": device}
        if answer.get("ok") or "error" not in answer:
            return answer
        raise _remote_error(answer)

    async def _answer(self, queue: asyncio.Queue[Msg | None], device: str) -> dict[str, Any]:
        parts: dict[int, bytes] = {}
        while True:
            try:
                async with asyncio.timeout(subjects.SILENT_SECONDS):
                    message = await queue.get()
            except TimeoutError:
                raise _unknown(device, f"The host of {device} does not answer any more") from None
            if message is None:
                raise _unknown(device, "The connection to the fleet was lost while the execution ran")
            headers = message.headers or {}
            if sum(map(len, parts.values())) > subjects.MAX_ANSWER_BYTES:
                raise _unknown(device, f"The answer of {device} is too large")
            if headers.get("Status") == _NO_RESPONDERS:
                raise _not_sent(ErrorCode.DEVICE_NOT_FOUND, f"No host of the fleet offers {device}", device)
            if subjects.ALIVE in headers:
                continue
            try:
                number, _, count = headers.get(subjects.PART, "1/1").partition("/")
                parts[int(number)] = message.data
                if len(parts) == int(count):
                    answer = json.loads(b"".join(part for _, part in sorted(parts.items())))
                    return dict(answer)
            except (ValueError, TypeError, RecursionError) as exc:
                raise _unknown(device, f"The answer of {device} cannot be read: {exc}") from exc


def _not_sent(code: ErrorCode, message: str, device: str) -> EngineError:
    hint = "List the devices of the fleet: clawperator fleet devices." if code is ErrorCode.DEVICE_NOT_FOUND else None
    return EngineError(code, message, hint=hint, extra={"deviceId": device, "broadcastDispatchStatus": "not_sent"})


def _unknown(device: str, message: str) -> EngineError:
    status = {"deviceId": device, "broadcastDispatchStatus": "unknown"}
    return EngineError(ErrorCode.FLEET_NO_ANSWER, message, extra=status)


def _remote_error(answer: Mapping[str, Any]) -> EngineError:
    """Return the error of a host's answer."""
    given = {"code": "UNKNOWN", "message": "", **answer["error"]}
    extra = {
        key: value for key, value in given.items() if key not in ("code", "message", "hint", "details", "retryable")
    }
    extra |= {name: answer[name] for name in ("deviceId", "executionId", "outcome") if name in answer}
    code = ErrorCode.known(str(given["code"])) or ErrorCode.UNKNOWN
    details = given.get("details") or {}
    return EngineError(code, str(given["message"]), hint=given.get("hint"), details=details, extra=extra)


async def ask_hosts(client: Client) -> list[dict[str, Any]]:
    """Return the micro-service information of every host that answers, with its name as ``host``."""
    found = await _ask_all(client, f"$SRV.INFO.{subjects.SERVICE}")
    return [
        {**info, "host": str((info.get("metadata") or {}).get("host", ""))} for info in found if "endpoints" in info
    ]


async def _ask_all(client: Client, subject: str) -> list[dict[str, Any]]:
    """Return the JSON objects that answer a request within a moment; none if nobody listens."""
    inbox = client.new_inbox()
    answers: list[Any] = []
    subscription = await client.subscribe(inbox, max_msgs=_MAX_HOSTS)
    try:
        await client.publish(subject, reply=inbox)
        while True:
            message = await subscription.next_msg(_QUIET_SECONDS if answers else _FIRST_SECONDS)
            if (message.headers or {}).get("Status") == _NO_RESPONDERS:
                break
            with suppress(ValueError):
                answers.append(json.loads(message.data))
    except TimeoutError:
        pass
    except (NatsError, OSError) as exc:
        raise EngineError(ErrorCode.FLEET_UNAVAILABLE, f"The fleet cannot be asked: {exc}") from exc
    finally:
        with suppress(NatsError):
            await subscription.unsubscribe()
    return [answer for answer in answers if isinstance(answer, dict)]
