"""From Markdown to blocks: what is a step is what a reader sees as one, and every line number is right."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from clawperator.engine.errors import EngineError
from clawperator.engine.skills.recipe.source import MAX_RECIPE_BYTES, Source, read_source
from tests.support import table

HEAD = "---\na: 1\n---\n"
STEP = "## Step 1\n```yaml\nid: x\n```\n"


def refusal(text: str) -> EngineError:
    with pytest.raises(EngineError) as caught:
        read_source(text, "a.recipe.md")
    error = caught.value
    assert error.details["file"] == "a.recipe.md"
    assert error.details["reason"]
    return error


def attempt(text: str) -> Source | EngineError:
    try:
        return read_source(text)
    except EngineError as exc:
        return exc


def test_blocks_with_their_lines() -> None:
    text = "---\na: 1\nb:\n  - c: 2\n---\n# Title\n\nProse\n\n## Step 1: look\n\nWhy.\n\n```yaml\nid: x\nselector:\n  y: 1\n```\n"
    source = read_source(text, "f.md")
    assert source.frontmatter.value == {"a": 1, "b": [{"c": 2}]}
    assert source.frontmatter.line == 2
    assert source.frontmatter.line_of("b", 0, "c") == 4
    ((heading, block),) = source.steps
    assert heading == "Step 1: look"
    assert block.line == 15
    assert block.line_of("selector", "y") == 17
    assert block.line_of("selector", "nothing", 3) == 16, "the nearest one around it"
    assert block.line_of("nothing") == 15
    assert (source.file, source.stray, source.text) == ("f.md", (), text)


@pytest.mark.parametrize("end", ["\r\n", "\r"])
def test_other_line_ends_change_nothing(end: str) -> None:
    source = read_source((HEAD + STEP).replace("\n", end))
    assert source.steps[0][1].value == {"id": "x"}
    assert source.steps[0][1].line == 6


def test_a_byte_order_mark_is_skipped() -> None:
    assert read_source("\ufeff" + HEAD + STEP).frontmatter.value == {"a": 1}


@table(
    ("heading", "is_step"),
    [
        ("## Step 1", True),
        ("## step: two", True),
        ("##   STEP", True),
        ("## **Step** 1", True),
        ("## Steps", True),
        ("Step 1\n------", True),
        ("   ## Step 1 ##", True),
        ("# Step 1", False),
        ("### Step 1", False),
        ("##Step 1", False),
        ("## A Step", False),
        ("    ## Step 1", False),
        ("> ## Step 1", False),
        ("- ## Step 1", False),
        ("<!--\n## Step 1\n-->", False),
        ("<div>\n## Step 1\n</div>\n", False),
        ("```\n## Step 1\n```", False),
    ],
)
def test_what_is_a_step(heading: str, is_step: bool) -> None:
    """The other fence then belongs to nobody, and is said to be stray."""
    source = read_source(f"{HEAD}{STEP}\n## Other\n\n{heading}\n\n```yaml\nid: y\n```\n")
    assert [block.value["id"] for _, block in source.steps] == ["x", "y"][: 1 + is_step]
    assert len(source.stray) == 1 - is_step


@table(
    ("fence", "counts"),
    [
        ("```yaml\nid: y\n```", True),
        ("~~~yaml\nid: y\n~~~", True),
        ("````yaml\nid: y\n````", True),
        ("  ```  yaml\n  id: y\n  ```", True),
        ("```yml\nid: y\n```", False),
        ("```yaml title\nid: y\n```", False),
        ("```json\n{}\n```", False),
        ("    ```yaml\n    id: y\n    ```", False),
    ],
)
def test_what_is_a_block(fence: str, counts: bool) -> None:
    text = f"{HEAD}## Step 1\n{fence}\n"
    if counts:
        assert read_source(text).steps[0][1].value == {"id": "y"}
    else:
        assert "has no block" in refusal(text).details["reason"]


def test_yaml_elsewhere_is_stray() -> None:
    text = f"{HEAD}```yaml\nid: no\n```\n\n{STEP}\n> ```yaml\n> id: quoted\n> ```\n\n## Notes\n\n```yaml\nid: no\n```\n"
    source = read_source(text)
    assert source.stray == (4, 13, 19)
    assert len(source.steps) == 1


def test_a_block_with_a_fence_inside() -> None:
    text = f"{HEAD}## Step 1\n````yaml\nid: |\n  ```\n  ## Step 2\n  ```\n````\n"
    assert read_source(text).steps[0][1].value == {"id": "```\n## Step 2\n```\n"}


@table(
    ("text", "line", "said"),
    [
        ("", 1, "no front matter"),
        ("a: 1\n---\n", 1, "no front matter"),
        ("\n---\na: 1\n---\n", 1, "no front matter"),
        ("---\na: 1\n", 1, "no closing"),
        (f"---\na: [\n---\n{STEP}", 2, "the front matter: "),
        (f"---\na: 1\na: 2\n---\n{STEP}", 3, "duplicate"),
        (f"---\na: 1\nb: *c\n---\n{STEP}", 3, "anchors"),
        (f"---\n- a\n---\n{STEP}", 2, "not a mapping"),
        (f"---\n---\n{STEP}", 2, "not a mapping"),
        (f"{HEAD}\nProse.\n", 6, "no step"),
        (f"{HEAD}## Step 1\n\nProse.\n## Next\n```yaml\nid: x\n```\n", 4, "has no block"),
        (f"{HEAD}{STEP}\n```yaml\nid: y\n```\n", 9, "more than one"),
        (f"{HEAD}## Step 1\n```yaml\nid: x\nid: y\n```\n", 7, "the block of 'Step 1': the key 'id' is a duplicate"),
        (f"{HEAD}## Step 1\n```yaml\n- x\n```\n", 6, "not a mapping"),
        (f"{HEAD}## Step 1\n```yaml\n```\n", 6, "not a mapping"),
        (f"{HEAD}{STEP}## Step 2\n```yaml\nid: y\n", 9, "not closed"),
        (f"{HEAD}{STEP}\n```\n", 9, "not closed"),
        (f"{HEAD}{STEP}\n~~~~ yaml\n~~~", 9, "not closed"),
        (f"{HEAD}```\n{STEP}", 4, "a fence begins inside this one"),
        (f"{HEAD}{STEP}\n~~~\n~~~~ yaml\n~~~\n", 9, "use more characters for it (line 10)"),
        (f"{HEAD}{STEP}\nx\0\n", 9, "NUL"),
    ],
)
def test_what_cannot_be_read(text: str, line: int, said: str) -> None:
    error = refusal(text)
    assert error.code == "RECIPE_PARSE_FAILED"
    assert (error.details["line"], said in error.details["reason"]) == (line, True), error.details
    assert error.message == f"a.recipe.md:{line}: {error.details['reason']}"
    assert error.hint


def test_limits() -> None:
    error = refusal(HEAD + "é" * (MAX_RECIPE_BYTES // 2))
    assert error.code == "RECIPE_LIMIT_EXCEEDED"
    assert (error.details["limit"], error.details["actual"]) == (MAX_RECIPE_BYTES, MAX_RECIPE_BYTES + len(HEAD))
    error = refusal(HEAD + STEP * 51)
    assert error.code == "RECIPE_LIMIT_EXCEEDED"
    assert (error.details["limit"], error.details["actual"], error.details["line"]) == (50, 51, 204)
    assert len(read_source(HEAD + STEP * 50).steps) == 50


_LINES = st.sampled_from(
    [
        "## Step",
        "```yaml",
        "```",
        "~~~",
        "id: x",
        "- a",
        "> b",
        "---",
        "<!--",
        "-->",
        "  ",
        "",
        "    c",
        "\t",
        "Step",
        "===",
    ]
)


@given(st.lists(_LINES, max_size=25).map("\n".join))
def test_any_markdown_is_read_or_refused_with_its_line(body: str) -> None:
    text = HEAD + body
    source = attempt(text)
    if isinstance(source, EngineError):
        assert source.code in ("RECIPE_PARSE_FAILED", "RECIPE_LIMIT_EXCEEDED")
        assert 1 <= source.details["line"] <= text.count("\n") + 2
        return
    lines = text.split("\n")
    for heading, block in source.steps:
        assert heading.lower().startswith("step")
        assert lines[block.line - 2].strip().endswith("yaml")
        assert lines[block.line_of("id") - 1].strip() == "id: x"
