#!/usr/bin/env python3
"""Reads posts of the feed from the top, page by page.

    read_posts.py [device-id] [--count <n>]

A page ends where the screen does, so the last post of one may be cut off and come again on the next: posts are identified by
their number, and one without a text is left for the next page.
"""

from __future__ import annotations

import argparse
import json
import os
import shlex
import subprocess
import sys
import uuid
from typing import Any
from xml.etree import ElementTree as ET

APP = "com.example.feed"
MOST_PAGES = 40
ENOUGH = 3
"""So many scrolls in a row that move nothing are the end."""
FIELDS = {"number": "post_number", "author": "author", "text": "post_text"}

Actions = list[dict[str, Any]]

_LIST = {"resourceId": f"{APP}:id/feed_list"}
_START: Actions = [
    {"id": "close", "type": "close_app", "params": {"applicationId": APP}},
    {"id": "open", "type": "open_app", "params": {"applicationId": APP}},
    {"id": "list", "type": "wait_for_node", "params": {"matcher": _LIST}},
    {"id": "screen", "type": "snapshot_ui"},
]
_NEXT: Actions = [
    {"id": "scroll", "type": "scroll", "params": {"direction": "down", "container": _LIST}},
    {"id": "screen", "type": "snapshot_ui"},
]


def main() -> None:
    parser = argparse.ArgumentParser(description="Read posts of the feed.")
    parser.add_argument("device", nargs="?", help="serial of the device")
    parser.add_argument("--count", type=int, default=20, help="how many posts (20)")
    options = parser.parse_args()

    found = read_posts(options.device, options.count)
    for number, post in found.items():
        text = " ".join(post["text"].split()).replace("|", "/")
        print(f"RESULT|post={number}|author={post['author']}|text={text}")
    print(f"[Clawperator-Skill-Result] {json.dumps({'posts': list(found.values())}, ensure_ascii=False)}")
    if len(found) < options.count:
        sys.exit(f"the feed ended after {len(found)} posts")
    print(f"✅ Posts read: {len(found)}")


def read_posts(device: str | None, count: int) -> dict[str, dict[str, str]]:
    """Up to ``count`` posts by their number; fewer where the feed ends.

    It ends where the list moves no further, not at a page without a new post: some trees hold
    more than the screen. And as reaching the end is what makes the app load more, it must be reached a few times.
    """
    found: dict[str, dict[str, str]] = {}
    actions, ends = _START, 0
    for _ in range(MOST_PAGES):
        first, *_, screen = execute(device, actions)
        found |= {post["number"]: post for post in posts(screen["text"])}
        ends = 0 if first.get("scroll_outcome", "moved") == "moved" else ends + 1
        if len(found) >= count or ends == ENOUGH:
            break
        actions = _NEXT
    return {number: found[number] for number in list(found)[:count]}


def posts(tree: str) -> list[dict[str, str]]:
    """The posts that stand in the tree of a screen, whole."""
    root = ET.fromstring(tree)  # noqa: S314 -- written by the device's own Operator, which writes no DTD
    cards = (node for node in root.iter("node") if node.get("resource-id") == f"{APP}:id/post_card")
    read = ({key: text_of(card, f"{APP}:id/{name}") for key, name in FIELDS.items()} for card in cards)
    return [post for post in read if all(post.values())]


def text_of(card: ET.Element, resource_id: str) -> str:
    return next((node.get("text", "") for node in card.iter("node") if node.get("resource-id") == resource_id), "")


def execute(device: str | None, actions: Actions) -> list[dict[str, str]]:
    """Run the actions as one execution and return what each of its steps found."""
    command_id = f"skill-{uuid.uuid4()}"
    payload = {
        "commandId": command_id,
        "taskId": command_id,
        "source": "com.example.feed.read-posts",
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 60_000,
        "actions": actions,
    }
    words = [*command_line(), "exec", "-", *(["--device", device] if device else [])]
    done = subprocess.run(words, input=json.dumps(payload), stdout=subprocess.PIPE, text=True, check=False)  # noqa: S603 -- no shell
    answer = json.loads(done.stdout)
    if "envelope" not in answer:
        sys.exit(f"{answer['code']}: {answer['message']}")
    envelope = answer["envelope"]
    for step in envelope["stepResults"]:
        if not step["success"]:
            sys.exit(f"step {step['id']} failed: {step['data'].get('message', step['data'].get('error'))}")
    if envelope["status"] != "success":
        sys.exit(envelope["error"])
    return [step["data"] for step in envelope["stepResults"]]


def command_line() -> list[str]:
    named = os.environ.get("CLAWPERATOR_BIN") or "clawperator"
    words = [named] if os.path.exists(named) else shlex.split(named)
    return ["node", *words] if words[0].endswith(".js") else words


if __name__ == "__main__":
    main()
