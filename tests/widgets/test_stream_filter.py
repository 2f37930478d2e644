from __future__ import annotations

import pytest

from clawperator.engine.filters.grammar import parse_filter
from clawperator.widgets.models.execution import ExecutionState, Mark
from clawperator.widgets.models.executions import ExecutionLog
from clawperator.widgets.models.stream_filter import ages, culprit, entry_test, keeps, with_command
from tests.app.console.support import DEVICE, log_lines, mixed_stream
from tests.support import table

AT = 1000.0
NOW = AT + 60


def log() -> ExecutionLog:
    log = ExecutionLog()
    log.apply(mixed_stream(AT))
    return log


def kept(text: str) -> list[str]:
    where = parse_filter(text)
    return [item.command_id for item in log().items if isinstance(item, ExecutionState) and keeps(where, item, NOW)]


@table(
    ("text", "commands"),
    [
        ("status:failed", ["cmd-122"]),
        ("status:failed|warn", ["cmd-122", "cmd-123"]),
        ("status:success", ["cmd-121", "cmd-124"]),
        ("source:skill", ["cmd-123", "cmd-124"]),
        ("src:skill !status:warn", ["cmd-124"]),
        ("code:navigation", ["cmd-123"]),
        ("command:cmd-12 !src:openclaw !src:skill", ["cmd-126"]),
        ("type:wait_for_node", ["cmd-121", "cmd-125"]),
        ("step:temp", ["cmd-123"]),
        ("task:thermo", ["cmd-123", "cmd-124"]),
        ("bluetooth", ["cmd-122"]),
        ('text:"plan completed"', ["cmd-121"]),
        ("age:<40s", ["cmd-125", "cmd-126"]),
        ("age:>40s !status:ok", ["cmd-122", "cmd-123"]),
        ("re:/cmd-12[35]$/", ["cmd-123", "cmd-125"]),
        ("device:5554 status:running", ["cmd-125"]),
        ("device:other", []),
        ("level:e", []),
    ],
)
def test_terms_are_combined(text: str, commands: list[str]) -> None:
    assert kept(text) == commands


def test_one_command_is_not_another_one_that_begins_like_it() -> None:
    first, longer = ExecutionState("cmd-1", "d", 1, AT), ExecutionState("cmd-12", "d", 2, AT)
    where = with_command(parse_filter("cmd"), "cmd-1")
    assert keeps(where, first, NOW)
    assert not keeps(where, longer, NOW)
    assert not keeps(where, Mark("gap", AT, "device offline", 3), NOW)
    assert keeps(where, Mark("malformed", AT, "cut off", 3, raw='{"commandId":"cmd-1"'), NOW)


def test_bad_news_passes_every_filter_about_executions() -> None:
    mark = next(item for item in log().items if isinstance(item, Mark))
    for text in ("status:ok", "!status:ok", "cmd:x", "tag:y", "malformed", "dev:5554", "age:<1m"):
        assert keeps(parse_filter(text), mark, NOW), text
    for text in ("!malformed", "nothing of it", "dev:other", "age:>1m"):
        assert not keeps(parse_filter(text), mark, NOW), text


def test_the_term_that_hides_everything_is_named_as_it_was_typed() -> None:
    items = log().items
    assert culprit(parse_filter("openclaw STATUS:Skipped"), items, NOW) == "STATUS:Skipped"
    assert culprit(parse_filter("src:openclaw src:skill"), items, NOW) == "", "each matches something, together nothing"
    assert culprit(parse_filter("!cmd"), items, NOW) == "!cmd"


def test_only_ages_depend_on_the_time() -> None:
    assert ages(parse_filter("x age:<5m"))
    assert not ages(parse_filter("x status:ok"))


@pytest.mark.parametrize(
    ("text", "count"),
    [
        ("tag:wifi", 36), ("level:w", 8), ("level:warning|error", 16), ("!tag:wifi 'line", 0), ("!tag:wifi line", 4), ("wifi", 36),
        ("text:wifi", 0), ("pid:4312", 4), ("pid:43", 0), ("cmd:cmd-20", 1), ("dev:5554", 40), ("!dev:5554", 0), ("re:/result \\d: /", 9),
    ],
)  # fmt: skip
def test_log_lines_are_filtered_by_their_fields_and_words(text: str, count: int) -> None:
    where = parse_filter(text)
    assert sum(entry_test(where, NOW)(entry, DEVICE.serial) for entry in log_lines(40)) == count
