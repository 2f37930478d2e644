"""What an Operator from 0.9.3 on logs, and what the host makes of it: the cases of tests/data/operator-0.10 through the real adb."""

from __future__ import annotations

import base64
import copy
import hashlib
import json
from collections.abc import Awaitable, Callable, Iterator, Mapping
from pathlib import Path
from typing import Any

import pytest

from clawperator.engine import EngineError
from tests.journeys.conftest import Bench

pytestmark = pytest.mark.adb
Connect = Callable[..., Awaitable[Bench]]
Data = dict[str, Any]

CASES: list[Data] = json.loads((Path(__file__).parents[1] / "data/operator-0.10/cases.json").read_text())["cases"]
EXECUTOR = "AgentCommandExecutorDefault$execute"


def compact(value: object) -> str:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":"))


def envelope_of(given: Data) -> Data:
    """A ``pad`` in a step's data stands for so many characters."""
    envelope = copy.deepcopy(given)
    for step in envelope["stepResults"]:
        if size := step.get("data", {}).pop("pad", 0):
            step["data"]["padding"] = ("0123456789abcdef" * (size // 16 + 1))[:size]
    return envelope


def records_of(text: str, envelope: Data) -> list[Data]:
    raw = text.encode()
    ids = {key: envelope[key] for key in ("commandId", "taskId")}
    count, digest = -(-len(raw) // 1024), hashlib.sha256(raw).hexdigest()
    return [
        {**ids, "index": index, "count": count, "byteLength": len(raw), "sha256": digest, "data": base64.b64encode(part).decode()}
        for index, part in enumerate(raw[at : at + 1024] for at in range(0, len(raw), 1024))
    ]  # fmt: skip


def lines_of(entry: Data, word: str) -> Iterator[tuple[str, str, str]]:
    """Level, tag and message of each log record that an entry of a case stands for."""
    level, tag = entry.get("level", "I"), entry.get("tag", EXECUTOR)
    if "msg" in entry:
        yield level, tag, entry["msg"]
    elif "line" in entry:
        yield level, tag, f"[{word}-Result] {compact(envelope_of(entry['line']))}"
    elif "note" in entry:
        envelope = envelope_of(entry["of"])
        size = len(f"[{word}-Result] {compact(envelope)}".encode())
        chunks = -(-size // 1024) if size > 3000 else 0
        marker = {key: envelope[key] for key in ("commandId", "taskId")} | {
            "event": entry["note"], "byteLength": size, "recordCount": chunks or 1, "chunkCount": chunks,
            "writtenRecords": entry.get("written", chunks or 1), "elapsedMs": 5,
        }  # fmt: skip
        yield level, tag, f"[{word}-Publication] {compact(marker)}"
    else:
        yield from chunks_of(entry, word, level, tag)


def chunks_of(entry: Data, word: str, level: str, tag: str) -> Iterator[tuple[str, str, str]]:
    envelope = envelope_of(entry["chunks"])
    head = entry.get("head", f"[{word}-Result]")
    inner: Data = entry.get("inner") or entry["chunks"]
    records = records_of(f"{head} {compact(envelope_of(inner))}", envelope)
    for place, index in enumerate(entry.get("order", range(len(records)))):
        for other in entry.get("between", {}).get(str(place), ()):
            yield from lines_of(other, word)
        change = entry.get("edit", {}).get(str(index), {})
        if change == "flip":
            data = bytearray(base64.b64decode(records[index]["data"]))
            data[0] ^= 1
            change = {"data": base64.b64encode(data).decode()}
        message = f"[{word}-Result-Chunk] {compact({**records[index], **change})}"
        yield level, tag, message[: entry.get("raw", {}).get(str(index))]


def scripted(bench: Bench, case: Data) -> list[str]:
    """Make the Operator answer with the lines of the case; return the list of payloads that it gets."""
    operator = bench.world.operator
    assert operator is not None
    received: list[str] = []

    def receive(action: str, extras: Mapping[str, str], number: int) -> None:
        received.append(extras["payload"])
        process = operator._log.process
        for entry in case["device"]:
            for level, tag, message in lines_of(entry, case.get("word", "Clawperator")):
                bench.world.log.write(
                    pid=process.pid, tid=process.pid + 9, uid=process.uid, level=level, tag=tag, message=message
                )

    operator.receive = receive  # type: ignore[method-assign]
    return received


def holds(expected: object, found: object) -> bool:
    """Whether everything that ``expected`` names is so in ``found``; lists by place."""
    if isinstance(expected, dict):
        return isinstance(found, dict) and all(holds(value, found.get(key)) for key, value in expected.items())
    if isinstance(expected, list):
        return isinstance(found, list) and len(found) >= len(expected) and all(map(holds, expected, found))
    return expected == found


def meets(wanted: Data, answer: Data) -> bool:
    error = answer.get("error") or answer["envelope"]
    if "code" in wanted and wanted["code"] not in (error.get("code"), error.get("errorCode")):
        return False
    details = json.dumps(error.get("details") or {})
    return all(text in details for text in wanted.get("details_mention", ())) and all(
        holds(wanted[key], answer.get(key)) for key in ("envelope", "outcome") if key in wanted
    )


async def answer_of(bench: Bench, payload: Data) -> Data:
    try:
        return (await bench.engine.execute(payload)).to_dict()
    except EngineError as exc:
        return exc.to_answer()


@pytest.mark.parametrize("case", CASES, ids=[case["id"] for case in CASES])
async def test_a_case_has_one_of_its_answers(connect: Connect, case: Data) -> None:
    bench = await connect(speed=1, device={"generation": case["apk"].rpartition(".")[0]})
    received = scripted(bench, case)
    answer = await answer_of(bench, case["payload"])
    assert any(meets(wanted, answer) for wanted in case["expect"]), json.dumps(answer, indent=1)[:3000]
    own = json.loads(received[0])["commandId"]
    assert sum(json.loads(each)["commandId"] == own for each in received) == 1, (
        "the command once, whatever is looked at afterwards"
    )
