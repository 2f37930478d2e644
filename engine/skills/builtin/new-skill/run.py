#!/usr/bin/env python3
"""@id@: opens @app@ and reads its screen. Arguments: [device-id]"""

import json
import os
import shlex
import subprocess
import sys
import uuid
from typing import Any

APP = "@app@"


def main() -> None:
    device = next((word for word in sys.argv[1:] if not word.startswith("-")), None)
    steps = execute(
        device,
        [
            {"id": "close", "type": "close_app", "params": {"applicationId": APP}},
            {"id": "closed", "type": "sleep", "params": {"durationMs": 1500}},
            {"id": "open", "type": "open_app", "params": {"applicationId": APP}},
            {"id": "opened", "type": "sleep", "params": {"durationMs": 3000}},
            {"id": "screen", "type": "snapshot_ui"},
        ],
    )
    tree = steps["screen"]["data"]["text"]
    # TODO: find the result in the tree, or add steps that read it (read_text, wait_for_node).
    print(f"RESULT|app={APP}|nodes={tree.count('<node ')}")
    print("✅ The screen was read.")


def execute(device: str | None, actions: list[dict[str, Any]]) -> dict[str, Any]:
    """Run the actions as one execution and return its steps by id. No quoting is needed: no shell is involved."""
    command_id = f"skill-{uuid.uuid4()}"
    payload = {
        "commandId": command_id,
        "taskId": command_id,
        "source": "@id@"[:64],
        "expectedFormat": "android-ui-automator",
        "timeoutMs": 60_000,
        "actions": actions,
    }
    words = [*command_line(), "exec", "-"]
    words += ["--device", device] if device else []
    done = subprocess.run(words, input=json.dumps(payload), capture_output=True, text=True, check=False)
    answer = json.loads(done.stdout)
    if "envelope" not in answer:
        sys.exit(f"@id@: {answer['code']}: {answer['message']}")
    envelope = answer["envelope"]
    for step in envelope["stepResults"]:
        if not step["success"]:
            sys.exit(f"@id@: step {step['id']} failed: {step['data'].get('message', step['data'].get('error'))}")
    if envelope["status"] != "success":
        sys.exit(f"@id@: {envelope['error']}")
    return {step["id"]: step for step in envelope["stepResults"]}


def command_line() -> list[str]:
    named = os.environ.get("CLAWPERATOR_BIN") or "clawperator"
    words = [named] if os.path.exists(named) else shlex.split(named)
    return ["node", *words] if words[0].endswith(".js") else words


if __name__ == "__main__":
    main()
