"""What may happen to the chunk records of a result between the Operator and a reader of the log (wire.md#chunk-records). Pure."""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any, NamedTuple

from clawperator.engine.contracts.operator_identity import BRANDS
from clawperator.engine.simulator.results import chunk_records, json_line

Record = Mapping[str, object]
_TOO_MANY = 65_537


class Written(NamedTuple):
    """A record as it comes into the log; ``foreign``: another app writes it, under the same tag."""

    text: str
    foreign: bool = False


def written(prefix: str, whole: str, command_id: str, task_id: str, fault: Any) -> list[Written]:
    """Return the records of a result's ``whole`` line, subject to ``fault`` (``changed_records``); ``prefix`` is that of chunk records."""
    records = [*chunk_records(whole, command_id, task_id)]
    if fault is None:
        return [Written(prefix + json_line(record)) for record in records]
    other = [*chunk_records(_other(whole, command_id), command_id, task_id)]
    if fault.how in _FOREIGN:
        brand = next(brand for brand in BRANDS if (brand in prefix) == (fault.how == "forged"))
        forged = [Written(f"[{brand}-Result-Chunk] {json_line(record)}", foreign=True) for record in other]
        own = [Written(prefix + json_line(record)) for record in records]
        return [each for pair in zip(forged, own, strict=False) for each in pair] + own[len(forged) :]
    if fault.how == "mixed":
        elsewhere = [*chunk_records(_other(whole, "foreign-1"), "foreign-1", task_id)]
        pairs = [each for pair in zip(records, elsewhere, strict=False) for each in pair]
        return [Written(prefix + json_line(each)) for each in (*pairs, *records[len(elsewhere) :])]
    chosen = [place for place in fault.records if place < len(records)]
    return [Written(prefix + json_line(record)) for record in _CHANGES[fault.how](records, other, chosen)]


def _other(whole: str, command_id: str) -> str:
    """Return the line of another result that is as long: without steps."""
    prefix, _, body = whole.partition(" ")
    envelope = {**json.loads(body), "commandId": command_id, "stepResults": []}
    return f"{prefix} {json_line({**envelope, 'padding': 'x' * (len(body) // 2)})}"


def _doubled(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        yield from [record] * (1 + (place in chosen))


def _exchanged(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    order = list(range(len(records)))
    for place in chosen:
        order[place - 1], order[place] = order[place], order[place - 1]
    yield from (records[place] for place in order)


def _corrupt(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        data = str(record["data"])
        yield {**record, "data": ("B" if data[0] == "A" else "A") + data[1:]} if place in chosen else record


def _contradicting(records: Sequence[Record], other: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    for place, record in enumerate(records):
        yield record
        if place in chosen:
            yield {**record, "data": other[place % len(other)]["data"]}


def _stalled(records: Sequence[Record], _: Sequence[Record], chosen: Sequence[int]) -> Iterator[Record]:
    yield from records[: min(chosen, default=len(records))]


def _with(**changes: Callable[[Record, Record], object]) -> Callable[..., Iterator[Record]]:
    """Return a change of these keys in all records, by a record and one of another result."""

    def changed(records: Sequence[Record], other: Sequence[Record], _: Sequence[int]) -> Iterator[Record]:
        for record in records:
            yield {**record, **{key: change(record, other[0]) for key, change in changes.items()}}

    return changed


_FOREIGN = ("forged", "both_brands")
_CHANGES: Mapping[str, Callable[[Sequence[Record], Sequence[Record], Sequence[int]], Iterator[Record]]] = {
    "doubled": _doubled,
    "exchanged": _exchanged,
    "corrupt": _corrupt,
    "contradicting": _contradicting,
    "stalled": _stalled,
    "too_many": _with(count=lambda *_: _TOO_MANY, byteLength=lambda *_: _TOO_MANY * 1024),
    "wrong_size": _with(byteLength=lambda record, _: int(str(record["byteLength"])) - 1),
    "other_digest": _with(sha256=lambda _, other: other["sha256"]),
}
