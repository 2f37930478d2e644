"""Compile selectors into matchers (skills.md#selector), which have six fields, all of which must match.

Other conditions are resolved on a snapshot before the step (``engine.skills.node_choice``), if the step supports it.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any

from clawperator.engine.contracts.issues import shown, suggestion
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.schema import invalid
from clawperator.engine.skills.recipe.templates import check, names

FIELDS = {
    "resource_id": "resourceId",
    "text_equals": "textEquals",
    "text_contains": "textContains",
    "content_desc_equals": "contentDescEquals",
    "content_desc_contains": "contentDescContains",
}
"""Keys whose text is copied to a field of the matcher."""
TEXTS = tuple(key for key in FIELDS if key != "resource_id")
"""Keys with a text that users see."""
LITERAL_ANNOTATED = "L-ANNOTATION-USER"
ANNOTATIONS = ("STRUCTURAL", "VARIABLE", "USER_SPECIFIC", "DERIVED")
_FLAGS = ("clickable", "enabled", "selected")
_INEXPRESSIBLE = (*_FLAGS, "index_in_parent", "any_of")
KEYS = (*FIELDS, "class", *_INEXPRESSIBLE, "all_of", "annotation")

_CLASSES = {
    "textfield": ("EditText", "TextInputEditText", "AutoCompleteTextView"),
    "button": ("Button", "MaterialButton", "ImageButton", "FloatingActionButton", "RadioButton", "ToggleButton"),
    "switch": ("Switch", "SwitchCompat", "SwitchMaterial"),
    "checkbox": ("CheckBox",),
    "list": ("RecyclerView", "ListView"),
    "grid": ("GridView",),
    "toolbar": ("Toolbar",),
    "tabbar": ("TabLayout", "BottomNavigationView"),
    "pager": ("ViewPager", "ViewPager2"),
    "chip": ("Chip",),
}
ROLES = {name: role for role, classes in _CLASSES.items() for name in classes}
"""Simple class names and the role that the device assigns to their nodes."""
SCROLL_VIEWS = ("ScrollView", "NestedScrollView", "HorizontalScrollView")
_RECYCLER = "RecyclerView"


@dataclass(frozen=True, slots=True)
class LoweredSelector:
    """A matcher whose texts may contain inputs. ``choice`` is the selector if the matcher does not express all of it."""

    matcher: dict[str, str]
    warnings: tuple[dict[str, Any], ...] = ()
    choice: Mapping[str, Any] | None = None


def lower(selector: object, location: Location, *, advisory: bool = False, choosing: bool = False) -> LoweredSelector:
    """Compile the ``selector`` at ``location``; ``advisory`` drops what the device cannot match if a resource id remains.

    ``choosing``: what the device cannot match becomes a choice.

    Raises RECIPE_SELECTOR_INVALID, RECIPE_SELECTOR_UNSUPPORTED (``details.key``) and RECIPE_SCHEMA_INVALID.
    """
    lowering = _Lowering(choosing=choosing and not advisory)
    lowering.add(selector, location)
    if lowering.lost and lowering.choosing and isinstance(selector, dict):
        return LoweredSelector(lowering.matcher, tuple(lowering.warnings), selector)
    if lowering.lost and not (advisory and "resourceId" in lowering.matcher):
        raise _inexpressible(lowering.lost[0], advisory=advisory)
    if not lowering.matcher:
        raise _nothing(location)
    for lost in lowering.lost:
        message = f"{lost.path[-1]} cannot be matched on the device: dropped because of selector_mode: advisory"
        lowering.warnings.append(lost.warning("SELECTOR_KEY_DROPPED", message))
    return LoweredSelector(lowering.matcher, tuple(lowering.warnings))


def lower_container(container: object, location: Location, *, advisory: bool = False) -> LoweredSelector:
    """Compile the selector of a container; the matcher is empty if the device has to find the container."""
    if _is_scroll_view(container):
        message = "a scroll view has no role: the container is omitted, and the device uses the first scrollable view"
        return LoweredSelector({}, (location.warning("CONTAINER_OMITTED", message),))
    return lower(container, location, advisory=advisory)


def _is_scroll_view(container: object) -> bool:
    if not isinstance(container, dict) or set(container) - {"annotation"} != {"class"}:
        return False
    name = container["class"]
    return (
        isinstance(name, str)
        and simple_name(name) in SCROLL_VIEWS
        and container.get("annotation") in (None, *ANNOTATIONS)
    )


class _Lowering:
    """The compilation of one selector; ``lost`` are the sites of what matchers cannot express."""

    def __init__(self, *, choosing: bool = False) -> None:
        self.choosing = choosing
        self.matcher: dict[str, str] = {}
        self.lost: list[Location] = []
        self.warnings: list[dict[str, Any]] = []

    def add(self, selector: object, location: Location) -> None:
        if not isinstance(selector, dict):
            raise invalid(location, "a selector is a mapping", "a mapping")
        if not selector:
            raise _nothing(location)
        if selector.get("annotation") == "USER_SPECIFIC":
            _check_no_literal(selector, location)
        for key, value in selector.items():
            self._take(key, value, location.at(key))

    def _take(self, key: str, value: object, location: Location) -> None:
        if key in FIELDS:
            self._set(FIELDS[key], _text(value, location), location)
        elif key == "class":
            self._class(_text(value, location), location)
        elif key == "all_of":
            for index, part in enumerate(_parts(value, location)):
                self.add(part, location.at(index))
        elif key == "any_of":
            self._alternatives(value, location)
        elif key in _INEXPRESSIBLE:
            _check_inexpressible(key, value, location)
            self.lost.append(location)
        elif key != "annotation":
            named = shown(key)
            hint = suggestion(key, KEYS) or f"Valid keys: {', '.join(KEYS)}."
            raise location.error(
                ErrorCode.RECIPE_SELECTOR_INVALID, f"unknown selector key '{named}'", hint=hint, key=named
            )
        elif value not in ANNOTATIONS:
            raise invalid(location, "is not an annotation", f"one of {', '.join(ANNOTATIONS)}")

    def _alternatives(self, value: object, location: Location) -> None:
        """Accept alternatives that compile to the same matcher: the device supports no others."""
        lowered = []
        for index, part in enumerate(_parts(value, location)):
            lowered.append(_Lowering(choosing=self.choosing))
            lowered[-1].add(part, location.at(index))
        first = lowered[0]
        if any(one.lost or one.matcher != first.matcher for one in lowered):
            self.lost.append(location)
            return
        self.warnings += first.warnings
        for field, text in first.matcher.items():
            self._set(field, text, location)

    def _set(self, field: str, text: str, location: Location) -> None:
        if self.matcher.setdefault(field, text) != text:
            raise _unsupported(location, f"{location.path[-1]} has two conflicting values")

    def _class(self, value: str, location: Location) -> None:
        name = simple_name(value)
        if name == _RECYCLER:
            message = "matched as role list: a RecyclerView with a grid layout has the role grid and does not match"
            self.warnings.append(location.warning("SELECTOR_CLASS_APPROXIMATE", message))
        if name in ROLES:
            self._set("role", ROLES[name], location)
        elif self.choosing and name and not names(value):
            self.lost.append(location)
        else:
            hint = "Remove class and match by resource_id or text, or use a class that has a role."
            raise _unsupported(location, f"the class {shown(name)} has no role on the device", hint=hint)


def _check_no_literal(selector: dict[str, Any], location: Location) -> None:
    """Check that USER_SPECIFIC texts come from inputs."""
    for key in TEXTS:
        if isinstance(value := selector.get(key), str) and value and not names(value):
            raise location.at(key).error(
                ErrorCode.RECIPE_LITERAL_FORBIDDEN,
                f"{key} is annotated USER_SPECIFIC but is a literal text",
                hint="Declare an input and write ${inputs.<name>}, or choose another annotation.",
                lint=LITERAL_ANNOTATED,
                path=location.at(key).dotted,
            )


def simple_name(name: str) -> str:
    """Return a class name without its package."""
    return name.rpartition(".")[2]


def _text(value: object, location: Location) -> str:
    if not isinstance(value, str):
        raise invalid(location, "is not text", "text", hint="Quote the value: YAML does not read it as text.")
    if not value:
        raise location.error(
            ErrorCode.RECIPE_SELECTOR_INVALID,
            f"{location.path[-1]} is empty: it would match every node",
            hint="Remove the key, or set it to a text.",
            key=location.path[-1],
        )
    check(value, location)
    return value


def _parts(value: object, location: Location) -> list[Any]:
    if not isinstance(value, list) or not value:
        raise invalid(location, "is not a list of selectors", "a list of at least one selector")
    return value


def _check_inexpressible(key: str, value: object, location: Location) -> None:
    """Check the type of a value that matchers cannot express."""
    if key in _FLAGS and not isinstance(value, bool):
        raise invalid(location, "is not a boolean", "true or false")
    if key == "index_in_parent" and (not isinstance(value, int) or isinstance(value, bool) or value < 0):
        raise invalid(location, "is not an index", "an integer >= 0")


def _inexpressible(location: Location, *, advisory: bool) -> EngineError:
    if advisory:
        hint = "selector_mode: advisory drops it only from a selector that has a resource_id."
    else:
        hint = (
            "Only click, read_text and enter_text support it, with a snapshot before the step. Use a stable resource_id, or set selector_mode:"
            " advisory to drop the key next to one."
        )
    message = f"the device cannot match {location.path[-1]}: the Operator app supports only ids, texts, descriptions and roles"
    return _unsupported(location, message, hint=hint)


def _unsupported(location: Location, message: str, *, hint: str | None = None) -> EngineError:
    return location.error(
        ErrorCode.RECIPE_SELECTOR_UNSUPPORTED, message, hint=hint, key=location.path[-1], path=location.dotted
    )


def _nothing(location: Location) -> EngineError:
    hint = "Add at least one of resource_id, text_equals, text_contains, content_desc_contains or class."
    message = "the selector has no condition"
    return location.error(
        ErrorCode.RECIPE_SELECTOR_INVALID, message, hint=hint, key=location.path[-1] if location.path else ""
    )
