"""Scrolling: which container, which finger path, and whether anything moved (wire.md#scrolling)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Iterable
from enum import Enum

from clawperator.engine.contracts.limits import SLOW_SCROLL_MS
from clawperator.engine.errors import ErrorCode
from clawperator.engine.hierarchy.tree import UiNode, UiTree
from clawperator.engine.runtime.outcome import ActionResult, PlanFailure
from clawperator.engine.runtime.plan import Scroll, ScrollAndClick, ScrollUntil
from clawperator.engine.runtime.query import Query, as_json, one_of
from clawperator.engine.runtime.retry import UI_READINESS
from clawperator.engine.runtime.run import PlanRun

SWIPE_MS = 250
LONGEST_MS = 10_000
"""How long ``scroll_until`` goes on by default."""
_LAST_SECONDS = 2 * SLOW_SCROLL_MS / 1000
"""Where snapshots take seconds, the last scroll begins so long before the plan's time is over: with its snapshot, and one more."""
CONTAINER_NOT_FOUND = "CONTAINER_NOT_FOUND"
CONTAINER_NOT_SCROLLABLE = "CONTAINER_NOT_SCROLLABLE"

Signature = tuple[tuple[str, int], ...]


class Moved(Enum):
    """What one gesture did."""

    YES = "moved"
    EDGE = "edge_reached"
    REFUSED = "gesture_failed"


class ContainerProblem(Exception):  # noqa: N818 - a finding, turned into the action's own failure style
    """No container to scroll; the text is ``CONTAINER_NOT_FOUND`` or ``CONTAINER_NOT_SCROLLABLE``."""


def resolve_container(tree: UiTree, scroll: Scroll) -> UiNode:
    """The node to scroll. Raises ``ContainerProblem``, and ``PlanFailure`` for several containers if strict."""
    if scroll.container is None:
        scrollable = next((node for node in tree.on_screen if node.scrollable), None)
        if scrollable is None:
            raise ContainerProblem(CONTAINER_NOT_FOUND)
        return scrollable
    found = scroll.container.find_all(tree)
    if not found:
        raise ContainerProblem(CONTAINER_NOT_FOUND)
    one_of(tree, found, ErrorCode.CONTAINER_AMBIGUOUS, strict=scroll.strict)
    match = found[0]
    if match.scrollable:
        return match
    inside = (node for node in tree.on_screen if match.index < node.index < match.end and node.scrollable)
    child = next(inside, None) if scroll.find_first_scrollable_child else None
    if child is None:
        raise ContainerProblem(CONTAINER_NOT_SCROLLABLE)
    return child


def finger_path(container: UiNode, direction: str, ratio: float) -> tuple[int, int, int, int]:
    """x1, y1, x2, y2 of the swipe along the container's centre line; ``direction`` is the way the viewport moves."""
    start, end = 0.8 - 0.4 * ratio, 0.8 - 0.8 * ratio
    if direction in ("up", "left"):
        start, end = 0.2 + 0.4 * ratio, 0.2 + 0.8 * ratio
    box = container.bounds
    x, y = box.center
    if direction in ("down", "up"):
        return x, box.top + round(box.height * start), x, box.top + round(box.height * end)
    return box.left + round(box.width * start), y, box.left + round(box.width * end), y


def signature(tree: UiTree, container: UiNode, direction: str) -> Signature:
    """Identity and leading edge of the first three children on the screen: equal before and after means nothing moved."""
    visible = {node.index for node in tree.on_screen}
    children = [child for child in container.children if child.index in visible][:3]
    vertical = direction in ("down", "up")
    return tuple((c.resource_id or c.path, c.bounds.top if vertical else c.bounds.left) for c in children)


async def scroll_once(run: PlanRun, tree: UiTree, container: UiNode, scroll: Scroll) -> Moved:
    """One gesture in a container of ``tree``, with its settling."""
    before = signature(tree, container, scroll.direction)
    path = finger_path(container, scroll.direction, scroll.distance_ratio)
    accepted = await run.surface.swipe(*path, SWIPE_MS, within=container)
    run.acted("coordinate_gesture", container, accepted=accepted)
    if not accepted:
        return Moved.REFUSED
    await run.clock.sleep(scroll.settle_delay_ms / 1000)
    seen = await run.surface.dump()
    after: Signature = ()
    try:
        after = () if seen is None else signature(seen, resolve_container(seen, scroll), scroll.direction)
    except ContainerProblem:
        after = before
    run.acted("coordinate_gesture", container, progress=_progress(before, after))
    return Moved.YES if before and seen is not None and after != before else Moved.EDGE


def _progress(before: Signature, after: Signature) -> str:
    """Return the progress that a scroll reports from 0.10 on; the wording of the reasons is ours."""
    first, last = (";".join(f"{name}@{edge}" for name, edge in each) for each in (before, after))
    comparable = bool(before and after)
    reason = None if comparable else "no_children"
    return as_json({"beforeSignature": first, "afterSignature": last, "comparable": comparable, "reason": reason})


def _outcome(run: PlanRun, moved: Moved) -> str:
    """From 0.10 on, the edge and a view that does not move have the same outcome."""
    return "no_movement" if moved is Moved.EDGE and run.has_receipts else moved.value


async def _scroll_stage(run: PlanRun, tree: UiTree, container: UiNode, scroll: Scroll) -> Moved:
    _took(run, scroll, tree, container)
    return await run.stage(
        f"scrollOnce(dir={scroll.direction.capitalize()})",
        f"Scroll {scroll.direction}",
        scroll.retry,
        lambda: scroll_once(run, tree, container, scroll),
        lambda moved: {"scroll_outcome": _outcome(run, moved)},
    )


async def scroll(run: PlanRun, action: Scroll) -> ActionResult:
    """The ``scroll`` step."""
    shape = {"direction": action.direction, "settle_delay_ms": str(action.settle_delay_ms)}
    tree = await run.surface.dump()
    try:
        container = resolve_container(tree, action) if tree else None
    except ContainerProblem as exc:
        return ActionResult(False, {"error": str(exc), **shape})
    if tree is None or container is None:
        return ActionResult(False, {"error": CONTAINER_NOT_FOUND, **shape})
    moved = await _scroll_stage(run, tree, container, action)
    data = {
        "scroll_outcome": _outcome(run, moved),
        "direction": action.direction,
        "distance_ratio": str(action.distance_ratio),
        "settle_delay_ms": str(action.settle_delay_ms),
        **_resolved(container),
    }
    if moved is Moved.REFUSED:
        return ActionResult(False, {**data, "error": "GESTURE_FAILED"})
    return ActionResult(True, data)


def _took(run: PlanRun, scroll: Scroll, tree: UiTree, container: UiNode) -> None:
    matched = None if scroll.container is None else len(scroll.container.find_all(tree))
    run.took(container, matched)


def _resolved(container: UiNode | None) -> dict[str, str]:
    return {"resolved_container": container.resource_id} if container is not None and container.resource_id else {}


async def scroll_until(
    run: PlanRun, action: ScrollUntil, click: Callable[[Query, str], Awaitable[ActionResult]]
) -> ActionResult:
    """The ``scroll_until`` step; ``click`` is how a found target is clicked."""
    loop = _Loop(run, action)
    await loop.go()
    if loop.reason == "TARGET_FOUND" and action.click_after and action.matcher is not None:
        await click(action.matcher, action.how)
    data = {
        "termination_reason": loop.reason,
        "scrolls_executed": str(loop.count),
        "direction": action.scroll.direction,
        **_resolved(loop.container),
    }
    if run.modern:
        data |= {"click_after": _word(action.click_after), "click_types": action.how}
    if loop.reason.startswith("CONTAINER_"):
        return ActionResult(False, {**data, "error": loop.reason})
    if action.matcher is not None and loop.reason != "TARGET_FOUND":
        return ActionResult(False, {**data, "error": "TARGET_NOT_FOUND"})
    return ActionResult(True, data)


class _Loop:
    """State of one ``scroll_until``: how often it scrolled and why it ended."""

    def __init__(self, run: PlanRun, action: ScrollUntil) -> None:
        self._run = run
        self._action = action
        self.count = 0
        self.reason = ""
        self.container: UiNode | None = None

    async def go(self) -> None:
        tree = await self._resolve()
        if not self.reason and tree is not None and self._visible(tree):
            self.reason = "TARGET_FOUND"
        started = self._run.clock.now()
        unmoved = 0
        while not self.reason:
            self.reason = self._exhausted(started, unmoved) or await self._lost()
            if self.reason:
                break
            moved = await self._scroll()
            unmoved = 0 if moved is Moved.YES else unmoved + 1
            if await self._appeared():
                self.reason = "TARGET_FOUND"
            elif moved is Moved.EDGE:
                self.reason = "EDGE_REACHED"
        if self._action.matcher is not None and not self.reason.startswith(("TARGET", "CONTAINER")):
            await self._last_look()

    def _exhausted(self, started: float, unmoved: int) -> str:
        action = self._action
        if unmoved >= action.threshold:
            return "NO_POSITION_CHANGE"
        longest_ms = action.max_duration_ms
        if longest_ms is None:
            longest_ms = action.max_scrolls * SLOW_SCROLL_MS if self._run.rested else LONGEST_MS
        if (self._run.clock.now() - started) * 1000 >= longest_ms or _is_late(self._run):
            return "MAX_DURATION_REACHED"
        return "MAX_SCROLLS_REACHED" if self.count >= action.max_scrolls else ""

    async def _resolve(self) -> UiTree | None:
        tree = await self._run.surface.dump()
        try:
            self.container = resolve_container(tree, self._action.scroll) if tree else None
        except ContainerProblem as exc:
            self.container, self.reason = None, str(exc)
        else:
            self.reason = "" if tree else CONTAINER_NOT_FOUND
        self._tree = tree
        return tree

    async def _lost(self) -> str:
        """Whether the container disappeared between two gestures."""
        if self.count == 0:
            return ""
        held = self.container
        await self._resolve()
        if not self.reason:
            return ""
        self.container = held
        return "CONTAINER_LOST" if self._run.modern else "EDGE_REACHED"

    async def _scroll(self) -> Moved:
        if self._tree is None or self.container is None:
            raise AssertionError("the loop scrolls only what it resolved")
        self.count += 1
        return await _scroll_stage(self._run, self._tree, self.container, self._action.scroll)

    def _visible(self, tree: UiTree | None) -> bool:
        matcher = self._action.matcher
        return matcher is not None and tree is not None and bool(matcher.candidates_so_far(tree))

    async def _appeared(self) -> bool:
        """The grace search after a scroll: at once and, unless that snapshot took its time, three times more."""
        if self._action.matcher is None:
            return False
        pause = min(max(self._action.scroll.settle_delay_ms / 2, 100), 500) / 1000
        for attempt in range(1 if self._run.rested else 4):
            if attempt:
                await self._run.clock.sleep(pause)
            if self._visible(await self._run.surface.dump()):
                return True
        return False

    async def _last_look(self) -> None:
        """After a natural end, one more patient wait for the target: one more snapshot where each takes seconds."""
        if self._run.rested:
            await self._run.clock.sleep(UI_READINESS.initial_ms / 1000)
            self.reason = "TARGET_FOUND" if self._visible(await self._run.surface.dump()) else self.reason
            return
        for attempt in range(1, UI_READINESS.max_attempts + 1):
            if self._visible(await self._run.surface.dump()):
                self.reason = "TARGET_FOUND"
                return
            if attempt < UI_READINESS.max_attempts:
                await self._run.clock.sleep(UI_READINESS.delay_ms(attempt, self._run.chance) / 1000)


async def scroll_and_click(
    run: PlanRun, action: ScrollAndClick, click: Callable[[Query, str], Awaitable[ActionResult]]
) -> ActionResult:
    """The ``scroll_and_click`` step; ``click`` brings its own retries."""
    stage = f"scrollUntil(target={action.target})"
    each = range(action.max_swipes)
    once = iter(each)  # where snapshots wait themselves, further attempts go on instead of beginning again

    async def attempt() -> None:
        await _swipe_to_target(run, action, once if run.rested else each)

    await run.stage(stage, "Scroll to target", action.scroll_retry, attempt, lambda _: {})
    if action.click_after:
        await click(action.target, action.how)
    data = {
        "max_swipes": str(action.max_swipes),
        "direction": action.scroll.direction.capitalize(),
        "click_types": action.how,
        "click_after": _word(action.click_after),
    }
    return ActionResult(True, data)


async def _swipe_to_target(run: PlanRun, action: ScrollAndClick, swipes: Iterable[int]) -> None:
    unmoved = 0
    for _ in swipes:
        tree = await run.tree()
        if found := action.target.candidates_so_far(tree):
            run.took(found[0], len(found))
            return
        if unmoved == 2 or _is_late(run):
            break
        try:
            container = resolve_container(tree, action.scroll)
        except ContainerProblem as exc:
            raise PlanFailure(_problem_text(str(exc), action.scroll.container)) from exc
        moved = await scroll_once(run, tree, container, action.scroll)
        unmoved = 0 if moved is Moved.YES else unmoved + 1
    tree = await run.tree()
    if not (found := action.target.candidates_so_far(tree)):
        run.observer.missed(tree)
        raise PlanFailure(f"Target node not found after scrolling: {action.target}", final=run.rested)
    run.took(found[0], len(found))


def _problem_text(problem: str, container: Query | None) -> str:
    if container is None:
        return "No scrollable container visible"
    if problem == CONTAINER_NOT_FOUND:
        return f"Container not found for {container}"
    return f"Scrollable container not found for {container}"


def _is_late(run: PlanRun) -> bool:
    """Return whether a scroll and the snapshots after it would outlast the plan."""
    return run.rested and run.clock.now() > run.until - _LAST_SECONDS


def _word(value: bool) -> str:
    return "true" if value else "false"
