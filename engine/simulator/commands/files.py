"""File commands of toybox, as far as host tools use them."""

from __future__ import annotations

import posixpath
import stat as modes
from collections.abc import Awaitable, Callable
from datetime import datetime
from typing import Final

from clawperator.engine.simulator.command_error import CommandError
from clawperator.engine.simulator.commands.logs import time_zone
from clawperator.engine.simulator.filesystem import Stat, user_name
from clawperator.engine.simulator.process import Command, Process


async def cat(process: Process) -> int:
    _, names = process.options("uetv")

    async def show(name: str) -> None:
        if name == "-":
            while piece := await process.stdin.read():
                await process.stdout.write(piece)
        else:
            await process.stdout.write(process.read(name))

    return await _each(process, names or ["-"], show)


async def ls(process: Process) -> int:
    """``ls [-ald] [PATHS]``; always one name per line, as without a terminal."""
    options, names = process.options("1ald")

    async def show(name: str) -> None:
        info = process.device.files.stat(
            process.path(name), follow="l" not in options or name.endswith("/"), uid=process.uid
        )
        if not info.is_dir or "d" in options:
            await process.out(_row(process, name, name, info, options))
            return
        if len(names) > 1:
            await process.out(f"{name}:\n")
        await _folder(process, name, options)

    return await _each(process, names or ["."], show)


async def _folder(process: Process, name: str, options: dict[str, str]) -> None:
    files, path = process.device.files, process.path(name)
    children = [each for each in files.list(path, uid=process.uid) if not each.startswith(".") or "a" in options]
    infos = {each: files.stat(posixpath.join(path, each), follow=False) for each in children}
    if "a" in options:
        infos = {".": files.stat(path), "..": files.stat(posixpath.dirname(path)), **infos}
    if "l" in options:
        await process.out(f"total {sum(-(-info.size // 4096) * 4 for info in infos.values())}\n")
    for each, info in infos.items():
        await process.out(_row(process, each, posixpath.join(path, each), info, options))


def _row(process: Process, name: str, path: str, info: Stat, options: dict[str, str]) -> str:
    if "l" not in options:
        return f"{name}\n"
    stamp = datetime.fromtimestamp(info.mtime, time_zone(process)).strftime("%Y-%m-%d %H:%M")
    owner, group = user_name(info.uid), user_name(info.gid)
    link = f" -> {process.device.files.readlink(process.path(path))}" if info.is_link else ""
    return (
        f"{modes.filemode(info.mode)} {2 if info.is_dir else 1} {owner} {group} {info.size:>8} {stamp} {name}{link}\n"
    )


async def rm(process: Process) -> int:
    options, names = process.options("frRiv")
    recursive = bool({"r", "R"} & options.keys())

    async def remove(name: str) -> None:
        try:
            process.device.files.remove(process.path(name), recursive=recursive, uid=process.uid)
        except FileNotFoundError:
            if "f" not in options:
                raise

    if not names and "f" not in options:
        raise CommandError('rm: Needs 1 argument (see "rm --help")')
    return await _each(process, names, remove)


async def mkdir(process: Process) -> int:
    options, names = process.options("p")

    async def make(name: str) -> None:
        process.device.files.mkdir(process.path(name), parents="p" in options, uid=process.uid)

    return await _each(process, process.require(names), make)


async def stat(process: Process) -> int:
    """``stat -c FORMAT PATHS``."""
    options, names = process.options("c:")

    async def one(name: str) -> None:
        info = process.device.files.stat(process.path(name), follow=False, uid=process.uid)
        values = {
            "%n": name,
            "%s": info.size,
            "%F": "directory" if info.is_dir else "symbolic link" if info.is_link else "regular file",
            "%a": f"{modes.S_IMODE(info.mode):o}",
            "%u": info.uid,
            "%U": user_name(info.uid),
        }
        text = options.get("c", "%n")
        for key, value in values.items():
            text = text.replace(key, str(value))
        await process.out(f"{text}\n")

    return await _each(process, process.require(names), one)


async def _each(process: Process, names: list[str], action: Callable[[str], Awaitable[None]]) -> int:
    """Call ``action`` for every name; report failures and continue, as toybox does."""
    status = 0
    for name in names:
        try:
            await action(name)
        except BrokenPipeError:
            raise
        except OSError as exc:
            await process.complain(f"{name}: {exc.strerror}")
            status = 1
        except CommandError as exc:
            await process.error(exc.message)
            status = exc.status
    return status


FILES: Final[dict[str, Command]] = {
    "cat": cat,
    "ls": ls,
    "mkdir": mkdir,
    "rm": rm,
    "stat": stat,
}
