"""The history of a server is read as if it were here: the same runs, the same filters, page by page."""

from __future__ import annotations

import json
import math
from typing import Any
from urllib.parse import parse_qs, urlsplit

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from clawperator.app.client.history import HttpHistory, OneRun, spelled
from clawperator.app.client.http_client import Client, read_url
from clawperator.engine.errors import EngineError
from clawperator.engine.filters.grammar import KEYS, NO_FILTER, Filter, Term, parse_filter
from clawperator.engine.history.records import (
    LateRecord,
    LineRecord,
    RunRecord,
    RunSummary,
    StepRecord,
    TreeRecord,
)
from tests.app.client.raw_server import http, raw_server

# -- runs

names = st.text(max_size=20)
moments = st.floats(0, 1e11) | st.just(math.nan)
counts = st.integers(0, 10_000)
texts = st.dictionaries(names, names, max_size=3)
plain = st.dictionaries(names, st.none() | st.booleans() | st.integers(-9, 9) | names | st.lists(names, max_size=2))
envelopes = st.fixed_dictionaries(
    {
        "commandId": names,
        "taskId": names,
        "status": st.sampled_from(["success", "failed"]),
        "stepResults": st.lists(
            st.fixed_dictionaries({"id": names, "actionType": names, "success": st.booleans(), "data": texts}),
            max_size=2,
        ),
        "error": st.none() | names,
    },
    optional={"errorCode": names},
)
steps = st.builds(
    StepRecord, counts, names, names, st.sampled_from(["success", "failed", "unknown"]), names, moments, moments, counts, plain
)  # fmt: skip
summaries = st.builds(
    lambda **fields: RunSummary(**fields),  # noqa: PLW0108 -- of a named tuple, all fields would be made up
    number=counts,
    execution_id=names,
    command_id=names,
    task_id=names,
    origin=st.sampled_from(["made", "seen"]),
    status=st.sampled_from(["running", "success", "failed", "refused", "interrupted"]),
    started_at=moments,
    ended_at=moments,
    duration_ms=moments,
    timeout_ms=counts,
)


def several(items: st.SearchStrategy[Any]) -> st.SearchStrategy[tuple[Any, ...]]:
    return st.lists(items, max_size=2).map(tuple)


records = st.builds(
    RunRecord,
    summaries,
    names,
    st.none() | plain,
    st.none() | envelopes,
    several(names),
    several(steps),
    several(st.builds(LineRecord, moments, names, names, texts)),
    several(st.builds(TreeRecord, names, moments, names, counts, st.booleans())),
    st.dictionaries(names, st.floats(0, 1e9), max_size=3),
    several(plain),
    st.none() | st.builds(LateRecord, moments, moments, envelopes, several(names), several(steps)),
)


def as_sent(value: Any) -> Any:
    """What is not known is ``null`` on the wire."""
    if isinstance(value, dict):
        return {key: as_sent(item) for key, item in value.items()}
    if isinstance(value, list):
        return [as_sent(item) for item in value]
    return None if isinstance(value, float) and math.isnan(value) else value


@pytest.mark.ci
@given(records)
def test_a_run_is_the_same_run_on_this_side(record: RunRecord) -> None:
    document = as_sent(record.to_dict())
    again = OneRun.model_validate_json(json.dumps({"ok": True, "run": document})).run
    assert as_sent(again.to_dict()) == document


@given(
    st.recursive(
        st.none() | st.booleans() | st.floats() | names, lambda inner: st.lists(inner) | st.dictionaries(names, inner)
    )
)
def test_whatever_a_server_calls_a_run_is_one_or_is_refused(value: Any) -> None:
    document = value if isinstance(value, dict) else {"envelope": value, "trees": value, "lines": [value]}
    document |= {"number": 1, "executionId": "e", "commandId": "c"}
    try:
        record = OneRun.model_validate({"run": document}).run
    except ValidationError:
        return
    assert record.summary.number == 1


# -- filters

words = st.text(st.characters(exclude_categories=["Cs"]), min_size=1, max_size=12)
typed = st.lists(
    words
    | st.builds("{}{}:{}".format, st.sampled_from(["", "!"]), st.sampled_from(KEYS), words)
    | st.sampled_from(["age:<5m", "!age:>1h", "re:/step \\d+ of/", "status:failed|warn", '"two words"', 'src:"a b"']),
    max_size=4,
).map(" ".join)


def meant(where: Filter) -> list[tuple[object, ...]]:
    return [
        (
            term.negated,
            term.key,
            term.value,
            term.pattern and term.pattern.pattern,
            term.seconds,
            term.comparison,
        )
        for term in where.terms
    ]


@given(typed)
def test_a_filter_is_the_same_filter_on_the_other_side(text: str) -> None:
    where = parse_filter(text)
    again = parse_filter(spelled(where))
    assert meant(again) == meant(where)
    for term in where.terms:  # the history asks for single terms, too
        assert meant(parse_filter(spelled(Filter(term.text, (term,))))) == meant(Filter(terms=(term,)))


@given(st.sampled_from(["task", "src"]), words)
def test_a_filter_that_no_one_typed_is_one_as_well(key: str, value: str) -> None:
    where = Filter(value, (Term(False, key, value.casefold(), text=value),))
    assert meant(parse_filter(spelled(where))) == meant(where)


# -- over HTTP


def page(*numbers: int, **more: Any) -> bytes:
    runs = [{"number": number, "executionId": f"e{number}", "commandId": f"c{number}"} for number in numbers]
    return http(json.dumps({"ok": True, "runs": runs, "count": len(runs), **more}))


def queries(raw: Any) -> list[dict[str, list[str]]]:
    return [parse_qs(urlsplit(asked.target).query) for asked in raw.asked]


async def test_more_runs_than_a_page_are_read_page_by_page() -> None:
    async with raw_server(page(*range(3000, 2000, -1)), page(*range(2000, 1500, -1)), page()) as raw:
        client = Client(read_url(raw.url))
        runs = await HttpHistory(client).runs(parse_filter("status:ok"), limit=1_500, before=3_001)
        await client.close()
    assert [run.number for run in runs] == list(range(3000, 1500, -1))
    assert queries(raw) == [
        {"filter": ["status:ok"], "limit": ["1000"], "before": ["3001"]},
        {"filter": ["status:ok"], "limit": ["500"], "before": ["2001"]},
    ]


async def test_a_server_that_does_not_page_ends_the_reading() -> None:
    async with raw_server(page(*range(1000, 0, -1))) as raw:
        client = Client(read_url(raw.url))
        runs = await HttpHistory(client).runs(NO_FILTER, limit=5_000, before=500)
        await client.close()
    assert len(runs) == 1_000
    assert len(raw.asked) == 1


async def test_count_version_runs_and_trees_have_their_places() -> None:
    tree = http("<hierarchy/>", kind="application/xml; charset=utf-8")
    one = http('{"ok":true,"run":{"number":7,"executionId":"e","commandId":"a/b?c"}}')
    async with raw_server(page(total=12, version=5), page(total=12, version=6), one, tree) as raw:
        client = Client(read_url(raw.url))
        history = HttpHistory(client)
        assert await history.count(parse_filter("cmd:x")) == 12
        assert await history.version() == 6
        assert (await history.find("a/b?c")).summary.number == 7
        assert await history.tree("ab12") == "<hierarchy/>"
        await history.mark_interrupted()
        with pytest.raises(EngineError):
            await history.find("")
        await client.close()
    assert [asked.target.partition("?")[0] for asked in raw.asked] == [
        "/history",
        "/history",
        "/history/a%2Fb%3Fc",
        "/history/trees/ab12",
    ]
    assert queries(raw)[0] == {"filter": ["cmd:x"], "limit": ["0"], "total": ["true"]}
