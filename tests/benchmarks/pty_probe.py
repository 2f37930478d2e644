"""A program on a real terminal, and how long it takes from a key to the frame that shows what the key did.

The program is a child process on a pseudo terminal of its own. A thread drains what it draws and stamps each frame with the
moment its last byte arrived; a frame ends with the end-of-synchronised-update mark, which the program writes because the
probe says, as modern terminals do, that it understands it. A small screen is kept from the frames, so that a sample ends
with the frame in which the effect can be *seen*, not with whatever was drawn next::

    with Probe([sys.executable, "program.py"]) as probe:
        probe.wait_for("ready")
        seconds = probe.key("j", lambda screen: screen.row("▌"))

All instants are of ``time.monotonic``, which processes of one machine share.
"""

from __future__ import annotations

import fcntl
import os
import pty
import re
import signal
import struct
import subprocess
import termios
import threading
import time
from collections import deque
from collections.abc import Callable, Collection, Mapping, Sequence
from types import TracebackType
from typing import Final, Self

from rich.cells import get_character_cell_size

FRAME_END: Final = b"\x1b[?2026l"
SYNC_QUERY: Final = b"\x1b[?2026$p"
SYNC_ANSWER: Final = b"\x1b[?2026;2$y"
QUIT: Final = "\x11"
"""What ``ctrl+q`` sends."""
PATIENCE: Final = 15.0
_TERMINAL: Final = {"TERM": "xterm-256color", "COLORTERM": "truecolor", "LC_ALL": "C.UTF-8", "PYTHONUTF8": "1"}

_NOT_OURS: Final = ("PYTHONDONTWRITEBYTECODE", "PYTHONUNBUFFERED", "COLUMNS", "LINES")
"""A program that is compiled at each start, or writes piece by piece, is not the one that its users have; and readline,
which pytest imports, gives the workers of xdist the size of a terminal that they do not have."""

_PIECES = re.compile(
    r"\x1b\[(?P<arguments>[0-?]*)[ -/]*(?P<command>[@-~])"  # a control sequence
    r"|\x1b[\]PX^_].*?(?:\x07|\x1b\\)"  # a string for the terminal itself
    r"|\x1b[ -/]*[0-~]"  # any other escape
    r"|(?P<control>[\x00-\x1a\x1c-\x1f])"
    r"|(?P<text>[^\x00-\x1f]+)",
    re.DOTALL,
)


class Screen:
    """The characters that a terminal of ``columns`` × ``rows`` cells shows; colours and styles are not kept."""

    def __init__(self, columns: int, rows: int) -> None:
        self.columns, self.rows = columns, rows
        self._cells = [[" "] * columns for _ in range(rows)]
        self._x = self._y = 0
        self.switched = 0
        """How often the program entered and left the alternate screen."""

    def feed(self, output: str) -> None:
        """Draw what a program wrote: text, cursor movement and erasing; the rest changes no character."""
        for piece in _PIECES.finditer(output):
            if text := piece["text"]:
                self._write(text)
            elif control := piece["control"]:
                self._control(control)
            elif command := piece["command"]:
                self._command(command, piece["arguments"])

    def _write(self, text: str) -> None:
        row = self._cells[self._y]
        for character in text:
            width = 1 if character < "\x7f" else get_character_cell_size(character)
            if not width or self._x + width > self.columns:
                continue
            end = self._x + width
            if not row[self._x]:
                row[self._x - 1] = " "  # half of a wide character is none
            if end < self.columns and not row[end]:
                row[end] = " "
            row[self._x : end] = [character, *[""] * (width - 1)]
            self._x = end

    def _control(self, control: str) -> None:
        if control == "\r":
            self._x = 0
        elif control == "\n":
            self._x, self._y = 0, min(self._y + 1, self.rows - 1)
        elif control == "\b":
            self._x = max(0, self._x - 1)

    def _command(self, command: str, arguments: str) -> None:
        if arguments[:1] in {"<", "=", ">", "?"}:
            if arguments == "?1049":  # to or from the alternate screen
                self._clear()
                self.switched += 1
            return  # a mode of the terminal
        numbers = [int(number or 0) for number in arguments.split(";")]
        first = max(1, numbers[0])
        if command in "Hf":
            column = max(1, numbers[1]) if len(numbers) > 1 else 1
            self._x, self._y = min(column, self.columns) - 1, min(first, self.rows) - 1
        elif command == "G":
            self._x = min(first, self.columns) - 1
        elif command in "AB":
            self._y = max(0, min(self.rows - 1, self._y + (first if command == "B" else -first)))
        elif command in "CD":
            self._x = max(0, min(self.columns - 1, self._x + (first if command == "C" else -first)))
        elif command == "K" and not numbers[0]:
            self._cells[self._y][self._x :] = [" "] * (self.columns - self._x)
        elif command == "J" and numbers[0] == 2:
            self._clear()

    def _clear(self) -> None:
        self._cells = [[" "] * self.columns for _ in range(self.rows)]

    def resize(self, columns: int, rows: int) -> None:
        """Cut what does not fit, as terminals do, and add blank cells."""
        kept = [row[:columns] + [" "] * (columns - len(row)) for row in self._cells[:rows]]
        self._cells = kept + [[" "] * columns for _ in range(rows - len(kept))]
        self.columns, self.rows = columns, rows
        self._x, self._y = min(self._x, columns - 1), min(self._y, rows - 1)

    @property
    def lines(self) -> list[str]:
        return ["".join(row) for row in self._cells]

    @property
    def text(self) -> str:
        return "\n".join(self.lines)

    def __contains__(self, words: str) -> bool:
        return any(words in "".join(row) for row in self._cells)

    def row(self, sign: str) -> tuple[int, str]:
        """The first line that holds ``sign``: its number and its text from there on; ``(-1, "")`` when there is none."""
        for number, line in enumerate(self.lines):
            if (at := line.find(sign)) >= 0:
                return number, line[at:]
        return -1, ""


class Probe:
    """Context manager: ``argv`` runs on a terminal of ``size`` (columns, rows) inside it, and is asked to quit at its end.

    ``env`` is laid over this process's environment. A program that does not end within some seconds of ``QUIT`` is killed,
    and that is an error, as is one that ends with another exit code than 0.
    """

    def __init__(
        self,
        argv: Sequence[str],
        size: tuple[int, int] = (200, 60),
        env: Mapping[str, str] | None = None,
        pass_fds: Collection[int] = (),
        patience: float = PATIENCE,
    ) -> None:
        self._patience = patience
        self.screen = Screen(*size)
        self.started = 0.0
        self._argv, self._pass_fds = list(argv), pass_fds
        self._env = {**os.environ, **_TERMINAL, **(env or {})}
        for name in _NOT_OURS:
            self._env.pop(name, None)
        self._frames: deque[tuple[float, bytes]] = deque()
        self._news = threading.Condition()
        self._ended = False
        self._shown_at = 0.0
        self.received = 0
        """Bytes that the program has written."""

    # -- life

    def __enter__(self) -> Self:
        self._terminal, program_side = pty.openpty()
        try:
            size = struct.pack("HHHH", self.screen.rows, self.screen.columns, 0, 0)
            fcntl.ioctl(program_side, termios.TIOCSWINSZ, size)
            self.started = time.monotonic()
            self._process = subprocess.Popen(
                self._argv,
                stdin=program_side,
                stdout=program_side,
                stderr=program_side,
                env=self._env,
                pass_fds=self._pass_fds,
                start_new_session=True,
            )
        except BaseException:
            os.close(self._terminal)
            raise
        finally:
            os.close(program_side)
        self._drain = threading.Thread(target=self._read, name="terminal")
        self._drain.start()
        return self

    def __exit__(
        self, exc_type: type[BaseException] | None, exc: BaseException | None, traceback: TracebackType | None
    ) -> None:
        try:
            code = self._quit()
        finally:
            self._drain.join()  # ends with the last writer to the terminal, which is the program
            os.close(self._terminal)
        assert exc is not None or code == 0, f"the program ended with {code}\n{self.screen.text}"

    def _quit(self) -> int:
        try:
            self.write(QUIT)
            return self._process.wait(self._patience)
        except (OSError, subprocess.TimeoutExpired):
            self._process.kill()
            return self._process.wait()

    def _read(self) -> None:
        """Drain the terminal until nobody holds its other side; runs in a thread."""
        pending = bytearray()
        while True:
            try:
                data = os.read(self._terminal, 1 << 16)
            except OSError:  # EIO: how Linux says that the other side is closed
                data = b""
            now = time.monotonic()
            pending += data
            self.received += len(data)
            if SYNC_QUERY in data:
                os.write(self._terminal, SYNC_ANSWER)
            end = pending.rfind(FRAME_END) + len(FRAME_END) if data else len(pending)
            with self._news:
                self._ended = not data
                if end >= len(FRAME_END) or not data:
                    self._frames.append((now, bytes(pending[:end])))
                    del pending[:end]
                self._news.notify()
            if not data:
                return

    @property
    def cpu_seconds(self) -> float:
        """The CPU that the program has used; to the nanosecond, unlike ``/proc``'s hundredths (``clock_getcpuclockid(3)``)."""
        return time.clock_gettime((~self._process.pid << 3) | 2)

    # -- what happens on the terminal

    def write(self, keys: str) -> float:
        """Send what a terminal sends for some keys; the instant just before."""
        now = time.monotonic()
        os.write(self._terminal, keys.encode())
        return now

    def key(self, keys: str, look: Callable[[Screen], object]) -> float:
        """Seconds from writing ``keys`` to the end of the first frame after it in which ``look`` sees something else.

        Raises ``AssertionError`` with the screen when no frame shows that in time.
        """
        self._take_waiting()
        before = look(self.screen)
        sent = self.write(keys)
        deadline = sent + self._patience
        while self._next_frame(deadline):
            seen = look(self.screen)
            if self._shown_at <= sent:
                before = seen
            elif seen != before:
                return self._shown_at - sent
        raise AssertionError(f"no frame showed what {keys!r} did\n{self.screen.text}")

    def resize(self, columns: int, rows: int) -> None:
        """Change the size of the terminal, and tell the program."""
        self._take_waiting()
        self.screen.resize(columns, rows)
        fcntl.ioctl(self._terminal, termios.TIOCSWINSZ, struct.pack("HHHH", rows, columns, 0, 0))
        self._process.send_signal(signal.SIGWINCH)  # it has no controlling terminal, which would send it

    def suspend_and_continue(self, keys: str) -> None:
        """Send the keys that suspend the program, wait until it is, and continue it, as ``fg`` does."""
        self.write(keys)
        _, status = os.waitpid(self._process.pid, os.WUNTRACED)
        assert os.WIFSTOPPED(status), status
        self._process.send_signal(signal.SIGCONT)

    def wait_for(self, what: str | Callable[[Screen], object]) -> float:
        """Wait until the screen holds a text, or a predicate holds of the screen.

        The instant at which the frame arrived that made it so: of the newest frame where it holds already. Raises
        ``AssertionError`` with the screen when it does not come true in time, or when the program has ended.
        """
        holds = what if callable(what) else lambda screen: what in screen
        deadline = time.monotonic() + self._patience
        self._take_waiting()
        while not holds(self.screen):
            if not self._next_frame(deadline):
                raise AssertionError(f"never shown: {what}\n{self.screen.text}")
        return self._shown_at

    def pause(self, seconds: float) -> None:
        """Let the program be for a while, as somebody who types does between keys."""
        time.sleep(seconds)
        self._take_waiting()

    def _next_frame(self, deadline: float) -> bool:
        """Draw the next frame, waiting for it; false when none comes any more."""
        with self._news:
            while not self._frames:
                if self._ended or not self._news.wait(deadline - time.monotonic()):
                    return False
            self._shown_at, frame = self._frames.popleft()
        self.screen.feed(frame.decode("utf-8", "replace"))
        return True

    def _take_waiting(self) -> None:
        while self._frames:
            self._next_frame(0.0)
