"""References in a payload: found in the stored trees before the device is locked, resolved on the screen before the dispatch."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import TYPE_CHECKING

from clawperator.engine.contracts.actions import INPUT_ACTIONS
from clawperator.engine.contracts.execution import Action, Execution, is_reference
from clawperator.engine.contracts.issues import joined
from clawperator.engine.contracts.read_only import OBSERVING
from clawperator.engine.contracts.references import Reference, tree_id
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.executions.kept_trees import KeptTrees
from clawperator.engine.executions.validate import Validated, strictly
from clawperator.engine.hierarchy.match import Matcher
from clawperator.engine.hierarchy.nodes import UiNode, UiTree
from clawperator.engine.hierarchy.queries import found_by
from clawperator.engine.hierarchy.references import Found, Screen, referred, resolve
from clawperator.engine.hierarchy.tree import parse

if TYPE_CHECKING:
    from clawperator.engine.executions.composition import Composition

_CLICKING = ("click", "scroll_and_click")


class References:
    """The references of a payload, or of the composition ``composed``, for the device ``serial``, and the trees that they refer to.

    Raises ``EngineError`` (REF_UNKNOWN).
    """

    def __init__(self, validated: Validated, kept: KeptTrees, serial: str, composed: Composition | None = None) -> None:
        self._validated, self._composed = validated, composed
        self._kept, self._serial = kept, serial
        self._trees: dict[str, str] = {}
        for place, reference in self._places():
            if reference.tree not in self._trees:
                try:
                    self._trees[reference.tree] = kept.find(serial, reference)
                except EngineError as exc:
                    raise place.named(exc) from None

    def resolved(self, screen: str) -> tuple[Validated, Composition | None]:
        """Return the payload with the matchers that find its nodes on ``screen``, an XML dump; for a composition, its new form too.

        Parses trees: do not call it in the event loop. Raises ``EngineError`` (``hierarchy.references.resolve``).
        """
        self._kept.keep(self._serial, screen)  # an error names nodes of it
        now = Screen(parse(screen, recover=True), tree_id(screen))
        seen: dict[str, UiTree] = {now.id: now.tree}
        execution, composed = self._validated.execution, self._composed
        actions = list(execution.actions)
        for place, reference in self._places():
            if reference.tree not in seen:
                seen[reference.tree] = parse(self._trees[reference.tree], recover=True)
            try:
                found = resolve(reference, seen[reference.tree], now, click=place.click, read=place.read)
            except EngineError as exc:
                if exc.code is ErrorCode.REF_AMBIGUOUS and reference.tree == now.id and place.by_node(execution):
                    continue
                raise place.named(exc) from None
            fields = found.matcher.to_dict()
            if composed is not None and composed.remake is not None:
                composed = replace(composed.remake(fields), admit=composed.admit)
                remade = composed.validated()
                strict = any("strict" in action.params for action in actions)
                actions = list((strictly(remade) if strict else remade).execution.actions)
            else:
                old = actions[place.index]
                actions[place.index] = replace(old, params={**old.params, place.name: fields})
        plan = replace(execution, actions=tuple(actions))
        payload = {**self._validated.payload, "actions": plan.to_payload()["actions"]}
        return Validated(plan, payload, plan.wire_json(), self._validated.warnings), composed

    def _places(self) -> Iterator[tuple[_Place, Reference]]:
        actions = self._validated.execution.actions
        if self._composed is not None:
            click = any(action.type in (*_CLICKING, *INPUT_ACTIONS) for action in actions)
            read = all(action.type in OBSERVING for action in actions)
            yield _Place(-1, actions[-1], "matcher", click=click, read=read), Reference.read(self._composed.reference)
            return
        for index, action in enumerate(actions):
            for name, value in action.params.items():
                if is_reference(value):
                    click = name != "container" and (action.type in _CLICKING or bool(action.params.get("clickAfter")))
                    read = action.type in OBSERVING
                    yield _Place(index, action, name, click=click, read=read), Reference.read(value["ref"])


@dataclass(frozen=True, slots=True)
class _Place:
    """A parameter of an action that is a reference, and what is done with its node (``hierarchy.references.resolve``)."""

    index: int
    action: Action
    name: str
    click: bool
    read: bool

    def by_node(self, execution: Execution) -> bool:
        """Return whether the node itself can be taken where no matcher finds only it: the screen is still that of the reference."""
        if self.index < 0:
            return self.action.type in INPUT_ACTIONS
        return all(action.type in OBSERVING for action in execution.actions[: self.index])

    def named(self, error: EngineError) -> EngineError:
        """Return ``error`` with this place in the payload."""
        if self.index < 0:  # of a composition
            error.details = {"path": "selector", **error.details}
        else:
            path = joined("actions", self.index, "params", self.name)
            error.details = {"path": path, "actionId": self.action.id, "actionType": self.action.type, **error.details}
        return error


def matcher_of(fields: Mapping[str, str], kept: KeptTrees, serial: str, screen: Screen) -> Matcher:
    """Return the matcher of ``fields``; that of a reference on ``screen``, of the device ``serial``. Raises ``EngineError``."""
    return found(fields, kept, serial, screen).matcher if "ref" in fields else Matcher.from_fields(fields)


def nodes_of(fields: Mapping[str, str], kept: KeptTrees, serial: str, screen: Screen) -> Sequence[UiNode]:
    """Return the nodes of ``screen`` that ``fields`` find. Raises ``EngineError``, also without any (``queries.found_by``)."""
    if "ref" in fields:
        return [node_of(fields, kept, serial, screen)]
    return found_by(screen.tree, Matcher.from_fields(fields))


def node_of(fields: Mapping[str, str], kept: KeptTrees, serial: str, screen: Screen) -> UiNode:
    """Return the node of the reference in ``fields``; on its own tree also one that no matcher singles out. Raises ``EngineError``."""
    reference = Reference.read(fields["ref"])
    if reference.tree == screen.id:
        return referred(reference, screen.tree)
    return found(fields, kept, serial, screen).node


def found(fields: Mapping[str, str], kept: KeptTrees, serial: str, screen: Screen) -> Found:
    """Return the node of the reference in ``fields``, and its matcher. Raises ``EngineError``."""
    reference = Reference.read(fields["ref"])
    seen = screen.tree if reference.tree == screen.id else parse(kept.find(serial, reference), recover=True)
    return resolve(reference, seen, screen, click=True, read=True, first=True)
