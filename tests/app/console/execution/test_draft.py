"""The draft: every change can be undone, every fault is shown, and a crash at any moment costs nothing."""

from __future__ import annotations

import asyncio
import json
import os
import stat
from pathlib import Path
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.app.cli.payload_file import read_payload
from clawperator.app.console import text_files
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.execution.draft_file import DraftFile
from clawperator.app.console.execution.draft_model import Draft
from clawperator.app.console.text_files import read_text, save_as
from clawperator.engine.executions.steps import step
from clawperator.engine.executions.validate import validate
from clawperator.engine.hierarchy.matcher import Matcher
from tests.support import OWNER, table

TAP = step("tap", matcher=Matcher(text_equals="Wi‑Fi"))
BACK = step("back")


def ids(draft: Draft) -> list[str]:
    return [str(each["id"]) for each in draft.steps]


# -- changes


def test_steps_get_ids_of_their_own_and_can_be_moved_and_deleted() -> None:
    draft = Draft()
    assert [draft.append(TAP), draft.append(BACK), draft.append(TAP)] == [1, 2, 3]
    assert ids(draft) == ["tap", "back", "tap-2"]
    assert (draft.move(2, -1), draft.move(0, -1), draft.move(2, 1)) == (1, 0, 2)
    assert ids(draft) == ["tap", "tap-2", "back"]
    draft.delete(0)
    assert ids(draft) == ["tap-2", "back"]
    draft.clear()
    assert not len(draft)


changes = st.lists(
    st.one_of(
        st.tuples(st.just("append"), st.sampled_from([TAP, BACK])),
        st.tuples(st.just("delete"), st.integers(0, 4)),
        st.tuples(st.just("move"), st.integers(0, 4), st.sampled_from([-1, 1])),
        st.tuples(st.just("clear")),
    ),
    max_size=30,
)


@given(changes)
def test_undo_walks_back_through_every_state(script: list[tuple[Any, ...]]) -> None:
    draft = Draft()
    states = [draft.steps]
    for name, *arguments in script:
        generation = draft.generation
        getattr(draft, name)(*arguments)
        if draft.generation != generation:
            states.append(draft.steps)
    for place in range(len(states) - 1, -1, -1):
        assert draft.steps == states[place]
        assert draft.undo() is (place > 0)
    assert not draft.undo()


@given(changes)
def test_what_verbs_made_is_valid_whenever_there_is_a_step(script: list[tuple[Any, ...]]) -> None:
    draft = Draft()
    for name, *arguments in script:
        getattr(draft, name)(*arguments)
    validated, problems = draft.check()
    assert (validated is not None) is bool(len(draft))
    assert bool(problems) is not bool(len(draft))


def test_the_payload_keeps_its_command_id_until_it_was_sent() -> None:
    draft = Draft()
    draft.append(TAP)
    first = draft.payload()
    draft.append(BACK)
    assert draft.payload()["commandId"] == first["commandId"]
    draft.sent()
    assert draft.payload()["commandId"] != first["commandId"]
    assert draft.payload()["taskId"] == draft.payload()["commandId"]


# -- payloads of others

FOREIGN = {
    "commandId": "cmd-9",
    "taskId": "morning",
    "source": "openclaw",
    "expectedFormat": "android-ui-automator",
    "timeoutMs": 20_000,
    "mode": "artifact_compiled",
    "actions": [{"id": "a", "type": "press_key", "params": {"key": "back"}}, {"id": "b", "type": "snapshot"}],
}


def test_a_payload_that_was_opened_keeps_everything_but_its_command_id() -> None:
    draft = Draft()
    draft.open(FOREIGN)
    opened = dict(draft.payload())
    assert opened.pop("commandId") != "cmd-9"
    assert opened == {key: value for key, value in FOREIGN.items() if key != "commandId"}
    assert draft.undo()
    assert not len(draft)


def test_a_draft_that_was_written_down_goes_on_as_if_it_had_not_been() -> None:
    one, two = Draft(), Draft()
    one.append(TAP)
    two.open(json.loads(json.dumps(one.payload())))
    one.append(BACK)
    two.append(BACK)
    names = ("commandId", "taskId")
    assert {key: one.payload()[key] for key in one.payload() if key not in names} == {
        key: two.payload()[key] for key in two.payload() if key not in names
    }
    assert two.payload()["taskId"] == two.payload()["commandId"]


def test_a_plan_of_actions_gets_its_ids() -> None:
    draft = Draft()
    for plan in ([{"type": "snapshot_ui"}], {"actions": [{"type": "snapshot_ui"}], "timeoutMs": 9_000}):
        draft.open(plan)
        assert ids(draft) == ["s1"]
        validated, problems = draft.check()
        assert (validated is not None, list(problems)) == (True, [])
    assert draft.payload()["timeoutMs"] == 9_000


def test_faults_of_a_payload_are_shown_where_they_are_and_not_repaired() -> None:
    draft = Draft()
    broken = [{"id": "a", "type": "press_key", "params": {"key": "enter"}}, {"id": "a", "type": "sleep"}, {"type": []}]
    draft.open({**FOREIGN, "actions": broken, "surprise": 1, "timeoutMs": "soon"})
    validated, problems = draft.check()
    assert validated is None
    assert {problem.step for problem in problems} >= {0, 1, 2}
    assert any(problem.path == "timeoutMs" and problem.step == -1 for problem in problems)
    assert list(draft.steps) == broken
    draft.append(TAP)
    assert list(draft.steps)[:3] == broken


@table("payload", [None, 3, [], {}, {"actions": 3}, {"actions": [1]}, {"actions": None}])
def test_what_holds_no_steps_is_refused_and_changes_nothing(payload: object) -> None:
    draft = Draft()
    draft.append(TAP)
    with pytest.raises(ValueError, match="no list of actions"):
        draft.open(payload)
    assert ids(draft) == ["tap"]


# -- files


def test_a_saved_draft_is_a_payload_that_the_command_line_takes(tmp_path: Path) -> None:
    draft = Draft()
    draft.append(step("enter_text", matcher=Matcher(text_equals="\u202e☃ 'x'"), text="a\nb"))
    path = save_as(tmp_path / "plan.json", json.dumps(draft.payload()), guard=OWNER)
    assert validate(read_payload(str(path))).payload == validate(draft.payload()).payload
    assert oct(path.stat().st_mode & 0o777) == oct(0o666 & ~_umask())


def _umask() -> int:
    mask = os.umask(0)
    os.umask(mask)
    return mask


def test_a_file_is_replaced_only_when_that_is_wanted_and_then_keeps_its_mode(tmp_path: Path) -> None:
    path = tmp_path / "plan.json"
    path.write_text("precious")
    path.chmod(0o640)
    with pytest.raises(FileExistsError):
        save_as(path, "new", guard=OWNER)
    assert path.read_text() == "precious"
    save_as(path, "new", guard=OWNER, overwrite=True)
    assert path.read_text() == "new"
    assert path.stat().st_mode & 0o777 == 0o640


def test_a_link_is_written_through(tmp_path: Path) -> None:
    target = tmp_path / "real.json"
    target.write_text("old")
    link = tmp_path / "link.json"
    link.symlink_to(target)
    save_as(link, "new", guard=OWNER, overwrite=True)
    assert link.is_symlink()
    assert target.read_text() == "new"


@pytest.mark.parametrize(("name", "error"), [("gone/plan.json", FileNotFoundError), (".", IsADirectoryError)])
def test_a_path_that_cannot_be_written_says_why(tmp_path: Path, name: str, error: type[OSError]) -> None:
    with pytest.raises(error):
        save_as(tmp_path / name, "x", guard=OWNER)


def test_too_much_and_no_text_are_refused_unread(tmp_path: Path) -> None:
    path = tmp_path / "big"
    with path.open("wb") as stream:
        stream.truncate(text_files.MAX_FILE_BYTES + 1)
    with pytest.raises(ValueError, match="more than"):
        read_text(path)
    path.write_bytes(b"\xff\xfe{}")
    with pytest.raises(ValueError, match="utf-8"):
        read_text(path)


def test_the_state_file_is_private_and_replaced_as_a_whole(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    file = DraftFile(tmp_path / "state" / "draft.json")
    assert file.load() == ""
    file.save("one")
    assert stat.S_IMODE(file.path.stat().st_mode) == 0o600

    def full(*_: object) -> None:
        raise OSError(28, "No space left on device")

    monkeypatch.setattr(os, "fsync", full)
    with pytest.raises(OSError, match="No space"):
        file.save("two")
    assert file.load() == "one"
    assert [each.name for each in file.path.parent.iterdir()] == ["draft.json"]


# -- the keeper


class Story:
    """A keeper over a real file, and what it said."""

    def __init__(self, path: Path) -> None:
        self.file = DraftFile(path)
        self.troubles: list[str] = []
        self.changes = 0
        self.keeper = DraftKeeper(self.file, self._changed, self.troubles.append)

    def _changed(self) -> None:
        self.changes += 1

    def kept(self) -> list[str]:
        return [action["id"] for action in json.loads(self.file.path.read_text())["actions"]]


async def test_every_change_is_on_disk_and_comes_back(tmp_path: Path) -> None:
    story = Story(tmp_path / "draft.json")
    await story.keeper.open()
    for _ in range(20):
        story.keeper.append(TAP)
    await story.keeper.close()
    assert len(story.kept()) == 20

    again = Story(tmp_path / "draft.json")
    await again.keeper.open()
    assert ids(again.keeper.draft) == story.kept()
    assert not again.keeper.draft.undo()
    assert again.troubles == []
    assert again.changes


async def test_nothing_is_written_before_the_old_draft_was_read(tmp_path: Path) -> None:
    first = Story(tmp_path / "draft.json")
    await first.keeper.open()
    first.keeper.append(BACK)
    await first.keeper.close()

    story = Story(tmp_path / "draft.json")
    story.keeper.append(TAP)
    await asyncio.sleep(0)
    assert story.kept() == ["back"]
    await story.keeper.open()
    await story.keeper.close()
    assert story.kept() == ["back", "tap"]


async def test_a_draft_that_is_no_text_is_kept_and_said(tmp_path: Path) -> None:
    story = Story(tmp_path / "draft.json")
    story.file.path.write_bytes(b"\xff")
    await story.keeper.open()
    aside = tmp_path / "draft.json.unreadable"
    assert [str(aside) in trouble for trouble in story.troubles] == [True]
    story.keeper.append(TAP)
    await story.keeper.close()
    assert aside.read_bytes() == b"\xff"
    assert story.kept() == ["tap"]


@pytest.mark.parametrize("content", ["{", "[]", '{"actions": 3}', '{"a":1,"a":2}'])
async def test_a_draft_without_steps_comes_back_as_text(tmp_path: Path, content: str) -> None:
    story = Story(tmp_path / "draft.json")
    story.file.path.write_text(content)
    await story.keeper.open()
    assert story.troubles == []
    assert story.keeper.draft.text == content
    assert story.keeper.draft.unreadable
    assert story.file.path.read_text() == content

    early = Story(tmp_path / "draft.json")
    early.keeper.append(TAP)
    await early.keeper.open()
    await early.keeper.close()
    assert early.kept() == ["tap"]
    assert [draft.text for draft in early.file.recent()] == [content]


async def test_a_disk_that_cannot_be_written_is_said_and_the_draft_stays(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    story = Story(tmp_path / "file" / "draft.json")
    await story.keeper.open()
    story.keeper.append(TAP)
    await story.keeper.close()
    assert "could not be" in story.troubles[-1]
    assert ids(story.keeper.draft) == ["tap"]


async def test_a_change_makes_the_last_run_a_thing_of_the_past(tmp_path: Path) -> None:
    story = Story(tmp_path / "draft.json")
    story.keeper.append(TAP)
    story.keeper.sent(story.keeper.draft.payload()["commandId"])
    assert story.keeper.ran.startswith("draft-")
    story.keeper.append(BACK)
    assert not story.keeper.ran


# -- the text


def test_text_and_steps_are_one_draft_and_writing_is_undone_in_one_go() -> None:
    draft = Draft()
    draft.append(TAP)
    text = draft.text
    for length in range(len(text) - 5, len(text)):
        draft.write(text[:length])
        assert not len(draft)
        assert draft.unreadable.startswith("it is not JSON: ")
    draft.write(text.replace('"click"', '"press_key"'))
    assert [step["type"] for step in draft.steps] == ["press_key"]
    assert draft.undo()
    assert [step["type"] for step in draft.steps] == ["click"]
    assert draft.text == text


def test_what_is_written_is_kept_to_the_letter_until_a_step_is_changed() -> None:
    draft = Draft()
    draft.write('{"actions":[{"id":"a","type":"press_key","params":{"key":"back"}}],   "timeoutMs":9000}')
    assert draft.text.endswith('   "timeoutMs":9000}')
    assert {problem.path for problem in draft.check()[1]} >= {"commandId", "source"}
    draft.append(BACK)
    assert json.loads(draft.text)["timeoutMs"] == 9_000
    assert draft.check()[0] is not None


@table(
    "text", ["[]", "3", '{"actions": 3}', '{"actions": [1]}', "{", '{"a": 1, "a": 2}', "", "NaN", "[" * 100 + "]" * 100]
)
def test_text_that_is_no_execution_is_kept_and_says_why(text: str) -> None:
    draft = Draft()
    draft.append(TAP)
    draft.write(text)
    assert draft.text == text
    assert draft.unreadable
    validated, problems = draft.check()
    assert validated is None
    assert problems
    with pytest.raises(ValueError, match=r"not JSON|no list|Invalid"):
        draft.append(BACK)
    assert draft.undo()
    assert ids(draft) == ["tap"]


def test_where_a_text_breaks_is_reported() -> None:
    draft = Draft()
    draft.write('{\n  "a": 1\n  "b": oops\n}')
    _, (problem,) = draft.check()
    assert problem.message == "it is not JSON: Expecting ',' delimiter (line 3, column 3)"
    assert draft.text[problem.at :].startswith('"b"')


def test_a_written_draft_takes_a_new_command_id_after_a_run_and_undo_never_brings_a_used_one_back() -> None:
    draft = Draft()
    draft.append(BACK)
    first = draft.payload()["commandId"]
    draft.write(draft.text.replace('"back"', '"home"', 1))
    draft.sent()
    second = draft.payload()["commandId"]
    assert first not in draft.text
    assert second in draft.text
    draft.write(draft.text.replace('"home"', '"recents"'))
    draft.undo()
    assert first not in draft.text
    assert draft.payload()["commandId"] == second


async def test_what_cannot_be_read_survives_a_restart_as_text(tmp_path: Path) -> None:
    story = Story(tmp_path / "draft.json")
    await story.keeper.open()
    story.keeper.write('{"actions": [oops')
    await story.keeper.close()
    again = Story(tmp_path / "draft.json")
    await again.keeper.open()
    assert again.keeper.draft.text == '{"actions": [oops'
    assert again.troubles == []


async def test_what_replaces_the_draft_of_another_console_keeps_it(tmp_path: Path) -> None:
    one, two = Story(tmp_path / "draft.json"), Story(tmp_path / "draft.json")
    for story in (one, two):
        await story.keeper.open()
    one.keeper.append(TAP)
    await one.keeper.close()
    theirs = one.file.path.read_text()
    two.keeper.append(BACK)
    await two.keeper.close()
    two.keeper.append(BACK)
    await two.keeper.close()
    assert two.kept() == ["back", "back-2"]
    assert ["replaced that of another console" in trouble for trouble in two.troubles] == [True]
    assert [(draft.name, draft.text) for draft in await two.keeper.recent()] == [("of another console", theirs)]
    assert one.troubles == []
