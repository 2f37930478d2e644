"""What can be copied of the node under the cursor and of its matcher. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import TYPE_CHECKING, Any

from clawperator.app.console.copyable import Copyable
from clawperator.engine.executions import snippets
from clawperator.engine.executions.steps import VERBS, execution, step
from clawperator.engine.hierarchy.locators import Locators
from clawperator.engine.hierarchy.serialise import node_xml
from clawperator.widgets.format.nodes import bounds_text

if TYPE_CHECKING:
    from clawperator.app.console.execution.subject import Subject
    from clawperator.engine.hierarchy.matcher import Matcher
    from clawperator.engine.hierarchy.nodes import UiNode
    from clawperator.widgets.models.bench import Bench
    from clawperator.widgets.models.snapshot import TreeSnapshot


def of_node(node: UiNode | None, snapshot: TreeSnapshot) -> Iterator[tuple[str, Copyable]]:
    """Yield the properties of the node, and the dump."""
    if snapshot.xml:
        yield "snapshot", Copyable("the snapshot", snapshot.xml)
    if node is None:
        return
    if node.label:
        yield "label", Copyable("the label", node.label)
    if node.resource_id:
        yield "id", Copyable("the resource id", node.resource_id)
    yield "path", Copyable("the path", node.path)
    yield "bounds", Copyable("the bounds", bounds_text(node))
    below = node.end - node.index - 1
    what = "the node" if not below else f"the node with {below:,} descendant{'s' * (below != 1)}"
    yield "node", Copyable(what, make=lambda: node_xml(node))


def of_matcher(bench: Bench, subject: Subject, device_id: str) -> Iterator[tuple[str, Copyable]]:
    """Yield the current matcher in every format, with the usual verb for such a node."""
    matcher = subject.matcher
    if not matcher:
        return
    count = "1 match" if subject.matches == 1 else f"{subject.matches:,} matches"
    verb = usual_verb(bench)
    action = step(verb, matcher=matcher, container=subject.container)
    label = VERBS[verb].label
    whole = matcher.to_dict()
    if matcher.container:
        whole = {"matcher": whole, "container": matcher.container.to_dict()}
    yield "matcher", Copyable(f"the matcher ({count})", snippets.compact(whole))
    yield "json", Copyable(f"the matcher ({count})", snippets.pretty(whole))
    yield "step", Copyable(f"the step: {label} ({count})", snippets.pretty(action))
    if line := snippets.command_line(action, device_id):
        yield "command", Copyable(f"the command: {label} ({count})", line)
    yield "execution", Copyable(f"the execution: {label} ({count})", snippets.pretty(execution([action])))
    yield "python", Copyable(f"the program: {label} ({count})", snippets.python(execution([action]), device_id))
    yield "pytest", Copyable(f"the test: {label} ({count})", snippets.pytest(execution([action]), device_id))
    yield "recipe", Copyable.if_possible(f"the recipe step: {label} ({count})", lambda: _step_block(action))
    yield "ui_selector", Copyable.if_possible("the UiSelector", lambda: _locators(bench, matcher).ui_selector())
    yield "xpath", Copyable.if_possible("the XPath", lambda: _locators(bench, matcher).xpath())


def _step_block(action: Mapping[str, Any]) -> str:
    from clawperator.engine.recordings.recipe_draft import step_block

    return step_block(action)


def _locators(bench: Bench, matcher: Matcher) -> Locators:
    """Return the forms for the node that the device takes."""
    if bench.tree is None or not bench.matches:
        raise ValueError("no node on screen matches")
    return Locators(bench.tree, bench.matches[0], matcher)


def usual_verb(bench: Bench) -> str:
    """Return ``tap`` for clickable nodes, ``read`` for text, else ``wait``."""
    candidate, landing = bench.candidate, bench.landing
    if candidate is not None and candidate.kind == "container":
        return "scroll_to"
    if landing is not None and landing.on is not None:
        return "tap"
    return "read" if landing is not None and landing.found.label else "wait"
