"""Verbs that look, decide by a fixed rule, act at most once, and verify: each is a composition (execution.md#compositions)."""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import TYPE_CHECKING, Any

from clawperator.engine.contracts.execution import Action
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.apps import app_called, launchable_apps
from clawperator.engine.executions.build import DEFAULT_TIMEOUT_MS, time_around
from clawperator.engine.executions.composition import (
    Composition,
    PartFailedError,
    Parts,
    StepFailedError,
    by_reference,
    is_reference,
)
from clawperator.engine.executions.failure_words import selector_words
from clawperator.engine.executions.force_stop import require_package
from clawperator.engine.executions.matcher_check import checked_matcher
from clawperator.engine.hierarchy.match import Matcher, explain_tree, find_all
from clawperator.engine.hierarchy.queries import nearest
from clawperator.engine.hierarchy.traits import is_hint, landing, same_text

if TYPE_CHECKING:
    from clawperator.engine.hierarchy.nodes import UiNode, UiTree

Fields = Mapping[str, Any]
"""A matcher as JSON data."""
SETTLE_MS = 2_000
"""How long a verb waits for the effect of its action to show."""
WAIT_MS = 10_000
"""The default limit of waits."""
_LOOK = Action("look", "snapshot_ui")
_VERIFY = Action("verify", "snapshot_ui")


# -- set


@by_reference
def set_checked(matcher: Fields, *, checked: bool) -> Composition:
    """Switch a checkable node on or off: click it only if its state differs, then verify the state."""
    wanted = checked_matcher(matcher)

    def state(tree: UiTree) -> bool | None:
        node = _checkable(tree, wanted)
        return None if node is None else node.checked

    async def run(parts: Parts) -> dict[str, Any]:
        tree = await parts.look("look")
        parts.pick(tree, wanted)
        before = state(tree)
        if before is None and find_all(tree, wanted):
            message = "The node cannot be checked, and its row does not hold exactly one node that can"
            hint = "Select the switch or check box itself: inspect ui --view interactive lists it with its selector."
            raise StepFailedError("look", EngineError(ErrorCode.NODE_NOT_FOUND, message, hint=hint))
        if before is None:
            raise absent(tree, wanted)
        if before == checked:
            return {"changed": False, "checked": before}
        if await parts.act_until("act", "verify", lambda now: state(now) == checked, SETTLE_MS) is None:
            raise _unverified(f"The click did not make the node {'checked' if checked else 'unchecked'}")
        return {"changed": True, "checked": checked}

    return Composition("set", (_LOOK, Action("act", "click", {"matcher": dict(matcher)}), _VERIFY), run)


def _checkable(tree: UiTree, matcher: Matcher) -> UiNode | None:
    """Return the checkable node that a click on the first match toggles: itself, or the only one in the row that takes the click."""
    found = find_all(tree, matcher)
    if not found or found[0].checkable:
        return found[0] if found else None
    row = landing(found[0]).on or found[0]
    inside = [node for node in (row, *row.descendants) if node.checkable]
    return inside[0] if len(inside) == 1 else None


@by_reference
def set_text(matcher: Fields, text: str) -> Composition:
    """Make ``text`` the content of a field: type only if it differs, then verify. A password is typed; only the stock backend verifies it."""
    wanted = checked_matcher(matcher)

    async def run(parts: Parts) -> dict[str, Any]:
        tree = await parts.look("look")
        node = parts.pick(tree, wanted)
        if node is None:
            raise absent(tree, wanted)
        if not node.password and same_text(node.text, text) and not is_hint(node):
            return {"changed": False, "text": text}
        if node.password:
            *_, typed = await parts.send("act")
            return {"changed": True, "verified": typed["data"].get("verified") == "true"}
        place = node.path  # the matcher may name the text that was replaced
        seen: list[UiNode] = []

        def holds(now: UiTree) -> bool:
            fields = [*find_all(now, wanted)[:1], *(field for field in now.nodes if field.path == place)]
            seen[:] = [field for field in fields if same_text(field.text, text)]
            return bool(seen)

        if await parts.act_until("act", "verify", holds, SETTLE_MS) is None:
            raise _unverified("The field does not have the text after it was typed")
        proof = {"verified": False} if is_hint(seen[0]) else {}  # an empty field would show the same
        return {"changed": True, "text": text, **proof}

    act = Action("act", "enter_text", {"matcher": dict(matcher), "text": text})
    return Composition("set", (_LOOK, act, _VERIFY), run)


# -- submit

EFFECT_MS = 1_000
"""How long the device waits, while the host presses Enter, before it looks at the effect."""
_ENTER = Action("submit", "input_key", {"key": "ENTER"})
_SUBMITTED_BY = "input keyevent KEYCODE_ENTER"


@by_reference
def type_and_submit(
    matcher: Fields,
    text: str,
    *,
    clear: bool = False,
    container: Fields | None = None,
    strict: bool | None = None,
    nth: int | None = None,
    within: Fields | None = None,
) -> Composition:
    """Type ``text`` into the field of ``matcher`` and press Enter once, with one broadcast (two if the log is late).

    Both are then done. ``effect`` says whether the screen was seen to change: ``changed`` or ``none_seen``. No generation of the
    Operator app can press Enter, so the host does while the plan pauses (wire.md#actions-and-how-they-fail).
    """
    if sum(map(is_reference, (matcher, container, within))) > 1:
        message = "A text that is submitted takes one reference"
        raise EngineError(ErrorCode.EXECUTION_VALIDATION_FAILED, message, details={"path": "container"})
    more = {"clear": clear or None, "container": container, "strict": strict, "nth": nth, "within": within}
    given = {name: value for name, value in more.items() if value is not None}
    entry = Action("type", "enter_text", {"matcher": dict(matcher), "text": text, **given})

    async def run(parts: Parts) -> dict[str, Any]:
        async def enter() -> None:
            if (tree := await parts.running_tree()) is not None:
                _require_focus(tree, "submit")
            await parts.shell("submit", "keyevent", "KEYCODE_ENTER")

        effect = "none_seen"
        try:
            steps, in_time = await parts.send_around("type", "look", "pause", "verify", pause="pause", act=enter)
            before, after = steps[1]["data"]["text"], steps[-1]["data"]["text"]
            if not in_time:
                after = (await parts.send("verify"))[-1]["data"]["text"]
            if before != after:
                effect = "changed"
        except PartFailedError:
            if not parts.overlook("type", "submit"):
                raise
        return {"effect": effect, "submittedBy": _SUBMITTED_BY}

    pause = Action("pause", "sleep", {"durationMs": EFFECT_MS})
    return Composition("type", (entry, _LOOK, _ENTER, pause, _VERIFY), run)


def open_called(name: str, like: Mapping[str, Any]) -> Composition:
    """Open the one app that is called ``name``, exactly but for case: its id is looked up on the device, then admitted and opened.

    ``like`` is the payload of ``open_app`` for another app, for its other parameters and its time limit.
    """
    how = {key: value for key, value in like["actions"][0]["params"].items() if key != "applicationId"}

    async def run(parts: Parts) -> dict[str, Any]:
        apps = await launchable_apps(parts.device)
        try:
            app = app_called(apps, name)
        except EngineError as exc:
            raise StepFailedError("open", exc) from exc
        parts.settle("open", {"applicationId": app.application_id, **how})
        await parts.send("open")
        return app.to_dict()

    action = Action("open", "open_app", {"appName": name, **how})
    return Composition("open", (action,), run, timeout_ms=like["timeoutMs"], reads_screen=False)


@by_reference
def submit(matcher: Fields | None = None, *, text: str | None = None) -> Composition:
    """Press Enter in the focused field, after typing ``text`` into the field of ``matcher``; fail if nothing on screen changes.

    No generation of the Operator app can press Enter: ``enter_text`` with ``submit`` clicks the field (wire.md#actions-and-how-they-fail).
    """
    if (matcher is None) != (text is None):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            "submit takes a selector and a text together, or neither",
            hint="Pass both, or neither with the focus in the field.",
            details={"path": "selector" if matcher is None else "text"},
        )
    typing = [] if matcher is None else [Action("type", "enter_text", {"matcher": dict(matcher), "text": text})]

    async def run(parts: Parts) -> dict[str, Any]:
        tree = await parts.look(*(action.id for action in typing), "look")
        _require_focus(tree, "look")
        await parts.shell("submit", "keyevent", "KEYCODE_ENTER")
        shown = _shown(tree)
        if await parts.look_until("verify", lambda now: _shown(now) != shown, SETTLE_MS) is None:
            raise _unverified("Enter was pressed, and nothing on the screen changed: the field may not submit on Enter")
        return {"changed": True, "submittedBy": _SUBMITTED_BY}

    actions = (*typing, _LOOK, _ENTER, _VERIFY)
    return Composition("submit", actions, run)


def _require_focus(tree: UiTree, step_id: str) -> None:
    if not any(node.focused for node in tree.on_screen):
        message = "No field has the focus, so Enter would submit nothing"
        hint = "Click the field first, or pass its selector and --text."
        raise StepFailedError(step_id, EngineError(ErrorCode.NODE_NOT_FOUND, message, hint=hint))


def _shown(tree: UiTree) -> list[tuple[int, Mapping[str, str]]]:
    """Return the content of the tree: two equal values are the same screen."""
    return [(node.depth, node.attributes) for node in tree.nodes]


# -- waits


@by_reference
def wait_gone(matcher: Fields, *, wait_ms: float | None = None) -> Composition:
    """Wait until no node on screen matches."""
    wanted = checked_matcher(matcher)
    return _wait(
        wait_ms, "The node is still on screen after", lambda _, now: None if find_all(now, wanted) else {"gone": True}
    )


def wait_app(package: str, *, wait_ms: float | None = None) -> Composition:
    """Wait until ``package`` is in front."""
    require_package(package)
    limit = WAIT_MS if wait_ms is None else wait_ms

    async def run(parts: Parts) -> dict[str, Any]:
        front = await parts.wait_front("look", package, limit)
        if front != package:
            words = f"{package} is not in front after {limit:g} ms; {front or 'no app'} is"
            raise StepFailedError("look", EngineError(ErrorCode.VERIFY_FAILED, words, details={"app": front}))
        return {"app": package}

    return replace(_waiting(run, limit), reads_screen=False)


@by_reference
def wait_text_changes(matcher: Fields, *, wait_ms: float | None = None) -> Composition:
    """Wait until the first match has another text than in the first snapshot."""
    wanted = checked_matcher(matcher)

    def changed(first: UiTree, now: UiTree) -> dict[str, Any] | None:
        before = next(iter(find_all(first, wanted)), None)
        if before is None:
            raise absent(first, wanted)
        after = next((node for node in now.nodes if node.path == before.path), None)
        after = next(iter(find_all(now, wanted)), after)
        if after is None or after.label == before.label:
            return None
        return {"before": before.label, "after": after.label}

    return _wait(wait_ms, "The text of the node did not change within", changed)


def _wait(
    wait_ms: float | None, complaint: str, found: Callable[[UiTree, UiTree], dict[str, Any] | None]
) -> Composition:
    limit = WAIT_MS if wait_ms is None else wait_ms

    async def run(parts: Parts) -> dict[str, Any]:
        seen: list[UiTree] = []
        facts: dict[str, Any] = {}

        def holds(now: UiTree) -> bool:
            seen.append(now)
            del seen[1:]
            facts.update(found(seen[0], now) or {})
            return bool(facts)

        if not await parts.wait_until("look", holds, limit):
            raise _too_late(complaint, limit)
        return facts

    return _waiting(run, limit)


def _waiting(run: Callable[[Parts], Awaitable[dict[str, Any]]], limit: float) -> Composition:
    return Composition("wait", (_LOOK,), run, timeout_ms=max(time_around(limit), DEFAULT_TIMEOUT_MS))


def _too_late(complaint: str, limit: float) -> StepFailedError:
    return StepFailedError("look", EngineError(ErrorCode.VERIFY_FAILED, f"{complaint} {limit:g} ms"))


# -- rows


@by_reference
def read_rows(container: Fields, fields: Mapping[str, str]) -> Composition:
    """Read the rows of a list on screen: one object per row, with the label of the node that has each field's resource id.

    Rows are the children of the container, below wrappers with one child; those without any of the fields are left out.
    """
    wanted = checked_matcher(container, "container")

    async def run(parts: Parts) -> dict[str, Any]:
        tree = await parts.look("look")
        place = parts.pick(tree, wanted, container=True)
        if place is None:
            raise absent(tree, wanted, ErrorCode.CONTAINER_NOT_FOUND)
        shown = [node for node in _items(place) if node.bounds.intersects(place.bounds)]
        if not shown:
            from clawperator.engine.hierarchy.views import node_line

            hint = "Select the list that holds the rows, or wait until it has some."
            error = EngineError(
                ErrorCode.CONTAINER_NOT_FOUND,
                "The container has no rows on screen",
                hint=hint,
                details={"node": node_line(place)},
            )
            raise StepFailedError("look", error)
        read = [(node, {name: _value(node, name_of) for name, name_of in fields.items()}) for node in shown]
        kept = [(node, row) for node, row in read if any(value is not None for value in row.values())]
        if not kept:
            ids = sorted({_short(node.resource_id) for node in place.descendants if node.resource_id})[:20]
            message = "No row of the container has a node with these resource ids"
            hint = (
                "details.ids lists those that the rows have."
                if ids
                else "Its nodes have no resource ids: use its compact view."
            )
            details = {"fields": dict(fields), "ids": ids}
            raise StepFailedError("look", EngineError(ErrorCode.NODE_NOT_FOUND, message, hint=hint, details=details))
        tallest = max(node.bounds.height for node, _ in kept)
        cut = [_is_cut(node, place, tallest) for node, _ in kept]
        position = {
            "scrollable": place.scrollable or _scrolls(place, kept[0][0]),
            "firstCut": cut[0],
            "lastCut": cut[-1],
        }
        return {"rows": [row for _, row in kept], "position": position}

    return Composition("read", (_LOOK,), run)


def _items(container: UiNode) -> Sequence[UiNode]:
    children = container.children
    while len(children) == 1 and children[0].children:
        children = children[0].children
    return children


def _scrolls(container: UiNode, row: UiNode) -> bool:
    """Whether the container, or a wrapper between it and the row, scrolls."""
    return any(node.scrollable for node in (container, *row.ancestors) if node.index >= container.index)


def _value(row: UiNode, wanted: str) -> str | None:
    found = (node for node in (row, *row.descendants) if wanted in (node.resource_id, _short(node.resource_id)))
    return next((node.label for node in found), None)


def _short(resource_id: str) -> str:
    return resource_id.partition(":id/")[2] or resource_id


def _is_cut(row: UiNode, container: UiNode, tallest: int) -> bool:
    """Whether the container's edge hides a part of the row: the dump has only what is visible of it."""
    inside, box = row.bounds, container.bounds
    at_edge = inside.top <= box.top or inside.bottom >= box.bottom
    return at_edge and (inside.clip(box) != inside or inside.height < tallest)


# -- failures


def absent(tree: UiTree, matcher: Matcher, code: ErrorCode = ErrorCode.NODE_NOT_FOUND) -> StepFailedError:
    """Return the failure of a snapshot in which nothing matches, with the details that other actions have."""
    what = "container" if code is ErrorCode.CONTAINER_NOT_FOUND else "node"
    details = {"selector": matcher.to_dict(), **nearest(explain_tree(tree, matcher))}
    return StepFailedError(
        "look", EngineError(code, f"no {what} with {selector_words(matcher.to_dict())}", details=details)
    )


def _unverified(message: str) -> StepFailedError:
    return StepFailedError("verify", EngineError(ErrorCode.VERIFY_FAILED, message))
