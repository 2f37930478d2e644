# mypy: ignore-errors
"""Drive the device ``argv[2]`` of the adb server at port ``argv[1]`` with adbutils; what it saw as JSON."""

import json
import sys
import tempfile
from pathlib import Path

import adbutils

client = adbutils.AdbClient(host="127.0.0.1", port=int(sys.argv[1]), socket_timeout=20)
device = client.device(sys.argv[2])
folder = Path(tempfile.mkdtemp())
(folder / "garbage.apk").write_bytes(b"PK\3\4" + bytes(5000))
seen = {
    "listed": sys.argv[2] in [each.serial for each in client.device_list()],
    "shell": device.shell(["echo", "a b"]),
    "v2": [device.shell2("echo out; exit 3", v2=True).returncode, device.shell("echo v1")],
    "model": device.prop.model,
    "size": list(device.window_size()),
    "rotation": device.rotation(),
    "screen": device.is_screen_on(),
    "battery": device.battery().level,
    "package": device.app_info("com.android.settings").version_name,
    "third": "com.example.shop" in device.list_packages(["-3"]),
    "tree": "</hierarchy>" in device.dump_hierarchy(),
    "pictures": [list(device.screenshot().size), list(device.framebuffer().size)],
}
device.shell("am start -W -n com.android.settings/.Settings")
seen["current"] = device.app_current().package
device.shell("am start -W -a android.intent.action.VIEW -d https://example.org")
seen["browser"] = device.app_current().package
seen["pushed"] = device.sync.push(b"text" * 70_000, "/sdcard/pushed")
seen["stat"] = device.sync.stat("/sdcard/pushed").size
seen["names"] = "pushed" in [entry.path for entry in device.sync.list("/sdcard")]
seen["pulled"] = device.sync.pull("/sdcard/pushed", folder / "pulled")
device.forward("tcp:0", "tcp:7912")
seen["forward"] = [item.remote for item in device.forward_list()]
device.reverse("tcp:7913", "tcp:7914")
seen["reverse"] = [(item.remote, item.local) for item in device.reverse_list()]
try:
    device.install(str(folder / "garbage.apk"), silent=True)
except adbutils.AdbInstallError as refused:
    seen["garbage"] = "INSTALL_PARSE_FAILED_NOT_APK" in str(refused)
try:
    device.create_connection("tcp", 9)
except adbutils.AdbError as refused:
    seen["closed"] = str(refused)
print(json.dumps(seen))
