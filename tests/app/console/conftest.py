"""Shared fakes are imported as ``tests.app.console.support``; importlib mode puts nothing on the path by itself."""

from __future__ import annotations

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[3]))
