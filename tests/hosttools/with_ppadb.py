# mypy: ignore-errors
"""Drive the device ``argv[2]`` of the adb server at port ``argv[1]`` with pure-python-adb; what it saw as JSON."""

import json
import sys
import tempfile
from pathlib import Path

from ppadb.client import Client

client = Client("127.0.0.1", int(sys.argv[1]))
device = client.device(sys.argv[2])
folder = Path(tempfile.mkdtemp())
(folder / "file").write_bytes(b"x" * 100_000)
device.push(str(folder / "file"), "/sdcard/file")
device.pull("/sdcard/file", str(folder / "back"))
pid = device.get_pid("com.android.launcher3")
seen = {
    "version": client.version(),
    "state": device.get_state(),
    "shell": device.shell("echo hi"),
    "model": device.get_properties()["ro.product.model"],
    "size": list(device.wm_size()),
    "battery": device.get_battery_level(),
    "cpus": device.cpu_count(),
    "cpu": device.cpu_times().idle > device.cpu_times().user,
    "process": device.get_pid_cpu(pid).name if pid else "",
    "memory": int(device.get_meminfo("com.android.launcher3").pss) > 0,
    "top": device.get_top_activity().package,
    "installed": [device.is_installed("com.android.settings"), device.is_installed("com.none")],
    "picture": bytes(device.screencap()[:4]).hex(),
    "pulled": (folder / "back").stat().st_size,
    "uninstalled": device.uninstall("com.none"),
}
print(json.dumps(seen))
