"""Running executions for commands, and their result in the command line's shape: the same for every command that runs one."""

from __future__ import annotations

import re
from typing import TYPE_CHECKING

from clawperator.app.cli import diagnostics
from clawperator.app.cli.commands.execute import max_snapshot_bytes
from clawperator.app.cli.output import Answer
from clawperator.app.cli.parsing.flat_words import flat_error, profile
from clawperator.app.cli.session import run
from clawperator.engine import EngineError, RunOptions
from clawperator.engine.contracts.limits import MAX_SOURCE_LENGTH
from clawperator.engine.text.flat_names import flat_named

if TYPE_CHECKING:
    from argparse import Namespace
    from collections.abc import Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from clawperator.engine import Engine, ExecutionResult, Settings
    from clawperator.engine.skills.play import PlayReport

_TOLD_ON_STDERR = ("SNAPSHOT_EXTRACTION_FAILED", "SCREENSHOT_CAPTURE_FAILED")
"""Warnings that callers of the reference look for on stderr, in ``json`` output too."""


def execute(
    payload: object,
    options: Namespace,
    *,
    surroundings: Callable[[], AbstractAsyncContextManager[Settings]] | None = None,
) -> Answer:
    """Run ``payload`` on the chosen device; flags that are wrong are refused before anything is asked of adb.

    Commands of the flat surface are answered in its profile and its names (``flat_words``).
    """
    choices = _choices(options)

    async def use(engine: Engine) -> ExecutionResult:
        asked = _for_skill(payload, engine.settings.environment)
        return await engine.execute(asked, timeout_ms=options.timeout_ms, options=choices)

    try:
        result = run(options, use, surroundings=surroundings)
    except EngineError as exc:
        _warn(exc.extra.get("warnings", ()), options)
        if choices.profile == "flat":
            raise flat_error(exc) from exc
        raise
    _warn(result.warnings, options)
    if options.verbose:
        spent = ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in result.phases.items())
        diagnostics.note(f"spent: {spent}")
    if choices.profile == "flat":
        # the flat surface's exit code counts every step, whatever the plan's status is (execution.md#result)
        return Answer(flat_named(document(result)), view="execution", failed=result.outcome.status != "succeeded")
    return Answer(document(result), view="execution", failed=not result.succeeded)


def play_compiled(document: object, options: Namespace) -> Answer:
    """Run what ``compile-artifact`` printed: its executions in order, then its confirmations and outputs."""
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.skills.play import play_document

    choices = _choices(options)

    async def use(engine: Engine) -> PlayReport:
        profile = load_profile(engine.settings)
        return await play_document(engine, document, profile, timeout_ms=options.timeout_ms, options=choices)

    report = run(options, use)
    _warn(report.warnings, options)
    return Answer(report.to_dict(), view="play_report", failed=report.failed)


def _choices(options: Namespace) -> RunOptions:
    return RunOptions(
        profile=profile(options),
        raw_envelope=options.raw_envelope,
        max_snapshot_bytes=max_snapshot_bytes(options),
        screenshot_overwrite=getattr(options, "overwrite", False),
    )


def _for_skill(payload: object, env: Mapping[str, str]) -> object:
    """What a skill's script asks of a command of ours is told under the skill's name; a payload of its own has its own."""
    skill = env.get("CLAWPERATOR_SKILL_ID", "")
    ours = isinstance(payload, dict) and str(payload.get("source", "")).startswith("clawperator-")
    if not (skill and ours and re.fullmatch(r"[A-Za-z0-9._-]{1,200}", skill)):
        return payload
    assert isinstance(payload, dict)
    return {**payload, "source": skill[:MAX_SOURCE_LENGTH]}


def document(result: ExecutionResult) -> dict[str, Any]:
    """The success shape of the command line: the engine's result, marked as the canonical terminal one."""
    answer: dict[str, Any] = {}
    for key, value in result.to_dict().items():
        answer[key] = value
        if key == "terminalSource":
            answer["isCanonicalTerminal"] = True
    return answer


def _warn(warnings: Iterable[Mapping[str, Any]], options: Namespace) -> None:
    """Warnings go to stderr in ``pretty`` output; in ``json`` they stand in the document, and a few of them in both."""
    for warning in warnings:
        if options.output == "pretty" or warning.get("code") in _TOLD_ON_STDERR:
            diagnostics.warn(str(warning.get("message", "")))
