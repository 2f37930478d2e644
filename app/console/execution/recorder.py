"""Record while acting: each action that succeeded becomes a step of the draft, followed by a wait for what it showed."""

from __future__ import annotations

import asyncio
import math
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from clawperator.app.console.console import Console
from clawperator.app.console.execution.draft import DraftKeeper
from clawperator.app.console.messages import NoticeUpdate
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.executions.steps import step
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiTree
from clawperator.widgets.models.snapshot import TreeSnapshot
from clawperator.widgets.models.status import Status
from clawperator.widgets.notice_line import Notice
from clawperator.widgets.text.matcher_text import matcher_text

_OTHERS = 8
"""Number of other screens that are compared."""


@dataclass(frozen=True, slots=True)
class RecordedAction:
    """An action that succeeded on a device; ``before`` is the tree at which it was sent, ``due`` when the screen had settled."""

    action: Mapping[str, Any]
    what: str
    device_id: str
    before: UiTree | None
    number: int = 0
    due: float = math.inf


class ActionRecorder:
    """``on``: whether actions are recorded; ``post`` shows a notice after those that wait to be shown."""

    def __init__(self, console: Console, drafts: DraftKeeper, post: Callable[[NoticeUpdate], object]) -> None:
        self.on = False
        self._console = console
        self._drafts = drafts
        self._post = post
        self._last: RecordedAction | None = None
        """The action whose effect has not been seen yet."""

    def action_record(self) -> None:
        """Switch recording on or off."""
        draft, key = self._drafts.draft, "I stops"
        if not self.on and draft.unreadable:
            self._say(Status.WARN, f"Recording needs a draft with steps: {draft.unreadable}. Press 3 to correct it")
            return
        self.on = not self.on
        count = f"{len(draft)} step{'s' * (len(draft) != 1)} in the draft"
        words = f"Recording: each action is added to the draft. {key}" if self.on else f"Recording stopped: {count}"
        self._say(Status.RUNNING if self.on else Status.OK, words)
        self._drafts.announce()

    def recorded(self, action: Mapping[str, Any] | None, what: str, device_id: str) -> Callable[[], object]:
        """Return what to call when ``action``, which is sent now, has succeeded; ``None`` is not recorded."""
        if not self.on or action is None:
            return lambda: None
        before = self._console.session.trees_of(device_id).newest.tree
        return lambda: self._add(RecordedAction(action, what, device_id, before))

    def _add(self, done: RecordedAction) -> None:
        try:
            number = self._drafts.append(done.action)
        except ValueError as exc:
            self._say(Status.WARN, f"{done.what} was not recorded: {exc}. Press 3 to open the draft")
            return
        changes = done.action["type"] not in OBSERVING
        self._last = replace(done, number=number) if changes else None

    def settled(self) -> None:
        """Note that the screen has settled after an action: the next tree shows its effect."""
        if self._last is not None:
            self._last = replace(self._last, due=self._console.clock.now())

    def see(self, snapshot: TreeSnapshot) -> None:
        """Look for the effect of the last action in a new tree."""
        last, tree = self._last, snapshot.tree
        if last is None or tree is None or not snapshot.complete or snapshot.at < last.due:
            return
        if snapshot.device_id == last.device_id:
            self._last = None
            trees = [each.tree for each in self._console.session.trees_of(last.device_id) if each.tree is not None]
            others = [each for each in trees if each is not tree and each is not last.before][:_OTHERS]
            self._console.run_worker(self._verify(last, tree, others), exit_on_error=True)

    async def _verify(self, done: RecordedAction, after: UiTree, others: Sequence[UiTree]) -> None:
        """Append a wait for what the action showed."""
        sign = await asyncio.to_thread(effect, done.action, done.before, after, others)
        words = f"{done.what}: ok. Recorded as step {done.number}"
        if sign is None:
            self._say(Status.OK, f"{words}, without a check: nothing new on screen has a stable selector")
            return
        try:
            number = self._drafts.append(step("wait", matcher=sign))
        except ValueError:
            return  # the text of the draft was changed meanwhile
        self._say(Status.OK, f"{words}; step {number} waits for {matcher_text(sign)}")

    def _say(self, status: Status, text: str) -> None:
        self._post(NoticeUpdate(Notice(status, text)))


def effect(
    action: Mapping[str, Any], before: UiTree | None, after: UiTree, others: Sequence[UiTree] = ()
) -> Matcher | None:
    """Return a matcher for what ``action`` changed: the typed text in its field, else something that was not there.

    ``None`` where nothing stable appeared. ``others`` are trees of other screens, on which it should not match.
    """
    from clawperator.engine.recordings.inputs import RecordedInputs
    from clawperator.engine.recordings.targets import TargetFinder

    if action["type"] == "enter_text":
        params = action["params"]
        typed = Matcher.from_fields(
            {"resourceId": params["matcher"].get("resourceId", ""), "textEquals": params["text"]}
        )
        return typed if len(find_all(after, typed)) == 1 else None
    sign = TargetFinder(RecordedInputs(), lambda _: "").sign(after, before, others)
    return sign.matcher if sign is not None and not {"vol", "%"}.intersection(sign.flags) else None
