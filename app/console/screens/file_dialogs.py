"""Ask for a file, and save a text to it."""

from __future__ import annotations

import asyncio
from collections.abc import Callable
from pathlib import Path

from clawperator.app.console.console import Console
from clawperator.app.console.screens.forms import Form, QuestionDialog, not_blank
from clawperator.app.console.screens.menu import ask
from clawperator.app.console.text_files import save_as
from clawperator.engine.errors import EngineError
from clawperator.widgets.format.lines import sentence
from clawperator.widgets.models.status import Status


def ask_path(console: Console, title: str, go: str, path: str, then: Callable[[str], object]) -> None:
    """Ask for a path, beginning with ``path``; ``go`` is the label of ⏎, ``then`` gets the answer."""
    ask(console, Form(title, "File:", not_blank("Enter a file name."), go=go, value=path), then)


def save_text(
    console: Console, title: str, path: str, text: str, saved: Callable[[str, Path], object], *, named: bool = False
) -> None:
    """Ask for a path and write ``text`` there; ``saved`` gets the path as given and as written.

    ``named``: replace the file at ``path`` without asking.
    """

    def write(chosen: str, *, overwrite: bool = False) -> None:
        console.run_worker(_write(chosen, overwrite), exit_on_error=True)

    async def _write(chosen: str, overwrite: bool) -> None:
        try:
            written = await asyncio.to_thread(save_as, Path(chosen), text, guard=console.guard, overwrite=overwrite)
        except EngineError as exc:
            console.say(Status.FAILED, exc.message, exc.code.value)
        except FileExistsError:
            question = f"{sentence(chosen)} exists. Its content would be lost."
            dialog = QuestionDialog("overwrite a file", question, "overwrite")
            ask(console, dialog, lambda _: write(chosen, overwrite=True))
        except (OSError, ValueError, RuntimeError) as exc:
            console.say(Status.FAILED, f"{sentence(chosen)} was not saved: {reason_of(exc)}")
        else:
            saved(chosen, written)

    if named:
        write(path, overwrite=True)
    else:
        ask_path(console, title, "save", path, write)


def reason_of(exc: Exception) -> str:
    """Return why a file could not be read or written."""
    return getattr(exc, "strerror", None) or str(exc) or type(exc).__name__
