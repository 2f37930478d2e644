"""The device's ``/system/bin/sh``: runs scripts parsed by ``shell_syntax``.

What it supports has real quoting, streams and exit codes; anything else fails as in a real shell. Closing a service's
stream cancels the shell's task, and with it every running command.
"""

from __future__ import annotations

import asyncio
import posixpath
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import replace
from typing import Final

from clawperator.engine.simulator import shell_tree as tree
from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.expansion import Expander
from clawperator.engine.simulator.filesystem import SHELL_UID
from clawperator.engine.simulator.process import SHELL, Command, Process, decode, encode
from clawperator.engine.simulator.redirections import RedirectionError, redirected
from clawperator.engine.simulator.shell_builtins import BUILTINS, MAX_NESTING, LoopBreak, ShellExit
from clawperator.engine.simulator.shell_syntax import ShellSyntaxError, parse
from clawperator.engine.simulator.streams import Collector, Pipe, Streams

PATH: Final = ("/system/bin", "/system/xbin", "/vendor/bin", "/bin")
MAX_ARGUMENT: Final = 131_071
"""Bytes in one argument of a program (android-facts 6d); what the shell does itself has no such limit."""
SIGPIPE: Final = 141

_SERVICES = {
    "am": "activity",
    "cmd": "activity",
    "ime": "input_method",
    "input": "input",
    "pm": "package",
    "settings": "settings",
    "uiautomator": "accessibility",
    "wm": "window",
}
"""What programs ask, which is not there while Android starts."""
_BLOCKED = (
    "\nException occurred while executing 'tap':\n"
    "java.lang.SecurityException: Injecting input events requires the caller (or the source of the instrumentation, if any) to have "
    "the INJECT_EVENTS permission.\n\tat com.android.server.input.InputManagerService.injectInputEventToTarget(InputManagerService.java:716)"
)


class Shell:
    """One shell process. Variables live as long as the object; ``status`` is the last exit code."""

    def __init__(
        self,
        device: SimulatedDevice,
        streams: Streams,
        commands: Mapping[str, Command],
        *,
        uid: int = SHELL_UID,
        tty: bool = False,
        parameters: Sequence[str] = (SHELL,),
        nesting: int = 0,
    ) -> None:
        self.device = device
        self.streams = streams
        self.commands = commands
        self.uid = uid
        self.tty = tty
        self.cwd = "/"
        self.status = 0
        self.left = False
        """Whether ``exit`` (or ``exec``) has ended the shell."""
        self.pid = device.new_pid()
        self.command_line = SHELL
        """As ``ps`` lists it."""
        self.parameters = list(parameters)
        self.variables = {"PATH": ":".join(PATH), "HOME": "/", "USER": "shell", "SHELL": "/bin/sh", "TERM": "dumb"}
        self.nesting = nesting
        self._substituted = 0
        """The exit code of the last command substitution: that of an assignment alone."""

    # -- scripts

    async def run(self, script: str) -> int:
        """Run a script and return its exit code."""
        self.command_line = f"{SHELL} -c {script}"
        return await self._to_the_end(lambda: self._text(script))

    async def run_input(self) -> int:
        """Run what comes from standard input, each command as soon as it is complete."""
        return await self._to_the_end(self._lines)

    async def _to_the_end(self, work: Callable[[], Awaitable[None]]) -> int:
        if self.nesting > MAX_NESTING:
            await self.report("recursion too deep")
            return 1
        await self.contained(work)
        return self.status

    async def contained(self, work: Callable[[], Awaitable[None]]) -> None:
        """Run ``work`` so that ``exit`` or a failed expansion ends it and nothing around it."""
        try:
            await work()
        except ShellExit as leave:
            self.status, self.left = leave.status, True
        except LoopBreak:
            pass
        except CommandError as exc:
            await self.streams.stderr.write(encode(f"{exc.message}\n"))
            self.status = exc.status
        except ShellSyntaxError as exc:
            await self.report(str(exc))
            self.status = 1

    async def _text(self, script: str) -> None:
        await self.run_script(parse(script), self.streams)

    async def _lines(self) -> None:
        text = ""
        while line := await self.streams.stdin.line():
            text += decode(line)
            try:
                script = parse(text)
            except ShellSyntaxError as exc:
                if exc.incomplete:
                    continue
                raise
            text = ""
            await self.run_script(script, self.streams)
        await self._text(text)  # complete, or the source of the error message

    async def report(self, message: str) -> None:
        await self.streams.stderr.write(encode(f"{SHELL}: {message}\n"))

    def child(self, process: Process, parameters: Sequence[str] | None) -> Shell:
        """A new shell, started by ``process``: ``sh``."""
        child = Shell(
            self.device,
            process.streams,
            self.commands,
            uid=process.uid,
            tty=self.tty,
            parameters=parameters or (SHELL,),
            nesting=self.nesting + 1,
        )
        child.variables |= process.variables
        child.cwd = self.cwd
        return child

    def _fork(self, streams: Streams) -> Shell:
        """A subshell: its own variables."""
        child = Shell(
            self.device,
            streams,
            self.commands,
            uid=self.uid,
            tty=self.tty,
            parameters=self.parameters,
            nesting=self.nesting,
        )
        child.variables |= self.variables
        child.cwd, child.status, child.pid, child.command_line = self.cwd, self.status, self.pid, self.command_line
        return child

    async def _isolated(self, command: tree.Command | tree.Script, streams: Streams) -> int:
        """Run in a subshell."""
        child = self._fork(streams)

        async def work() -> None:
            if isinstance(command, tuple):
                await child.run_script(command, streams)
            else:
                child.status = await child.run_command(command, streams)

        await child.contained(work)
        return child.status

    # -- lists and compound commands

    async def run_script(self, script: tree.Script, streams: Streams) -> None:
        for item in script:
            await self._item(item, streams)

    async def _item(self, item: tree.Item, streams: Streams) -> None:
        for connector, pipeline in item:
            if (connector == "&&" and self.status) or (connector == "||" and not self.status):
                continue
            status = await self._pipeline(pipeline.commands, streams)
            self.status = int(not status) if pipeline.negated else status

    async def _pipeline(self, commands: tuple[tree.Command, ...], streams: Streams) -> int:
        if len(commands) == 1:
            return await self.run_command(commands[0], streams)
        async with asyncio.TaskGroup() as group:
            before: Pipe | None = None
            for command in commands[:-1]:
                after = Pipe()
                stage = self._stage(command, replace(streams, stdout=after), before, after)
                group.create_task(stage, name="pipeline stage")
                streams, before = replace(streams, stdin=after.input), after
            last = group.create_task(self._stage(commands[-1], streams, before, None), name="pipeline stage")
        return last.result()

    async def _stage(self, command: tree.Command, streams: Streams, before: Pipe | None, after: Pipe | None) -> int:
        try:
            return await self._isolated(command, streams)
        finally:
            if before is not None:
                before.abandon()
            if after is not None:
                after.close()

    async def run_command(self, command: tree.Command, streams: Streams) -> int:
        """One command's exit code. A redirection that fails is the command's failure, not the shell's."""
        try:
            if isinstance(command, tree.Simple):
                return await self._simple(command, streams)
            return await self._compound(
                command, await redirected(self, command.redirects, streams, self._expander().text)
            )
        except RedirectionError as exc:
            await streams.stderr.write(encode(f"{exc.message}\n"))
            return exc.status

    async def _compound(self, command: tree.Group | tree.If | tree.For | tree.While, streams: Streams) -> int:
        if isinstance(command, tree.If):
            return await self._if(command, streams)
        if isinstance(command, tree.For):
            return await self._for(command, streams)
        if isinstance(command, tree.While):
            return await self._while(command, streams)
        if command.subshell:
            return await self._isolated(command.body, streams)
        await self.run_script(command.body, streams)
        return self.status

    async def _if(self, command: tree.If, streams: Streams) -> int:
        chosen = command.otherwise
        for condition, body in command.branches:
            await self.run_script(condition, streams)
            if self.status == 0:
                chosen = body
                break
        self.status = 0
        await self.run_script(chosen, streams)
        return self.status

    async def _for(self, command: tree.For, streams: Streams) -> int:
        values = await self._expander().fields(command.words)
        self.status = 0
        for value in values:
            self.variables[command.name] = value
            if not await self._iteration(command.body, streams):
                break
        return self.status

    async def _while(self, command: tree.While, streams: Streams) -> int:
        status = 0
        while True:
            await self.run_script(command.condition, streams)
            if (self.status == 0) == command.until:
                return status
            self.status = 0
            if not await self._iteration(command.body, streams):
                return self.status
            status = self.status

    async def _iteration(self, body: tree.Script, streams: Streams) -> bool:
        """One turn of a loop; whether another may follow."""
        await asyncio.sleep(0)  # a loop of built-in commands alone would block the event loop
        try:
            await self.run_script(body, streams)
        except LoopBreak:
            return False
        return True

    # -- simple commands

    async def _simple(self, command: tree.Simple, streams: Streams) -> int:
        expander = self._expander()
        status, self._substituted = self.status, 0
        assigned = {name: await expander.text(value) for name, value in command.assignments}
        substituted, self.status = self._substituted, status
        argv = await expander.fields(command.words)
        streams = await redirected(self, command.redirects, streams, self._expander().text)
        if not argv:
            self._assign(assigned)
            return substituted
        builtin = BUILTINS.get(argv[0])
        if builtin is not None:
            self._assign(assigned)
            return await builtin(self, argv, streams)
        return await self.execute(argv, streams, {**self.variables, **assigned})

    def _assign(self, values: Mapping[str, str]) -> None:
        for name, value in values.items():
            plain = name.removesuffix("+")
            self.variables[plain] = self.variables.get(plain, "") + value if plain != name else value

    async def execute(
        self,
        argv: Sequence[str],
        streams: Streams,
        variables: Mapping[str, str] | None = None,
    ) -> int:
        """Run a program (never a built-in) and return its exit code, whatever goes wrong in it."""
        command = self.find(argv[0])
        if command is None:
            missing = "inaccessible or not found" if self.device.sdk >= 29 else "not found"
            await streams.stderr.write(encode(f"{SHELL}: {argv[0]}: {missing}\n"))
            return 127
        if any(len(encode(argument)) > MAX_ARGUMENT for argument in argv):
            await streams.stderr.write(encode(f"{SHELL}: {argv[0]}: Argument list too long\n"))
            return 126
        process = Process(
            argv=argv,
            device=self.device,
            shell=self,
            streams=streams,
            variables=self.variables if variables is None else variables,
            uid=self.uid,
        )
        try:
            return await self._subject_to_faults(command, process)
        except CommandError as exc:
            if exc.message:
                await process.error(exc.message)
            return exc.status
        except BrokenPipeError:
            raise ShellExit(SIGPIPE) from None  # the loop around it would never end
        except OSError as exc:
            if exc.filename is None:
                raise
            await process.complain(f"{exc.filename}: {exc.strerror}")
            return 1

    async def _subject_to_faults(self, command: Command, process: Process) -> int:
        if process.name in _SERVICES and self.device.props.get("sys.boot_completed") != "1":
            raise CommandError(f"cmd: Can't find service: {_SERVICES[process.name]}", 20)
        fault = self.device.calls(process.name)
        if fault == "reboot":
            self.device.reboot()
        if fault in ("killed", "reboot"):
            raise CommandError("Killed", 137)
        if fault == "blocked":
            raise CommandError(_BLOCKED, 255)
        if fault == "missing":
            raise CommandError(f"{SHELL}: {process.name}: inaccessible or not found", 127)
        status = await command(process)
        if fault == "rotate":
            self.device.ui.turn()
        return status

    def find(self, name: str) -> Command | None:
        """The program that ``name`` means, looked up in PATH or by its full path."""
        folder, base = posixpath.split(name)
        return self.commands.get(base) if not folder or folder in PATH else None

    # -- expansion

    def _expander(self) -> Expander:
        return Expander(self, self.device.files, self.uid)

    def special(self, name: str) -> str | None:
        """Parameters that the shell computes; None for every other name."""
        if name.isdigit():
            position = int(name) if len(name) < 6 else len(self.parameters)
            return self.parameters[position] if position < len(self.parameters) else None
        if name == "EPOCHREALTIME":
            seconds, nanoseconds = divmod(self.device.log.now_ns(), 1_000_000_000)
            return f"{seconds}.{nanoseconds // 1000:06d}"
        values: dict[str, Callable[[], object]] = {
            "?": lambda: self.status,
            "$": lambda: self.pid,
            "PWD": lambda: self.cwd,
        }
        return str(values[name]()) if name in values else None

    async def substitute(self, body: tree.Script) -> str:
        collected = Collector()
        self.status = self._substituted = await self._isolated(body, replace(self.streams, stdout=collected))
        return decode(bytes(collected.data).replace(b"\0", b""))
