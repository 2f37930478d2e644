"""Invented screens and executions are imported as ``tests.app.console.support``; importlib mode puts nothing on the path."""

from __future__ import annotations

import sys
from itertools import count
from pathlib import Path
from typing import Any

import pytest
from textual._compositor import Compositor
from textual.widgets import Input

sys.path.insert(0, str(Path(__file__).parents[2]))


@pytest.fixture(autouse=True)
def only_the_picture(monkeypatch: pytest.MonkeyPatch) -> None:
    """Paint one frame in eight, with all that changed since; a picture is painted whole, whatever was painted before."""
    every, numbers = Compositor.render_update, count(1)

    def render_update(self: Compositor, full: bool = False, *more: Any, **named: Any) -> Any:
        return every(self, full, *more, **named) if full or next(numbers) % 8 == 0 else None

    monkeypatch.setattr(Compositor, "render_update", render_update)


@pytest.fixture(autouse=True)
def one_command_id(monkeypatch: pytest.MonkeyPatch) -> None:
    """Ids are made of the time and of chance; pictures are not."""
    for module in ("engine.executions.steps", "app.console.execution.draft_model"):
        monkeypatch.setattr(f"clawperator.{module}.generated_id", lambda name: f"{name}-1700000940000-k3v9x2a")


@pytest.fixture(autouse=True)
def no_blinking(monkeypatch: pytest.MonkeyPatch) -> None:
    """The cursor of a field is there, whenever the picture is taken."""
    monkeypatch.setattr(Input.cursor_blink, "_default", False)
