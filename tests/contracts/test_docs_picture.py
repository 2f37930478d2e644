"""The picture in README and documents shows this console, not an older one."""

from __future__ import annotations

import importlib.util
from pathlib import Path

PICTURE = Path(__file__).parents[2] / "docs" / "picture.py"


async def test_the_picture_has_the_layout_of_this_console() -> None:
    spec = importlib.util.spec_from_file_location("docs_picture", PICTURE)
    assert spec is not None
    assert spec.loader is not None
    picture = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(picture)
    _, drawn = await picture.draw()
    assert picture.stored_layout().splitlines() == drawn.splitlines(), "run: python docs/picture.py"
