"""A library of invented skills: everything it answers is scripted by the test, and nothing of it touches a disk."""

from __future__ import annotations

import asyncio
import threading
from collections.abc import Callable, Hashable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Any

from clawperator.app.console.skills.jobs import LoadedRegistry
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import OnProgress, Stage
from clawperator.engine.skills.artifact_run import ArtifactReport
from clawperator.engine.skills.compiled import Choice, Compiled
from clawperator.engine.skills.describe import (
    PolicyDecision,
    SkillArtifact,
    SkillDetails,
    SkillEntry,
    SkillInput,
    SkillIssue,
)
from clawperator.engine.skills.lint import Finding
from clawperator.engine.skills.registry import Registry
from clawperator.engine.skills.run import OutputLine, SkillRun
from clawperator.engine.skills.run_options import RunOption, variables_of
from clawperator.engine.skills.sync import SyncResult
from clawperator.widgets.models.skills import LastResult
from clawperator.widgets.models.status import Status

NOON = 1_700_000_940.0

PRICE: dict[str, Any] = {
    "id": "com.example.shop.read-price",
    "applicationId": "com.example.shop",
    "intent": "read-price",
    "summary": "Read the price of one item, and its unit.",
    "path": "skills/com.example.shop.read-price",
    "skillFile": "skills/com.example.shop.read-price/SKILL.md",
    "scripts": ["skills/com.example.shop.read-price/scripts/read_price.py"],
    "artifacts": ["skills/com.example.shop.read-price/artifacts/price.recipe.md"],
    "keywords": ["groceries"],
}
ALERT: dict[str, Any] = {
    **PRICE,
    "id": "com.example.shop.price-alert",
    "intent": "price-alert",
    "summary": "Set an alert for a price.",
    "artifacts": [],
    "keywords": [],
    "contract": {"inputs": {"item": "what to watch", "limit": "the price"}, "goal": None, "verification": None},
}
THERMOSTAT: dict[str, Any] = {
    **PRICE,
    "id": "com.example.home.thermostat-set",
    "applicationId": "com.example.home",
    "intent": "thermostat-set",
    "summary": "Set the target of one thermostat, and confirm it on its screen.",
    "artifacts": ["skills/com.example.home.thermostat-set/artifacts/set.recipe.md"],
    "keywords": [],
}
SETTINGS: dict[str, Any] = {
    **PRICE,
    "id": "com.android.settings.overview",
    "applicationId": "com.android.settings",
    "intent": "overview",
    "summary": "List the rows of the settings' first page.",
    "scripts": ["skills/com.android.settings.overview/scripts/overview.sh"],
    "artifacts": ["skills/com.android.settings.overview/artifacts/overview.recipe.json"],
    "keywords": [],
}
ENTRIES: tuple[dict[str, Any], ...] = (SETTINGS, THERMOSTAT, ALERT, PRICE)

TEXT = """---
name: read-price
description: Read the price of one item.
---
# Read a price

Opens the shop, **searches** for one item and reads its price from the first hit.
See the [notes](https://example.com/notes) for what `RESULT|price=` means.

## When it fails

- the item has no price: the words are `not found`
- the search is slow: it waits *eight* seconds, no longer
  - and tells so

```sh
clawperator skills run com.example.shop.read-price -- "Oat milk"
```

> Prices change: read them again.
"""

LABEL = SkillInput("lamp_label", required=True, personal=True)
TARGET = SkillInput("target", "number", required=True)
MODE = SkillInput("mode", "enum", default="heat", values=("heat", "cool", "off"))
NOTIFY = SkillInput("notify", "boolean")
ITEM = SkillInput("item_name", required=True)

CARDS: dict[str, SkillDetails] = {
    PRICE["id"]: SkillDetails(
        skill_id=str(PRICE["id"]),
        text=TEXT,
        artifacts=(
            SkillArtifact(
                name="price.recipe.md",
                about="flow 1.2.0",
                inputs=(NOTIFY, ITEM),
                capabilities=("observe", "navigate", "click", "type_text"),
                app="com.example.shop",
            ),
        ),
        rulings=(
            *(PolicyDecision("capability", name, True) for name in ("observe", "navigate", "click", "type_text")),
            PolicyDecision("package", "com.example.shop", True),
        ),
        profile="default",
    ),
    THERMOSTAT["id"]: SkillDetails(
        skill_id=str(THERMOSTAT["id"]),
        text="# Thermostat\n\nSets it.",
        artifacts=(
            SkillArtifact(
                name="set.recipe.md",
                about="action 0.3.0",
                inputs=(MODE, NOTIFY, LABEL, TARGET),
                capabilities=("observe", "navigate", "click", "toggle", "purchase_risk"),
                app="com.example.home",
            ),
        ),
        rulings=(
            *(
                PolicyDecision("capability", name, name != "purchase_risk")
                for name in ("observe", "toggle", "purchase_risk")
            ),
            PolicyDecision("package", "com.example.home", True),
        ),
        profile="default",
    ),
    SETTINGS["id"]: SkillDetails(
        skill_id=str(SETTINGS["id"]),
        text="# Overview",
        artifacts=(
            SkillArtifact(
                name="overview.recipe.json",
                trouble=SkillIssue(
                    "A step needs a block of YAML after its heading",
                    "RECIPE_PARSE_FAILED",
                    "Correct the block that details names.",
                    "skills/com.android.settings.overview/artifacts/overview.recipe.json",
                    12,
                ),
            ),
        ),
        profile="default",
    ),
}

FINDINGS = (
    Finding(
        "skills/com.example.shop.read-price/SKILL.md", 9, "L-LITERAL-EMAIL", "error", "looks like an email address"
    ),
    Finding(
        "skills/com.example.shop.read-price/artifacts/price.recipe.md",
        31,
        "L-NO-WAIT-AFTER-OPEN",
        "warning",
        "The first step after opening the app neither waits for a node nor sleeps.",
    ),
    Finding(
        "skills/com.example.shop.read-price/artifacts/price.recipe.md",
        4,
        "L-STALE",
        "info",
        "Last verified 212 days ago.",
    ),
)

PRINTED = (
    ("stdout", "opening the shop", 0.4),
    ("stderr", "warning: no cached session", 0.9),
    ("stdout", "RESULT|price=4.99|unit=kg", 3.1),
    ("stdout", "SCREENSHOT|path=/tmp/shot.png", 3.4),
    ("stdout", "TEXT_BEGIN", 3.5),
    ("stdout", "RESULT|not a result: inside a text", 3.5),
    ("stdout", "TEXT_END", 3.5),
    ("stdout", '[Clawperator-Skill-Result] {"price": 4.99}', 3.6),
    ("stdout", "✓ read the price", 3.7),
)


def an_execution(count: int = 3) -> dict[str, Any]:
    actions = [
        {"id": "__fresh_close", "type": "close_app", "params": {"applicationId": "com.example.shop"}},
        {"id": "__fresh_open", "type": "open_app", "params": {"applicationId": "com.example.shop"}},
        {"id": "hit", "type": "wait_for_node", "params": {"matcher": {"textContains": "Oat milk"}}},
    ]
    return {
        "commandId": "cmd-0123456789ab",
        "taskId": "task-0123456789ab",
        "source": "com.example.shop.read-price",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 34_000,
        "mode": "artifact_compiled",
        "actions": actions[:count],
    }


@dataclass
class FakeLibrary:
    """``calls`` lists what was asked for. ``hold`` keeps a run or a sync going until it is set; ``fail`` ends it so."""

    entries: Sequence[Mapping[str, Any]] = ENTRIES
    cards: Mapping[str, SkillDetails] = field(default_factory=lambda: dict(CARDS))
    lints: tuple[Finding, ...] | EngineError = ()
    source: str = "installed"
    trouble: SkillIssue | None = None
    find_error: EngineError | None = None
    compile_error: EngineError | None = None
    past: Mapping[str, LastResult] = field(default_factory=dict)
    printed: Sequence[tuple[str, str, float]] = PRINTED
    hold: asyncio.Event | None = None
    fail: EngineError | None = None
    result: Mapping[str, Any] | None = None
    """What a script reports as its result."""
    parts: int = 1
    """Executions that an artifact compiles into."""
    chooses: bool = False
    """Whether the node of an artifact's first step is chosen when it runs."""
    play_errors: tuple[Mapping[str, Any], ...] = ()
    outputs: Mapping[str, Any] = field(default_factory=lambda: {"price": "*.**", "unit": "kg"})
    gate: threading.Event | None = None
    """Files are read when it is set."""
    calls: list[Any] = field(default_factory=list)
    version: int = 0

    def find(self) -> LoadedRegistry:
        self.calls.append("find")
        if self.find_error is not None:
            raise self.find_error
        registry = Registry(
            "/skills/skills/skills-registry.json", "/skills", tuple(map(dict, self.entries)), self.source
        )
        commit = "main @abc1234" if self.source == "installed" else ""
        return LoadedRegistry(registry, tuple(map(SkillEntry.of, self.entries)), commit, self.trouble)

    def places(self, registry: Registry | None, skill_id: str) -> Sequence[str]:
        return ["/"]

    def signs(self, registry: Registry | None, skill_id: str) -> Hashable:
        return self.version

    def card(self, registry: Registry, skill: SkillEntry) -> SkillDetails:
        self.calls.append(f"card {skill.id}")
        if self.gate is not None:
            self.gate.wait(10)
        return self.cards.get(skill.id) or SkillDetails(skill_id=skill.id, text="# Nothing to say")

    def findings(self, registry: Registry, skill_id: str) -> tuple[Finding, ...]:
        self.calls.append(f"lint {skill_id}")
        if isinstance(self.lints, EngineError):
            raise self.lints
        return self.lints

    def compile(self, registry: Registry, skill_id: str, way: RunOption, values: Mapping[str, str]) -> Compiled:
        """As the real one as far as required inputs go."""
        variables = variables_of(way, values)
        missing = next((item.name for item in way.fields if item.required and not variables.get(item.name)), "")
        if missing:
            raise EngineError(
                ErrorCode.RECIPE_INPUT_MISSING, f"The input {missing} has no value", details={"input": missing}
            )
        if self.compile_error is not None:
            raise self.compile_error
        execution = an_execution()
        execution["actions"][2]["params"] = {
            "matcher": {"textContains": str(next(iter(variables.values()), "Oat milk"))}
        }
        choices = (Choice(execution["actions"][0]["id"], {"clickable": True}),) if self.chooses else ()
        return Compiled(
            skill_id, way.artifact, (execution,) * self.parts, (), {"id": skill_id, "version": "1.2.0", "type": "flow"},
            ("observe", "navigate"), (), (), (), choices=choices,
        )  # fmt: skip

    async def run(
        self,
        registry: Registry,
        skill_id: str,
        args: Sequence[str],
        device_id: str,
        on_line: Callable[[OutputLine], object],
    ) -> SkillRun:
        self.calls.append(("run", skill_id, tuple(args), device_id))
        try:
            for stream, text, after in self.printed:
                on_line(OutputLine(stream, text, NOON + after))  # type: ignore[arg-type]  # stdout and stderr
            if self.hold is not None:
                await self.hold.wait()
            if self.fail is not None:
                raise self.fail
        finally:
            self.calls.append("ended")
        return SkillRun(skill_id, "", 0, 3_700.0, None, None, False, (), result=self.result)

    async def run_artifact(
        self, compiled: Compiled, device_id: str, on_event: Callable[[Mapping[str, Any]], object]
    ) -> ArtifactReport:
        self.calls.append(("play", compiled.artifact, device_id))
        about = {"index": 0, "count": 1, "commandId": "cmd-0123456789ab"}
        on_event({"event": "play.execution", **about, "actionCount": 3, "optional": ""})
        if self.hold is not None:
            await self.hold.wait()
        if self.fail is not None:
            raise self.fail
        on_event({"event": "play.result", **about, "succeeded": not self.play_errors})
        return ArtifactReport(compiled, outputs=self.outputs, errors=[*self.play_errors], duration_ms=8_100.0)

    async def sync(self, ref: str, on_progress: OnProgress) -> SyncResult:
        self.calls.append(f"sync {ref}")
        on_progress(Stage("skills-sync", "fetch", "running", 1_200.0, 120_000.0, 0.4, "Receiving objects: 40 %"))
        if self.hold is not None:
            await self.hold.wait()
        if self.fail is not None:
            raise self.fail
        on_progress(Stage("skills-sync", "fetch", "done", 3_000.0))
        return SyncResult("/skills", "/skills/skills/skills-registry.json", ref, "abc1234def567890")

    async def results(self, skill_ids: frozenset[str]) -> Mapping[str, LastResult]:
        return {name: result for name, result in self.past.items() if name in skill_ids}

    def compiled(self, plan: Compiled) -> None:
        self.calls.append(f"compiled {plan.artifact}")


PAST = {
    PRICE["id"]: LastResult(Status.FAILED, NOON - 3_700, "NODE_NOT_FOUND"),
    SETTINGS["id"]: LastResult(Status.OK, NOON - 200_000),
}
