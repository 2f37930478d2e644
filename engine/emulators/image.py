"""Making sure that a system image is there: installed already, or licences and download (emulators.md#limits)."""

from __future__ import annotations

import re

from clawperator.engine.emulators.limits import Limits
from clawperator.engine.emulators.progress import INSTALL_IMAGE, Running, Telling
from clawperator.engine.emulators.sdk import Ran, Sdk, ToolTimeoutError
from clawperator.engine.emulators.words import advice, complaint, misfortune
from clawperator.engine.errors import EngineError, ErrorCode

TOOL = "sdkmanager"
YES = b"y\n" * 100
_SHORT_LINE = 100


async def ensure_image(sdk: Sdk, image: str, limits: Limits, telling: Telling) -> None:
    """Return when ``image`` (``system-images;…``) is installed.

    Raises ``EngineError`` ANDROID_SDK_TOOL_MISSING, ANDROID_SYSTEM_IMAGE_INSTALL_FAILED.
    """
    with telling.stage(INSTALL_IMAGE, limits.install_image) as stage:
        stage.going_on(f"looking for {image}")
        listed = await _manage(sdk, image, ["--list_installed"], limits.list_images)
        if is_listed(image, listed.stdout):
            stage.result = "installed already"
            return
        stage.going_on("accepting the licences")
        await _manage(sdk, image, ["--licenses"], limits.licences, stdin=YES, stage=_Licences(stage))
        stage.going_on(f"installing {image}")
        done = await _manage(sdk, image, [image], limits.install_image, stage=stage)
        if misfortune(done.words):  # some versions end with 0 although nothing was installed
            listed = await _manage(sdk, image, ["--list_installed"], limits.list_images)
            if not is_listed(image, listed.stdout):
                raise _failed(image, done)
        stage.result = f"installed {image}"


def is_listed(image: str, listing: str) -> bool:
    """Whether the listing names exactly this image: an ``x86`` one is no ``x86_64`` one."""
    return re.search(rf"(?<![\w;.-]){re.escape(image)}(?![\w;.-])", listing) is not None


class _Licences:
    """Of pages of licences, only the lines that say what happens."""

    def __init__(self, stage: Running) -> None:
        self._stage = stage

    def line(self, text: str) -> None:
        if len(text) <= _SHORT_LINE and re.search(r"licen[cs]es?\b.*\baccepted|accept\?", text, re.IGNORECASE):
            self._stage.line(text)


async def _manage(
    sdk: Sdk,
    image: str,
    arguments: list[str],
    timeout: float,
    *,
    stdin: bytes = b"",
    stage: Running | _Licences | None = None,
) -> Ran:
    try:
        done = await sdk.run(TOOL, arguments, timeout=timeout, stdin=stdin, tell=stage.line if stage else None)
    except ToolTimeoutError as exc:
        code = ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED
        raise EngineError(code, str(exc), details={"systemImage": image}) from exc
    if not done.ok:
        raise _failed(image, done)
    return done


def _failed(image: str, done: Ran) -> EngineError:
    return EngineError(
        ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED,
        complaint(TOOL, done),
        hint=advice(done),
        details={"systemImage": image},
    )
