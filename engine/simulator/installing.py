"""Install an APK, with the package manager's checks."""

from __future__ import annotations

from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.operator.apk import ApkFacts, facts_of
from clawperator.engine.operator.zip_index import ZipError
from clawperator.engine.simulator.android_users import EVERY
from clawperator.engine.simulator.device import SimulatedDevice
from clawperator.engine.simulator.packages import FIRST_APP_UID, SimulatedPackage, version_code_of
from clawperator.engine.simulator.profile import NOTIFICATIONS

_STAGED = "/data/app/vmdl1234567890.tmp/base.apk"
_FIRST_INSTALLED_UID = FIRST_APP_UID + 300


def install(device: SimulatedDevice, apk: bytes, *, reinstall: bool, user: int = EVERY) -> str:
    """Install an APK from its bytes: ``Success`` or ``Failure [CODE: words]``."""
    refused = device.scenario.of_device("install_refused")
    if refused is not None:
        return f"Failure [{refused.code}: {refused.message}]" if refused.message else f"Failure [{refused.code}]"
    try:
        facts = facts_of(apk)
    except ZipError:
        reason = f"Failed to parse {_STAGED}: Failed to load asset path {_STAGED}"
        return f"Failure [INSTALL_PARSE_FAILED_NOT_APK: {reason}]"
    name = facts.package
    present = device.packages.get(name)
    if present is not None and not reinstall:
        return f"Failure [INSTALL_FAILED_ALREADY_EXISTS: Attempt to re-install {name} without first uninstalling.]"
    if refusal := _refusal(device, facts, present):
        return refusal
    _put(device, facts, present)
    users = {*device.users.all} if user == EVERY else {user}
    package = device.packages[name]
    if present is None:
        package.users = users
    elif package.users is not None:
        package.users |= users
    return "Success"


def _refusal(device: SimulatedDevice, facts: ApkFacts, present: SimulatedPackage | None) -> str:
    if facts.min_sdk > device.sdk:
        reason = f"Failed parse during installPackageLI: {_STAGED}: Requires newer sdk version #{facts.min_sdk} (current version is #{device.sdk})"
        return f"Failure [INSTALL_FAILED_OLDER_SDK: {reason}]"
    if facts.abis and device.props.get("ro.product.cpu.abi") not in facts.abis:
        reason = "INSTALL_FAILED_NO_MATCHING_ABIS: Failed to extract native libraries, res=-113"
        return f"Failure [INSTALL_FAILED_NO_MATCHING_ABIS: {reason}]"
    if present is not None and 0 <= facts.version_code < present.version_code:
        reason = (
            f"Downgrade detected: Update version code {facts.version_code} is older than current {present.version_code}"
        )
        return f"Failure [INSTALL_FAILED_VERSION_DOWNGRADE: {reason}]"
    return ""


def _put(device: SimulatedDevice, facts: ApkFacts, present: SimulatedPackage | None) -> None:
    name, version = facts.package, facts.version_name
    if present is None and name in OPERATOR_PACKAGES:
        device.add_operator(name, version)
    elif present is None:
        uid = _FIRST_INSTALLED_UID + len(device.packages)
        device.packages[name] = SimulatedPackage(name, uid, version or "1.0", requested=(NOTIFICATIONS,))
    elif version:
        present.version_name = version
    package = device.packages[name]
    package.version_code = facts.version_code if facts.version_code >= 0 else version_code_of(version)
    package.min_sdk = facts.min_sdk or package.min_sdk
