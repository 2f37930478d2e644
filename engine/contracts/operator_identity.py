"""The Operator app's names on a device (wire.md#identifiers and wire.md#broadcast): the one table of its two brands."""

from __future__ import annotations

from collections.abc import Collection
from typing import NamedTuple

from clawperator.engine.version import OPERATOR_RELEASES


class Brand(NamedTuple):
    """A name under which the app was published. ``word`` stands in the prefixes of its log lines, ``domain`` in its classes."""

    word: str
    domain: str
    since: str

    @property
    def packages(self) -> tuple[str, str]:
        """The release build, and the debug build, which may be installed beside it."""
        release = f"com.{self.domain}.operator"
        return release, f"{release}.dev"

    @property
    def action(self) -> str:
        """The broadcast action that its receiver accepts."""
        return f"app.{self.domain}.operator.ACTION_AGENT_COMMAND"

    @property
    def service_class(self) -> str:
        return f"{self.domain}.operator.accessibilityservice.OperatorAccessibilityService"

    @property
    def activity(self) -> str:
        """The window that the icon opens."""
        return f"{self.domain}.activity.MainActivity"

    @property
    def newest_url(self) -> str:
        """Where its project offers the newest APK. Nothing is downloaded unless the user asks for it."""
        return f"https://{self.domain}.com/operator.apk"

    def release_url(self, version: str) -> str:
        """Where its project offers the APK of a release; its SHA-256 is in the file with ``.sha256`` at the end."""
        return f"https://downloads.{self.domain}.com/operator/v{version}/operator-v{version}.apk"


CLAWPERATOR = Brand("Clawperator", "clawperator", "0.3")
ANDROPERATOR = Brand("Androperator", "androperator", "1.0")
OPERATOR_BRANDS = (CLAWPERATOR, ANDROPERATOR)
BRANDS = tuple(brand.word for brand in OPERATOR_BRANDS)

RELEASE_PACKAGE, DEBUG_PACKAGE = CLAWPERATOR.packages
OPERATOR_PACKAGES = tuple(package for brand in OPERATOR_BRANDS for package in brand.packages)
AGENT_ACTION = CLAWPERATOR.action
"""The default of the setting: where it was not changed, the action is that of the installed app's brand."""

LISTENER_CLASS = "action.notification.NotificationListenerService"


def newest_of(brand: Brand) -> str:
    """The newest generation of ``OPERATOR_RELEASES`` under this name."""
    later = [other.since for other in OPERATOR_BRANDS[OPERATOR_BRANDS.index(brand) + 1 :]]
    generations = list(OPERATOR_RELEASES)
    return generations[generations.index(later[0]) - 1 if later else -1]


def brand_of(package: str) -> Brand:
    """The brand of an Operator app; the first one for the package of another build."""
    return next((brand for brand in OPERATOR_BRANDS if package in brand.packages), CLAWPERATOR)


def variants(package: str) -> tuple[str, ...]:
    """``package``, the other build of it (a debug id is the release id with ``.dev``), and the packages of the other brand."""
    other = package.removesuffix(".dev") if package.endswith(".dev") else f"{package}.dev"
    return tuple(dict.fromkeys((package, other, *OPERATOR_PACKAGES)))


def preferred(package: str, installed: Collection[str], services: Collection[str]) -> str:
    """The app to use where none was chosen: ``package``, or the same build of the other brand.

    Of two brands it is the one whose service is among the enabled ``services``, else the newer one.
    """
    same_build = [name for name in OPERATOR_PACKAGES if name.endswith(".dev") == package.endswith(".dev")]
    present = [name for name in same_build if name in installed]
    enabled = [name for name in present if service_of(name) in services]
    return package if package not in same_build else (enabled or present or [package])[-1]


def listed_as(package: str) -> str:
    """The filter of ``pm list packages`` that lists ``package`` and the apps that may be in its place, and little else."""
    return "perator.operator" if package in OPERATOR_PACKAGES else package.removesuffix(".dev")


def action_for(package: str, action: str) -> str:
    """The broadcast action for ``package``: ``action`` if the user changed it, else that of its brand."""
    return brand_of(package).action if action == AGENT_ACTION else action


def service_of(package: str) -> str:
    """The accessibility service of an Operator app, as the secure settings list it."""
    return f"{package}/{brand_of(package).service_class}"


def listener_of(package: str) -> str:
    """The notification listener of an Operator app, as the secure settings list it."""
    return f"{package}/{LISTENER_CLASS}"
