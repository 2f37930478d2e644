// Drive the device SERIAL of the adb server at PORT with appium-adb, which runs the adb binary. What it saw as JSON.
import { ADB } from 'appium-adb';
import fs from 'node:fs';
import os from 'node:os';
import path from 'node:path';

const [port, serial] = process.argv.slice(2);
const folder = fs.mkdtempSync(path.join(os.tmpdir(), 'appium-'));
const garbage = path.join(folder, 'garbage.apk');
fs.writeFileSync(garbage, Buffer.concat([Buffer.from('PK\x03\x04'), Buffer.alloc(5000)]));

const adb = await ADB.createADB({ adbPort: Number(port), suppressKillServer: true });
adb.setDeviceId(serial);
const seen = {
  listed: (await adb.getConnectedDevices()).some((device) => device.udid === serial),
  api: await adb.getApiLevel(),
  size: [await adb.getScreenSize(), await adb.getScreenDensity()],
  orientation: await adb.getScreenOrientation(),
  locale: [await adb.getDeviceLocale(), await adb.ensureCurrentLocale('en', 'US')],
  keyboards: [await adb.availableIMEs(), await adb.enabledIMEs(), await adb.defaultIME()],
};
await adb.startApp({ pkg: 'com.android.settings', activity: '.Settings', retry: false });
seen.focused = await adb.getFocusedPackageAndActivity();
seen.launchable = await adb.resolveLaunchableActivity('com.android.settings');
seen.running = [await adb.isAppRunning('com.android.settings'), await adb.processExists('com.none')];
await adb.startUri('https://example.org/a?b=c');
seen.browser = (await adb.getFocusedPackageAndActivity()).appPackage;
await adb.startUri('https://example.org', 'com.android.chrome');
await adb.lock();
seen.locked = [await adb.isScreenLocked()];
await adb.dismissKeyguard();
seen.locked.push(await adb.isScreenLocked());
seen.keyboard = await adb.isSoftKeyboardPresent();
seen.garbage = await adb.install(garbage, { noIncremental: true }).then(() => '', (error) => error.message.includes('NOT_APK'));
await adb.push(garbage, '/sdcard/pushed');
seen.pushed = [await adb.fileExists('/sdcard/pushed'), await adb.fileSize('/sdcard/pushed')];
await adb.reversePort(8300, 8301);
seen.reversed = await adb.getReverseList();
await adb.removePortReverse(8300);
seen.picture = (await adb.takeScreenshot()).length > 1000;
console.log(JSON.stringify(seen));
process.exit(0);
