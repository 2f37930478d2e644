"""A skill of this project's own kind: the same commands from Python."""

import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path
from typing import Any

device = sys.argv[1] if len(sys.argv) > 1 else os.environ["CLAWPERATOR_DEVICE_ID"]
target = ["--device", device, "--operator-package", os.environ["CLAWPERATOR_OPERATOR_PACKAGE"]]


def call(*words: str) -> tuple[int, dict[str, Any]]:
    ran = subprocess.run([os.environ["CLAWPERATOR_BIN"], *words, *target], stdout=subprocess.PIPE, check=False)
    return ran.returncode, json.loads(ran.stdout)


with tempfile.TemporaryDirectory() as folder:
    file = Path(folder) / "execution.json"
    actions = [
        {"id": "open", "type": "open_app", "params": {"applicationId": "com.android.settings"}},
        {
            "id": "title",
            "type": "read_text",
            "params": {"matcher": {"resourceId": "com.android.settings:id/homepage_title"}},
        },
    ]
    payload = {"commandId": f"flat-{os.getpid()}", "taskId": "flat", "source": "skill", "actions": actions}
    file.write_text(json.dumps({**payload, "expectedFormat": "android-ui-automator", "timeoutMs": 20000}))
    status, answer = call("exec", str(file))
steps = {step["id"]: step for step in answer["envelope"]["stepResults"]}
refused, failure = call("click", "--text", "Nobody's text")
assert status == 0
assert refused == 1
print(f"RESULT|status=success|title={steps['title']['data']['text']}|refused={failure['envelope']['errorCode']}")
print("✅ Done.")
