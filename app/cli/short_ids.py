"""Short resource ids of ``--id`` and its siblings: the part after ``:id/``, as views print it, found on the screen."""

from __future__ import annotations

from types import SimpleNamespace
from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from collections.abc import Callable, Mapping

    from clawperator.app.cli.command import Options
    from clawperator.engine import Engine

_FLAGS = ("id", "container_id", "label_id")


def short_ids(options: Options) -> dict[str, str]:
    """Return the options with an id that names no package, unless they are for a fleet, whose hosts read their own screens."""
    given = {name: text for name in _FLAGS if (text := getattr(options, name, None))}
    if not given or getattr(options, "fleet", None) is not None:
        return {}
    from clawperator.engine.executions.short_ids import is_short

    return {name: text for name, text in given.items() if is_short(text)}


def checked(make: Callable[[Options], object], options: Options) -> object:
    """Return the payload that ``make`` makes, validated before the screen is read. Raises ``EngineError``."""
    from clawperator.app.cli.flat_profile import profile
    from clawperator.engine.executions.composition import Composition
    from clawperator.engine.executions.validate import validate

    first = SimpleNamespace(**vars(options))
    payload = make(first)
    if isinstance(payload, Composition):
        payload.validated()
    else:
        validate(payload, timeout_ms=first.timeout_ms, profile=profile(first))
    return payload


async def full_ids(engine: Engine, options: Options, short: Mapping[str, str]) -> dict[str, str]:
    """Put the whole id in place of each of ``short`` in ``options``, and return them by their short form.

    One snapshot finds them. An id that the screen has as it is, or that it does not have, stays. Raises ``EngineError``:
    NODE_AMBIGUOUS where several ids end alike, and those of the snapshot.
    """
    from clawperator.engine.executions.build import snapshot
    from clawperator.engine.executions.finish import RunOptions
    from clawperator.engine.executions.short_ids import full_id
    from clawperator.engine.hierarchy.tree import parse

    result = await engine.execute(snapshot(), options=RunOptions(recorded=False))
    steps = result.to_dict()["envelope"].get("stepResults") or [{}]
    if not isinstance(xml := steps[0].get("data", {}).get("text"), str):
        return {}
    tree, found = parse(xml, recover=True), dict[str, str]()
    for name, text in short.items():
        full = full_id(tree, text, f"--{name.replace('_', '-')}")
        if full != text:
            setattr(options, name, full)
            found[text] = full
    return found
