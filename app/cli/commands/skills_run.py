"""``skills run``: a skill's script as a program of its own, or one of its artifacts compiled and executed."""

from __future__ import annotations

from contextlib import nullcontext
from functools import partial

from clawperator.app.cli.command import Answer, Command, Options
from clawperator.app.cli.commands.execute import reported
from clawperator.app.cli.parsing.common_flags import (
    DEVICES_FLAGS,
    OVERWRITE_FLAG,
    REGISTRY_FLAG,
    RESULT_FLAGS,
    check_devices,
)
from clawperator.app.cli.parsing.flags import Flag, Rest, Word, switch
from clawperator.app.cli.skills_registry import EXAMPLE, registry
from clawperator.engine.errors import EngineError, ErrorCode

TYPE_CHECKING = False
if TYPE_CHECKING:
    from collections.abc import Awaitable, Callable, Coroutine, Mapping
    from typing import Any, TypeVar

    from clawperator.app.fleet.client import Fleet
    from clawperator.engine import Engine
    from clawperator.engine.skills.artifact_run import ArtifactReport
    from clawperator.engine.skills.compiled import Compiled
    from clawperator.engine.skills.registry import Registry
    from clawperator.engine.skills.run import OutputLine

    T = TypeVar("T")

_ONLY_SCRIPTS = ("expect_contains", "skip_validate", "args")
_ONLY_ARTIFACTS = ("vars", "raw_envelope", "max_snapshot_bytes", "overwrite", "allow_partial")
_STREAMED = ("stdout", "stderr", "output")
_MOST_LINES = 10_000
"""Lines of a script that are not printed yet."""


class Run(Command):
    usage = "<id> [--artifact <name> [--vars <json>]] [--<input> <value> …] [options] [-- <arguments for the script>]"
    notes = (
        "Runs the skill's script with these arguments: the device, if --device-id is given, its inputs, and everything after --.\n"
        "Inputs that the skill declares (skills get) are flags: --unit-name for unit_name, or words in the order of their names.\n"
        "--timeout limits the script's time [120000 ms]; after it, or after Ctrl-C, all its processes are stopped. With --output\n"
        "pretty, its output is shown live. Problems in the skill's other files, including artifacts, are warnings in the result\n"
        "and do not stop the run. With --artifact, no script runs: the artifact is compiled and executed.\n"
        "--then is part of the execution of an artifact. After a script it is an execution of its own; there, and after several\n"
        "executions of an artifact, changes by others since the run began are shown too. A failed run has its then as well.\n"
        "--brief leaves out a script's output if it printed frames, such as RESULT|key=value."
    )
    examples = (
        f"{EXAMPLE} --device-id emulator-5554 -- 'red shoes'",
        f"{EXAMPLE} --query 'red shoes'",
        f"{EXAMPLE} --timeout 300000 --expect-contains RESULT --output pretty",
        f'{EXAMPLE} --artifact search --vars \'{{"query":"shoes"}}\'',
    )
    flags = (
        Word("id", "skill id", suggest="skills"),
        Flag("--expect-contains", "<text>", "fail unless the script's stdout contains this text"),
        switch("--skip-validate", "skip the validation of the skill's files"),
        Flag("--artifact", "<name>", "compile and execute this artifact instead of running the script"),
        Flag("--vars", "<json>", "set the artifact's variables with one JSON object [{}]"),
        REGISTRY_FLAG,
        *DEVICES_FLAGS,
        *RESULT_FLAGS,
        OVERWRITE_FLAG,
        Rest("args", "arguments for the script", undeclared="undeclared"),
    )

    def run(self, options: Options) -> Answer | int:
        if options.undeclared.refusal is not None and (options.id is None or options.artifact is not None):
            raise options.undeclared.refusal
        if options.id is None:
            raise self.missing("<id>", example=EXAMPLE)
        check_devices(options)
        if options.artifact is None:
            _refuse(options, _ONLY_ARTIFACTS, "requires --artifact")
            run = (
                _run_remotely if options.fleet is not None else _run_script if options.devices is None else _run_scripts
            )
        else:
            _refuse(options, _ONLY_SCRIPTS, "cannot be used with --artifact")
            run = _play
        if options.devices is not None:
            return run(options)
        return reported(options, f"skills run {options.id}", lambda: run(options))


def _refuse(options: Options, names: tuple[str, ...], why: str) -> None:
    """Refuse flags that would have no effect."""
    for name in names:
        if getattr(options, name):
            flag = "arguments after --" if name == "args" else f"--{name.replace('_', '-')}"
            raise EngineError(ErrorCode.USAGE, f"{flag} {why}")


# -- the script


def _script(
    options: Options,
) -> Callable[[Engine, str | None, Callable[[OutputLine], object]], Coroutine[Any, Any, Mapping[str, Any]]]:
    """Return what runs the script with an engine, for a device, with a listener to its output, and returns its answer."""
    if options.expect_contains == "":
        raise EngineError(ErrorCode.USAGE, "--expect-contains value must not be empty")
    limit = _script_limit(options)
    chosen, inputs = _with_inputs(options)
    short = options.brief and options.output != "pretty"
    from clawperator.engine import RunOptions
    from clawperator.engine.skills.run import run_with_then

    async def run(engine: Engine, device_id: str | None, on_line: Callable[[OutputLine], object]) -> Mapping[str, Any]:
        return await run_with_then(
            engine,
            chosen,
            options.id,
            RunOptions(then=options.then),
            device_id=device_id,
            short=short,
            settings=engine.settings,
            args=[*options.undeclared.words, *options.args],
            inputs=inputs,
            timeout_ms=limit,
            expect_contains=options.expect_contains,
            validate=not options.skip_validate,
            on_line=on_line,
            guard=engine.guard,
            engine=engine,
        )

    return run


def _with_inputs(options: Options) -> tuple[Registry, dict[str, str]]:
    """Return the registry, and the inputs that are given as flags; a skill that declares none takes no such flag."""
    from clawperator.engine.skills.script_inputs import script_inputs

    refusal = options.undeclared.refusal
    try:
        chosen = registry(options)
        names = {each.flag: each.name for each in script_inputs(chosen.get(options.id))} if refusal else {}
    except EngineError:
        if refusal:
            raise refusal from None
        raise
    if refusal and not names:
        raise refusal
    return chosen, {
        names.get(flag, flag[2:].replace("-", "_")): value for flag, value in options.undeclared.flags.items()
    }


def _run_scripts(options: Options) -> int:
    """Run the script for each device of ``--devices``."""
    from clawperator.app.cli import fan_out

    script = _script(options)

    def on_devices(engine: Engine) -> Callable[[str], Awaitable[Mapping[str, Any]]]:
        return lambda serial: script(engine, serial, _listener(options))

    return fan_out.run(options, f"clawperator skills run {options.id}", on_devices)


def _run_remotely(options: Options) -> Answer | int:
    """Run the script that the hosts of a fleet have under this id, on their devices."""
    _refuse(options, ("registry", "skip_validate"), "and --fleet cannot be combined: the host has the skill")
    limit = _script_limit(options)
    from clawperator.app.cli import fan_out

    how = {"wait_ms": options.wait, "backend": options.backend, "allow_unbind": options.allow_unbind or None}
    how |= {"compressed": options.compressed or None}
    flags = [word for flag in options.undeclared.flags.items() for word in flag]

    def on_fleet(engine: Engine, fleet: Fleet) -> Callable[[str], Awaitable[Mapping[str, Any]]]:
        engine.guard.permit("run_skill", f"run the script of {options.id} on a fleet")
        return partial(
            fleet.run_skill,
            options.id,
            args=[*flags, *options.undeclared.words, *options.args],
            timeout_ms=limit,
            expect_contains=options.expect_contains,
            then=options.then,
            **how,
        )

    if options.devices is not None:
        return fan_out.run(options, f"clawperator skills run {options.id}", None, on_fleet)
    from clawperator.engine.executions.outcome import status_of

    found = fan_out.on_one(options, on_fleet)
    return Answer(found, view="skill_runs.skill_run", status=status_of(found))


def _run_script(options: Options) -> Answer:
    script = _script(options)
    from clawperator.app.cli.session import run

    async def use(engine: Engine) -> Mapping[str, Any]:
        printer = _Printer() if options.output == "pretty" else None
        named = engine.settings.serial_of(options.device_id) if options.device_id else None
        work = script(engine, named, printer.take if printer is not None else _listener(options))
        async with printer or nullcontext():
            return await _end_with_session(work)

    try:
        done = run(options, use)
    except EngineError as exc:
        if exc.code is ErrorCode.INTERRUPTED:
            raise _interrupted(options.id) from exc
        if options.output == "pretty":  # it is printed already
            for name in _STREAMED:
                exc.extra.pop(name, None)
        raise
    from clawperator.app.cli.execution import warn

    warn(done.get("warnings", ()), options)
    return Answer(done, view="skill_runs.skill_run")


def _script_limit(options: Options) -> int | None:
    limit = options.timeout_ms
    if limit is not None and not isinstance(limit, int):
        raise EngineError(
            ErrorCode.EXECUTION_VALIDATION_FAILED,
            "timeoutMs of a skill must be a whole number",
            hint="Pass --timeout in milliseconds.",
            details={"path": "timeoutMs"},
        )
    return limit


def _listener(options: Options) -> Callable[[OutputLine], object]:
    """What takes the lines of a script: with ``--verbose``, stderr."""
    from clawperator.app.cli import diagnostics
    from clawperator.engine.progress import unreported

    return (lambda line: diagnostics.note(f"{line.stream}: {line.text}")) if options.verbose else unreported


class _Printer:
    """Prints both streams of a script as they come, without blocking the event loop while the reader pauses.

    Lines beyond the bound are counted, and the count is printed. An interrupt ends the printing.
    """

    def __init__(self) -> None:
        import asyncio

        self._lines: asyncio.Queue[OutputLine | None] = asyncio.Queue()
        self._lost = 0

    def take(self, line: OutputLine) -> None:
        if self._printing.done():  # stdout is closed, which also ends the script
            self._printing.result()
        if self._lines.qsize() >= _MOST_LINES:
            self._lost += 1
        else:
            self._lines.put_nowait(line)

    async def __aenter__(self) -> None:
        import asyncio

        self._printing = asyncio.create_task(self._print(), name="output of the script")

    async def __aexit__(self, kind: type[BaseException] | None, *_: object) -> None:
        import asyncio

        self._lines.put_nowait(None)
        if kind is asyncio.CancelledError:
            self._printing.cancel()
            await asyncio.wait({self._printing})
        else:
            await self._printing

    async def _print(self) -> None:
        from clawperator.app.cli import diagnostics, output

        while (line := await self._lines.get()) is not None:
            text = output.visible(line.text, lines=True)
            if line.stream == "stdout":
                await output.write(f"{text}\n".encode(errors="backslashreplace"))
            else:
                diagnostics.raw(text)
        if self._lost:
            diagnostics.warn(f"{self._lost} lines of the script were not shown: stdout was not read")


async def _end_with_session(work: Coroutine[Any, Any, T]) -> T:
    """Let the script end after a signal; the next signal cancels that."""
    import asyncio

    from clawperator.app.signals import signal_handlers

    task = asyncio.ensure_future(work)
    try:
        return await asyncio.shield(task)
    except asyncio.CancelledError:
        task.cancel()
        with signal_handlers(task.cancel):  # the session has handled the first one
            await asyncio.wait({task})
        if not task.cancelled():
            task.exception()  # retrieved, so that asyncio does not report it
        raise


def _interrupted(skill_id: str) -> EngineError:
    return EngineError(
        ErrorCode.INTERRUPTED,
        "Interrupted: the script and its processes were stopped, but a command already sent to a device may still run",
        hint="Take a snapshot first.",
        extra={"skillId": skill_id},
    )


# -- an artifact


def _play(options: Options) -> Answer | int:
    chosen = registry(options)
    from clawperator.app.cli.execution import answered, artifact_answer, fleet_answer, remotely, run_options
    from clawperator.app.cli.session import run
    from clawperator.engine.skills.artifact import compile_for
    from clawperator.engine.skills.artifact_run import run_artifact

    def compiled(engine: Engine) -> Compiled:
        return compile_for(engine.guard, chosen, options.id, options.artifact, options.vars)

    async def play(engine: Engine, artifact: Compiled, serial: str | None = None) -> ArtifactReport:
        how = {"timeout_ms": options.timeout_ms, "options": run_options(options)}
        return await run_artifact(engine, artifact, device_id=serial, **how)

    def on_devices(engine: Engine) -> Callable[[str], Awaitable[Mapping[str, Any]]]:
        artifact = compiled(engine)

        async def run_one(serial: str) -> Mapping[str, Any]:
            return answered((await play(engine, artifact, serial)).to_dict(), options).document

        return run_one

    def on_fleet(engine: Engine, fleet: Fleet) -> Callable[[str], Awaitable[Mapping[str, Any]]]:
        return remotely(compiled(engine).to_dict(), options)(engine, fleet)

    if options.devices is not None:
        from clawperator.app.cli import fan_out

        return fan_out.run(options, f"clawperator skills run {options.id} {options.artifact}", on_devices, on_fleet)
    if options.fleet is not None:
        return fleet_answer(on_fleet, options)
    return artifact_answer(run(options, lambda engine: play(engine, compiled(engine))), options)
