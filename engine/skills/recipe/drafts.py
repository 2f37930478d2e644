"""Actions of a recipe before inputs are filled in, each with its site."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from typing import Any

from clawperator.engine.contracts.limits import EXPECTED_FORMAT, MIN_EXECUTION_TIMEOUT_MS
from clawperator.engine.errors import EngineError
from clawperator.engine.executions.validate import Validated, validate
from clawperator.engine.skills.recipe.location import Location
from clawperator.engine.skills.recipe.schema import invalid
from clawperator.engine.skills.recipe.templates import fill_in, names, texts

_PARAM_AT = 3
"""The position of the parameter's name in ``actions.N.params.name``."""


@dataclass(frozen=True, slots=True)
class ActionDraft:
    """One action. ``location`` is that of its source, ``sites`` are those of its parameters by name."""

    id: str
    type: str
    params: Mapping[str, Any]
    location: Location
    sites: Mapping[str, Location] = field(default_factory=dict)
    choice: Mapping[str, Any] | None = None
    """The selector that is resolved at run time; the matcher is a placeholder then."""

    @property
    def sleep_ms(self) -> int | None:
        """Return the duration of a sleep; ``None`` for other actions, and if it is unknown."""
        duration = self.params.get("durationMs") if self.type == "sleep" else None
        return duration if isinstance(duration, int) else None

    def texts(self) -> Iterator[tuple[Location, str]]:
        """Yield the texts that may contain inputs, with their sites."""
        for name, value in self.params.items():
            yield from texts(value, self.sites.get(name, self.location))
        if self.choice is not None:
            yield from texts(dict(self.choice), self.sites["matcher"])

    def filled(self, values: Mapping[str, str]) -> dict[str, Any]:
        """Return the action as in a payload, with inputs filled in."""
        params = fill_in(dict(self.params), values)
        return {"id": self.id, "type": self.type, **({"params": params} if params else {})}

    def place(self, path: str) -> tuple[Location, tuple[str, ...]]:
        """Return the site of the validator's ``path`` (``actions.N.params.name…``), and the inputs in its value."""
        name, *inner = path.split(".")[_PARAM_AT:] or [""]
        location = self.sites.get(name)
        if location is None:
            return (self.location.at("params", name) if name else self.location), ()
        value: Any = self.params[name]
        for key in inner:
            value = value.get(key, "") if isinstance(value, dict) else ""
        return location, tuple(names(value)) if isinstance(value, str) else ()


def sleep(action_id: str, duration_ms: int, location: Location) -> list[ActionDraft]:
    """Return an injected sleep; none for a duration of 0."""
    return [ActionDraft(action_id, "sleep", {"durationMs": duration_ms}, location)] if duration_ms else []


def payload(actions: list[dict[str, Any]], timeout_ms: int, ids: tuple[str, str, str]) -> dict[str, Any]:
    """Return a payload; ``ids`` are command, task and source."""
    command, task, source = ids
    return {
        "commandId": command,
        "taskId": task,
        "source": source,
        "expectedFormat": EXPECTED_FORMAT,
        "timeoutMs": timeout_ms,
        "actions": actions,
    }


def check_draft(draft: ActionDraft) -> Validated | None:
    """Validate an action except for parameters with inputs. Raises RECIPE_SCHEMA_INVALID."""
    action = {"id": draft.id, "type": draft.type, "params": dict(draft.params)}
    try:
        return validate(payload([action], MIN_EXECUTION_TIMEOUT_MS, ("recipe", "recipe", "recipe")))
    except EngineError as exc:
        for issue in exc.details.get("issues", ()):
            location, inputs = draft.place(issue["path"])
            if not inputs:
                raise _broken(exc, issue, location) from exc
    return None


def _broken(exc: EngineError, issue: Mapping[str, Any], location: Location) -> EngineError:
    first = issue["path"] == exc.details["path"]
    unknown = exc.details.get("invalidKeys", []) if first else []
    location = location.at("params", unknown[0]) if unknown and not location.path else location
    error = invalid(
        location, str(issue["message"]), str(issue["message"]), hint=exc.hint if first and exc.hint else None
    )
    if unknown:
        error.details["invalidKeys"] = unknown
    return error
