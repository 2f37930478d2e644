"""Running executions for commands, and their result in the command line's shape."""

from __future__ import annotations

import re
from functools import partial
from types import MappingProxyType
from typing import TYPE_CHECKING

from clawperator.app.cli import diagnostics
from clawperator.app.cli.command import Answer
from clawperator.app.cli.flat_profile import flat_error, profile
from clawperator.app.cli.session import run
from clawperator.engine import EngineError, ErrorCode, RunOptions
from clawperator.engine.contracts.limits import MAX_SOURCE_LENGTH
from clawperator.engine.executions.outcome import status_of
from clawperator.engine.text.flat_names import flat_named

if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Iterable, Mapping
    from contextlib import AbstractAsyncContextManager
    from typing import Any

    from clawperator.app.cli.command import Options
    from clawperator.app.cli.fan_out import Remotely
    from clawperator.app.fleet.client import Fleet
    from clawperator.engine import Engine, ExecutionResult, Settings
    from clawperator.engine.skills.artifact_run import ArtifactReport

_ALSO_ON_STDERR = ("SNAPSHOT_EXTRACTION_FAILED", "SCREENSHOT_CAPTURE_FAILED")
"""Warnings that callers look for on stderr, in ``json`` output too."""


def execute(
    payload: object,
    options: Options,
    *,
    settings_source: Callable[[], AbstractAsyncContextManager[Settings]] | None = None,
    short: Mapping[str, str] = MappingProxyType({}),
    make: Callable[[Options], object] | None = None,
) -> Answer:
    """Run ``payload`` on the chosen device. Commands of the flat profile are answered in its names (``flat_profile``).

    Where ``short`` has ids (``short_ids``), ``make`` makes the payload again with those that the screen has.
    """
    if getattr(options, "fleet", None) is not None:
        return fleet_answer(remotely(payload, options), options)
    choices = run_options(options)

    ids: dict[str, str] = {}

    async def use(engine: Engine) -> ExecutionResult:
        wanted = payload
        if short and make is not None:
            from clawperator.app.cli.short_ids import full_ids

            ids.update(await full_ids(engine, options, short))
            wanted = make(options)
        sent = _for_skill(wanted, engine.settings.environment)
        return await engine.execute(sent, timeout_ms=options.timeout_ms, options=choices)

    try:
        result = run(options, use, settings_source=settings_source)
    except EngineError as exc:
        warn(exc.extra.get("warnings", ()), options)
        if choices.profile == "flat":
            raise flat_error(exc) from exc
        raise
    warn(result.warnings, options)
    if options.verbose:
        spent = ", ".join(f"{name} {milliseconds:.1f} ms" for name, milliseconds in result.phases.items())
        diagnostics.note(f"phases: {spent}")
    found = flat_named(document(result)) if choices.profile == "flat" else document(result)
    answer = answered(found, options, view="executions.execution")
    if ids:
        answer.document = {**answer.document, "resolvedIds": ids}
        answer.data = {**found, "resolvedIds": ids}
    return answer


def fleet_answer(run: Remotely, options: Options) -> Answer:
    """Return the answer of ``run`` about the chosen device of the fleet."""
    from clawperator.app.cli import fan_out

    found = fan_out.on_one(options, run)
    view = "executions.execution" if "envelope" in found else "skill_runs.play_report"
    return answered(flat_named(found) if profile(options) == "flat" else found, options, view=view)


def on_devices(payload: object, options: Options) -> int:
    """Run ``payload``, or the output of ``compile-artifact``, on each device of ``--devices``."""
    from clawperator.app.cli import fan_out
    from clawperator.engine.skills.compiled import is_compiled

    compiled = is_compiled(payload)

    async def run_one(engine: Engine, serial: str) -> Mapping[str, Any]:
        how = {"device_id": serial, "timeout_ms": options.timeout_ms, "options": run_options(options)}
        if compiled:
            from clawperator.engine.config.active_profile import load_profile
            from clawperator.engine.skills.artifact_run import run_document

            report = await run_document(engine, payload, load_profile(engine.settings), **how)
            return answered(report.to_dict(), options).document
        result = await engine.execute(_for_skill(payload, engine.settings.environment), **how)
        return answered(document(result), options).document

    if compiled:
        from clawperator.engine.skills.compiled_json import read_compiled

        read_compiled(payload)
    else:
        from clawperator.engine.executions.validate import validate

        validate(payload, timeout_ms=options.timeout_ms, profile=profile(options))
    return fan_out.run(
        options, "clawperator execute", lambda engine: partial(run_one, engine), remotely(payload, options)
    )


def remotely(payload: object, options: Options) -> Remotely:
    """Return what runs ``payload`` on a device of a fleet."""
    from clawperator.engine.executions.composition import Composition

    if isinstance(payload, Composition):
        raise EngineError(
            ErrorCode.NOT_IMPLEMENTED, "This command cannot run on a fleet; send a plan with execute --fleet"
        )
    if options.fleet is not None and getattr(options, "overwrite", False):
        raise EngineError(
            ErrorCode.USAGE, "--overwrite and --fleet cannot be combined: screenshots are files of the host"
        )
    how: dict[str, Any] = {"timeout_ms": options.timeout_ms, "options": run_options(options)}
    how |= {"wait_ms": options.wait, "backend": options.backend, "allow_unbind": options.allow_unbind or None}
    how |= {"compressed": options.compressed or None}
    how["receiver_package"] = options.receiver_package

    async def run(fleet: Fleet, device: str) -> Mapping[str, Any]:
        answer = await fleet.execute(payload, device, **how)
        return answer if getattr(options, "devices", None) is None else answered(answer, options).document

    def admitted(engine: Engine, fleet: Fleet) -> Callable[[str], Awaitable[Mapping[str, Any]]]:
        _admit_remotely(engine, payload, how["options"])
        return partial(run, fleet)

    return admitted


def _admit_remotely(engine: Engine, payload: object, options: RunOptions) -> None:
    """Check what a host of a fleet is to run against the policy of this computer: that of the host is another one's."""
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.config.policy import OBSERVE, admit
    from clawperator.engine.skills.compiled import STAND_IN, is_compiled, with_matcher

    what = "run an execution on a fleet"
    if options.then:
        engine.guard.permit(OBSERVE, what)
    with engine.guard.refusals(what):
        profile = load_profile(engine.settings)
        if not is_compiled(payload):
            admit(profile, engine.validate(payload, profile=options.profile).execution)
            return
        from clawperator.engine.skills.compiled_json import admit_compiled, read_compiled

        compiled = read_compiled(payload)
        admit_compiled(profile, compiled)
        for execution in compiled.executions:
            chosen = execution if compiled.choice(execution) is None else with_matcher(execution, STAND_IN)
            admit(profile, engine.validate(chosen, profile="flat").execution)


def answered(found: Mapping[str, Any], options: Options, *, view: str = "") -> Answer:
    """Return the answer about executions, with ``--brief`` in its brief form; its outcome decides the exit code."""
    answer = Answer(found, view=view, status=status_of(found), allow_partial=getattr(options, "allow_partial", False))
    return shortened(answer, options)


def shortened(answer: Answer, options: Options) -> Answer:
    """Return ``answer``, with ``--brief`` in its brief form."""
    if getattr(options, "brief", False):
        from clawperator.engine.executions.brief import brief

        answer.document = brief(answer.document)
    return answer


def play_compiled(document: object, options: Options) -> Answer:
    """Run the output of ``compile-artifact``: its executions in order, then its confirmations and outputs."""
    from clawperator.engine.config.active_profile import load_profile
    from clawperator.engine.skills.artifact_run import run_document

    if getattr(options, "fleet", None) is not None:
        return fleet_answer(remotely(document, options), options)
    choices = run_options(options)

    async def use(engine: Engine) -> ArtifactReport:
        profile = load_profile(engine.settings)
        return await run_document(engine, document, profile, timeout_ms=options.timeout_ms, options=choices)

    return artifact_answer(run(options, use), options)


def artifact_answer(report: ArtifactReport, options: Options) -> Answer:
    """Return the answer about the executions of an artifact."""
    warn(report.warnings, options)
    return answered(report.to_dict(), options, view="skill_runs.play_report")


def run_options(options: Options) -> RunOptions:
    """Return what ``RESULT_FLAGS`` and ``OVERWRITE_FLAG`` choose."""
    return RunOptions(
        profile=profile(options),
        raw_envelope=options.raw_envelope,
        max_snapshot_bytes=options.max_snapshot_bytes,
        screenshot_overwrite=getattr(options, "overwrite", False),
        then=getattr(options, "then", None),
        verify=getattr(options, "verify", False),
        display=getattr(options, "display", None) or 0,
    )


def _for_skill(payload: object, env: Mapping[str, str]) -> object:
    """Name the skill as the source of what its script sends through our commands; its own payloads name their source."""
    skill = env.get("CLAWPERATOR_SKILL_ID", "")
    ours = isinstance(payload, dict) and str(payload.get("source", "")).startswith("clawperator-")
    if not (skill and ours and re.fullmatch(r"[A-Za-z0-9._-]{1,200}", skill)):
        return payload
    assert isinstance(payload, dict)
    return {**payload, "source": skill[:MAX_SOURCE_LENGTH]}


def document(result: ExecutionResult) -> dict[str, Any]:
    """Return the engine's result, marked as the canonical terminal one."""
    answer: dict[str, Any] = {}
    for key, value in result.to_dict().items():
        answer[key] = value
        if key == "terminalSource":
            answer["isCanonicalTerminal"] = True
    return answer


def warn(warnings: Iterable[Mapping[str, Any]], options: Options) -> None:
    """Write warnings to stderr for ``pretty`` output; in ``json`` they are in the document, and a few of them in both."""
    for warning in warnings:
        if options.output == "pretty" or warning.get("code") in _ALSO_ON_STDERR:
            diagnostics.warn(str(warning.get("message", "")))
