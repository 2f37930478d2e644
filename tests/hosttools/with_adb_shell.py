# mypy: ignore-errors
"""Drive the daemon at port ``argv[1]`` with adb-shell, without any adb server; what it saw as JSON."""

import json
import sys
import tempfile
from pathlib import Path

from adb_shell.adb_device import AdbDeviceTcp
from adb_shell.exceptions import AdbCommandFailureException

TIMES = {"transport_timeout_s": 10, "read_timeout_s": 10}
device = AdbDeviceTcp("127.0.0.1", int(sys.argv[1]), default_transport_timeout_s=10)
device.connect(auth_timeout_s=5)
folder = Path(tempfile.mkdtemp())
data = bytes(range(256)) * 4_000
(folder / "file").write_bytes(data)
device.push(str(folder / "file"), "/sdcard/file", **TIMES)
device.pull("/sdcard/file", str(folder / "back"), **TIMES)
seen = {
    "shell": device.shell("echo hi", **TIMES),
    "large": device.shell("cat /sdcard/file | wc -c", **TIMES).strip(),
    "exec": device.exec_out("echo out", **TIMES),
    "stat": device.stat("/sdcard/file", **TIMES)[1],
    "names": "file" in [bytes(entry.filename).decode() for entry in device.list("/sdcard/", **TIMES)],
    "same": (folder / "back").read_bytes() == data,
}
try:
    device.pull("/sdcard/none", str(folder / "none"), **TIMES)
except AdbCommandFailureException as refused:
    seen["missing"] = str(refused)
seen["after"] = device.shell("echo on", **TIMES)
device.close()
print(json.dumps(seen))
