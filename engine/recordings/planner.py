"""Plan the steps that repeat a recording: starts, clicks, typed texts, keys, each with a confirmation. Pure.

Missing information is not guessed: a doubtful step has a note for the reader of the draft.
"""

from __future__ import annotations

import re
from collections.abc import Callable, Collection, Iterator, Sequence
from dataclasses import replace

from clawperator.engine.contracts.limits import PACKAGE
from clawperator.engine.hierarchy.match import find_all
from clawperator.engine.hierarchy.matcher import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.traits import is_editable
from clawperator.engine.recordings.inputs import RecordedInputs, free_name
from clawperator.engine.recordings.plan import Plan, PlannedStep
from clawperator.engine.recordings.records import (
    Click,
    Event,
    Omission,
    PressKey,
    Recording,
    Scroll,
    TextChange,
    WindowChange,
)
from clawperator.engine.recordings.screens import Screens
from clawperator.engine.recordings.targets import Target, TargetFinder, inside, lands_on, switch_of
from clawperator.engine.recordings.typed_texts import (
    end_of_typing,
    field_of,
    is_masked,
    is_typed_next,
    text_at,
    why_untypable,
)
from clawperator.engine.skills.blocked_terms import BlockedTerms
from clawperator.engine.skills.recipe.templates import fill, names
from clawperator.engine.verbs.catalogue import KEYS

_RECENT = 4
_LONGEST_ID = 60
_NOT_AN_ID = re.compile(r"[^A-Za-z0-9]+")
_VOLATILE_SIGN = "the confirmed value may change between runs: check it"
_UP_IDS = re.compile(r"(?:^|_)(?:up|back|navigate_up|home_as_up)(?:_|$)")
_UP_WORDS = ("Navigate up", "Back")
_BUYING = re.compile(
    r"\b(?:buy|pay|purchase|subscribe|order now|place (?:your )?order|confirm (?:order|payment|purchase))\b",
    re.IGNORECASE,
)


def plan(recording: Recording, expressible: Callable[[str], str], blocked: BlockedTerms | None = None) -> Plan:
    """Return the plan of a recording; ``expressible`` as for ``TargetFinder``, ``blocked`` as for ``RecordedInputs``."""
    return _Planner(recording, expressible, blocked).plan()


class _Planner:
    def __init__(self, recording: Recording, expressible: Callable[[str], str], blocked: BlockedTerms | None) -> None:
        self._recording = recording
        self._events = recording.events
        self._screens = Screens(recording)
        self._inputs = RecordedInputs(blocked)
        self._addresser = TargetFinder(self._inputs, expressible)
        self._steps: list[PlannedStep] = []
        self._ids: dict[str, object] = {}
        self._warnings: list[str] = []
        self._omitted: list[Omission] = list(recording.dropped)
        self._scrolled: list[Scroll] = []
        self._at_home: list[Event] = []
        """Events on the home screen: opening the app that they lead to replaces them."""

    def plan(self) -> Plan:
        application = self._application()
        at_home = True
        position = 0
        while position < len(self._events):
            event = self._events[position]
            package = getattr(event, "packageName", "")
            if isinstance(event, WindowChange):
                if at_home and not is_launcher(package):
                    self._open(position, package)
                at_home = is_launcher(package)
            elif is_launcher(package or (self._in_front(position) if isinstance(event, PressKey) else "")):
                at_home = True
                self._at_home += [event] if isinstance(event, Click | TextChange) else []
            elif isinstance(event, TextChange):
                position = self._typed(position)
            else:
                package = package or self._in_front(position)
                if not self._steps:
                    self._warn(event.seq, "the recording starts inside an app: open the same screen first")
                    self._arrive(position - 1, package)
                at_home = False
                self._act(position)
            position += 1
        self._drop_scrolls("no action followed it")
        for event in self._at_home:
            self._omit(event, f"a {event.type} on the home screen was omitted: it opened no app")
        for seq in sorted(self._screens.unreadable):
            self._warn(seq, "the snapshot is damaged")
        return Plan(
            session_id=self._recording.session_id,
            started_at=self._recording.started_at,
            application_id=application,
            fresh=bool(self._steps) and self._steps[0].kind == "open_app" and self._steps[0].package == application,
            steps=tuple(self._steps),
            inputs=tuple(self._inputs),
            frameworks=frameworks(self._screens.classes),
            warnings=tuple(self._warnings),
            omitted=tuple(self._omitted),
        )

    def _in_front(self, position: int) -> str:
        """Return the package of the foreground app, or '' if unknown."""
        tree = self._screens.before(position)
        return tree.package if tree is not None else ""

    def _application(self) -> str:
        """Return the first app that was opened or used."""
        packages = (getattr(event, "packageName", "") for event in self._events)
        return next((package for package in packages if package and not is_launcher(package)), "")

    # -- steps

    def _open(self, position: int, package: str) -> None:
        if not re.fullmatch(PACKAGE, package):
            self._omit(self._events[position], "an app with an invalid package name was opened")
            return
        self._at_home.clear()
        self._add(PlannedStep(self._events[position].seq, self._id("open", package), "open_app", package))
        self._arrive(position, package)

    def _arrive(self, position: int, package: str) -> None:
        """Add a wait for a stable element of the first screen."""
        tree = (self._screens.after(position) or self._screens.of(position)) if position >= 0 else self._screens.of(0)
        before = self._screens.of(position - 1) if position > 0 else None
        if tree is None:
            return
        sign = self._addresser.appeared(tree, before, self._screens.elsewhere(max(position, 0)))
        if sign is not None and not sign.volatile:
            name = self._id("ready", _name_of(sign))
            seq = self._events[max(position, 0)].seq
            self._add(PlannedStep(seq, name, "wait_for_node", package, target=sign))

    def _act(self, position: int) -> None:
        event = self._events[position]
        if isinstance(event, Scroll):
            self._scrolled.append(event)
        elif isinstance(event, PressKey):
            self._pressed(position, event)
        elif isinstance(event, Click):
            self._clicked(position, event)

    def _clicked(self, position: int, click: Click) -> None:
        seen = self._screens.clicked(position)
        if seen is not None and is_editable(seen[1]) and is_typed_next(self._screens, position):
            return  # typing clicks its field
        scrolls, self._scrolled = self._scrolled, []
        if seen is None:
            target, notes = (
                self._addresser.of_event(click),
                ["no snapshot shows the clicked element: check the selector"],
            )
        else:
            target, notes = self._addresser.target(*seen, self._recent(position)), []
        if target is None:
            self._omit(click, "a click was omitted: no selector identifies the clicked element")
            return
        notes += _doubts(target)
        named = (click.resourceId or "").rpartition("/")[2] or _name_of(target)
        step = PlannedStep(click.seq, self._id("click", named), "click", click.packageName, target=target)
        if scrolls:
            container = self._addresser.container(*seen) if seen is not None else None
            step = replace(step, kind="scroll_and_click", container=container, direction=_direction(scrolls))
        if seen is not None:
            step = _with_effect(step, seen[1])
        self._add(self._confirmed(replace(step, notes=(*notes, *step.notes)), position, seen))

    def _pressed(self, position: int, event: PressKey) -> None:
        self._drop_scrolls("a key followed it")
        key = event.key.strip().lower()
        if key not in KEYS:
            self._omit(event, "a key was omitted: the Operator app cannot press it")
            return
        before, package = self._screens.before(position), self._in_front(position)
        stand_in = self._up_button(before) if key == "back" and before is not None else None
        step = PlannedStep(event.seq, self._id("press", key), "press_key", package, key=key, stand_in=stand_in)
        self._add(self._confirmed(step, position, None))

    def _up_button(self, tree: UiTree) -> Target | None:
        """Return the only button on screen whose label or id means back."""
        found = [node for node in tree.on_screen if node.clickable and node.enabled and _leads_back(node)]
        return self._addresser.target(tree, found[0]) if len(found) == 1 else None

    def _typed(self, position: int) -> int:
        """Add one step for all events of typing into a field; return the position of the last one."""
        last = end_of_typing(self._screens, position)
        event = self._events[last]
        text = text_at(self._screens, last)
        if why := why_untypable(text):
            self._omit(event, f"a field was {why}, which no step can repeat")
            return last
        found = field_of(self._screens, position, last)
        target = self._addresser.target(*found, self._recent(position), exactly=True) if found is not None else None
        if found is None or target is None:
            self._omit(event, "a typed text was omitted: its field cannot be identified")
            return last
        self._drop_scrolls("a typed text followed it")
        name = self._plain(found[1].resource_id.rpartition("/")[2]) or "text"
        masked = is_masked(text)
        secret = masked or found[1].password
        template = self._inputs.typed("" if masked else text, name, secret=secret)
        package = getattr(event, "packageName", "")
        step = PlannedStep(event.seq, self._id("type", name), "enter_text", package, target=target, text=template)
        self._add(self._typed_sign(replace(step, notes=tuple(_doubts(target))), last, secret=secret))
        if last + 1 < len(self._events) and isinstance(self._events[last + 1], WindowChange):
            self._warn(
                event.seq,
                "the screen changed right after typing. If the Enter key was pressed, no step repeats it",
            )
        return last

    # -- confirmations

    def _confirmed(self, step: PlannedStep, position: int, seen: tuple[UiTree, UiNode] | None) -> PlannedStep:
        """Return the step with a confirmation: a new element, else that the screen is still visible."""
        before = seen[0] if seen is not None else self._screens.before(position)
        after = self._screens.after(position)
        if after is not None:
            sign = self._addresser.appeared(after, before, self._screens.elsewhere(position))
            if sign is not None:
                notes = (*step.notes, _VOLATILE_SIGN) if sign.volatile else step.notes
                return replace(step, confirm=sign, sign="appeared", notes=notes)
            if step.target is not None and _finds(after, step.target, self._inputs):
                note = "nothing new appeared: the step only checks that the same element is still visible. Add the expected element"
                return replace(step, confirm=step.target, sign="present", notes=(*step.notes, note))
            sign = self._addresser.appeared(after, None, self._screens.elsewhere(position))
            note = (
                "nothing new appeared: the step only checks that the next screen is visible. Add the expected content"
            )
            return replace(step, confirm=sign, sign="present" if sign else "", notes=(*step.notes, note))
        if step.target is None:
            return step
        note = "the recording does not show the result: the step only checks that the same element is still visible"
        return replace(step, confirm=step.target, sign="present", notes=(*step.notes, note))

    def _typed_sign(self, step: PlannedStep, last: int, *, secret: bool) -> PlannedStep:
        assert step.target is not None
        after = self._screens.after(last)
        kept = {name: value for name, value in step.target.fields.items() if not name.startswith("text")}
        shown = replace(step.target, fields={**kept, "textEquals": step.text}, others=())
        if not secret and (after is None or _finds(after, shown, self._inputs)):
            return replace(step, confirm=shown, sign="typed")
        note = "the field does not show the typed text: the step only checks that the field is visible"
        return replace(step, confirm=step.target, sign="present", notes=(*step.notes, note))

    # -- helpers

    def _recent(self, position: int) -> Sequence[UiTree]:
        """Return earlier trees, newest first, which decide between equally good selectors."""
        trees = (self._screens.of(at) for at in range(position - 1, max(position - 1 - _RECENT, -1), -1))
        return [tree for tree in trees if tree is not None]

    def _drop_scrolls(self, why: str) -> None:
        for event in self._scrolled:
            self._omit(event, f"a scroll was omitted: {why}")
        self._scrolled.clear()

    def _omit(self, event: Event, words: str) -> None:
        self._warn(event.seq, words)
        self._omitted.append(Omission(event.seq, event.type, words))

    def _warn(self, seq: int, words: str) -> None:
        self._warnings.append(f"seq {seq}: {words}")

    def _add(self, step: PlannedStep) -> None:
        self._steps.append(step)

    def _plain(self, name: str) -> str:
        """Return ``name`` unless it is personal in any spelling."""
        spellings = (name, name.replace("_", " "), name.replace("_", ""))
        return "" if any(map(self._inputs.is_personal, spellings)) else name

    def _id(self, verb: str, name: str) -> str:
        words = _NOT_AN_ID.sub("_", self._plain(name))[:_LONGEST_ID].strip("_").lower()
        found = free_name(f"{verb}_{words}" if words else verb, self._ids)
        self._ids[found] = None
        return found


_FRAMEWORKS = {
    "react-native": "com.facebook.react",
    "flutter": "io.flutter",
    "compose": "androidx.compose",
    "webview": "android.webkit.WebView",
}


def frameworks(classes: Collection[str]) -> tuple[str, ...]:
    """Return the UI frameworks that the classes of nodes indicate."""
    found = [name for name, mark in _FRAMEWORKS.items() if any(mark in cls for cls in classes)]
    if not found and any(cls.startswith("android.widget.") for cls in classes):
        found = ["views"]
    return tuple(found) or ("unknown",)


def is_launcher(package: str) -> bool:
    """Return whether the package name is that of a home screen."""
    return "launcher" in package.lower() or package.endswith(".home")


def _name_of(target: Target) -> str:
    """Return a name for a step on the target: its id, else a text without inputs, else the role."""
    resource_id = target.fields.get("resourceId", "")
    texts = [value for name, value in target.fields.items() if name not in ("resourceId", "role")]
    plain = next((text for text in texts if not names(text)), "")
    return resource_id.rpartition("/")[2] or plain or target.fields.get("role", "")


def _doubts(target: Target) -> Iterator[str]:
    if not target.unique:
        yield "several elements match the selector and the first is used: make it more specific"
    if target.volatile:
        yield "the selector has a value that may change between runs"


def _with_effect(step: PlannedStep, node: UiNode) -> PlannedStep:
    """Return the step with the side effect of a click on ``node``, and a note about it."""
    if (switch := switch_of(node)) is not None:
        was = "on" if switch.checked else "off"
        note = f"it was {was} before the click: a click toggles it regardless of its state"
        return replace(step, effect="toggle", was_on=switch.checked, notes=(note,))
    if any(_BUYING.search(each.label) for each in inside(lands_on(node)) if each.label):
        note = "its label suggests a purchase: the policy must allow purchase_risk"
        return replace(step, effect="purchase", notes=(note,))
    return step


def _leads_back(node: UiNode) -> bool:
    name = node.resource_id.rpartition("/")[2].lower()
    return node.content_desc in _UP_WORDS or bool(_UP_IDS.search(name))


def _direction(scrolls: Sequence[Scroll]) -> str:
    """Return the overall direction. Events have offsets after scrolling; before the first one the offset is taken as 0."""
    first, last = scrolls[0], scrolls[-1]
    known = [max(offset, 0) for offset in (first.scrollX, first.scrollY, last.scrollX, last.scrollY)]
    came_from = (0, 0) if len(scrolls) == 1 else (known[0], known[1])
    across, along = known[2] - came_from[0], known[3] - came_from[1]
    if abs(across) > abs(along):
        return "right" if across > 0 else "left"
    return "up" if along < 0 else "down"


def _finds(tree: UiTree, target: Target, inputs: RecordedInputs) -> bool:
    values = {each.name: each.value for each in inputs}
    fields = {name: fill(value, values) for name, value in target.fields.items()}
    return bool(find_all(tree, Matcher.from_fields(fields)))
