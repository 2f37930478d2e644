"""The names that Textual does not document are there and mean what the console takes them for."""

from __future__ import annotations

import ast
from pathlib import Path

import pytest
from textual.app import App
from textual.cache import LRUCache
from textual.css.stylesheet import Stylesheet

import clawperator.app.console
from clawperator.app.console import textual_internals
from clawperator.app.console.textual_internals import INTERNALS, CachedStylesheet, FilteringScreen, bind_key

ON_OBJECTS = {"_parse_cache", "_variables", "_exception", "_exit_renderables", "_bindings"}
"""Attributes that a constructor sets."""


@pytest.mark.parametrize(("owner", "name"), [(owner, name) for owner, name, _ in INTERNALS])
def test_textual_still_has_it(owner: type, name: str) -> None:
    if name in ON_OBJECTS:
        made = Stylesheet(variables={}) if owner is Stylesheet else App[int]()
        assert hasattr(made, name), f"{owner.__name__} has no {name}"
    else:
        assert hasattr(owner, name), f"{owner.__name__} has no {name}"


def test_the_cache_of_a_stylesheet_is_shared_and_is_what_textual_uses() -> None:
    one, other = CachedStylesheet(variables={"a": "red"}), CachedStylesheet(variables={"a": "red"})
    assert isinstance(one._parse_cache, LRUCache)
    assert one._parse_cache is other._parse_cache
    one.add_source("Label { color: $a; }", read_from=("here", ""))
    one.parse()
    assert len(other._parse_cache) == 1


def test_keys_are_bound_on_one_screen_only() -> None:
    class Asking(FilteringScreen):
        pass

    one, other = Asking(), Asking()
    bind_key(one, "t", "pick('tap')", "tap")
    assert "t" in one._bindings.key_to_bindings
    assert "t" not in other._bindings.key_to_bindings


def test_no_other_module_of_the_console_uses_names_of_textual_with_an_underscore() -> None:
    """Private modules; attributes of other objects; overrides are listed by hand in INTERNALS."""
    used: list[str] = []
    root = Path(clawperator.app.console.__file__).parent
    private = {name for _, name, _ in INTERNALS if name.startswith("_")} - {"_variables"}
    for path in root.rglob("*.py"):
        if path == Path(textual_internals.__file__):
            continue
        for node in ast.walk(ast.parse(path.read_text())):
            if isinstance(node, ast.ImportFrom) and (node.module or "").startswith("textual._"):
                used.append(f"{path.name}: {node.module}")
            elif isinstance(node, ast.Attribute) and node.attr in private and not isinstance(node.ctx, ast.Store):
                used.append(f"{path.name}:{node.lineno}: {node.attr}")
            elif isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef) and node.name in private:
                used.append(f"{path.name}:{node.lineno}: {node.name}")
    assert used == []
