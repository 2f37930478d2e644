"""Install a system image: accept the licenses and download it, unless it is installed (emulators.md#limits)."""

from __future__ import annotations

import re
from collections.abc import Callable

from clawperator.engine.emulators.limits import Limits
from clawperator.engine.emulators.sdk import Sdk, ToolResult, ToolTimeoutError
from clawperator.engine.emulators.stages import INSTALL_IMAGE
from clawperator.engine.emulators.tool_errors import failure_hint, failure_message, known_error
from clawperator.engine.errors import EngineError, ErrorCode
from clawperator.engine.progress import JobProgress

TOOL = "sdkmanager"
YES = b"y\n" * 100
_SHORT_LINE = 100
_LICENSE_STATE = re.compile(r"licen[cs]es?\b.*\baccepted|accept\?", re.IGNORECASE)


async def ensure_image(sdk: Sdk, image: str, limits: Limits, progress: JobProgress) -> None:
    """Install ``image`` (``system-images;…``) unless it is installed.

    Raises ``EngineError`` ANDROID_SDK_TOOL_MISSING, ANDROID_SYSTEM_IMAGE_INSTALL_FAILED.
    """
    with progress.stage(INSTALL_IMAGE, limits.install_image) as stage:
        stage.update(f"checking for {image}")
        listed = await _manage(sdk, image, ["--list_installed"], limits.list_images)
        if is_listed(image, listed.stdout):
            stage.result = "already installed"
            return
        stage.update("accepting the licenses")

        def license_line(text: str) -> None:  # not the pages of license text
            if len(text) <= _SHORT_LINE and _LICENSE_STATE.search(text):
                stage.line(text)

        await _manage(sdk, image, ["--licenses"], limits.licences, stdin=YES, on_line=license_line)
        stage.update(f"installing {image}")
        done = await _manage(sdk, image, [image], limits.install_image, on_line=stage.line)
        if known_error(done.output):  # some versions exit with 0 although nothing was installed
            listed = await _manage(sdk, image, ["--list_installed"], limits.list_images)
            if not is_listed(image, listed.stdout):
                raise _failed(image, done)
        stage.result = f"installed {image}"


def is_listed(image: str, listing: str) -> bool:
    """Return whether the listing names exactly this image: ``x86`` is a prefix of ``x86_64``."""
    return re.search(rf"(?<![\w;.-]){re.escape(image)}(?![\w;.-])", listing) is not None


async def _manage(
    sdk: Sdk,
    image: str,
    arguments: list[str],
    timeout: float,
    *,
    stdin: bytes = b"",
    on_line: Callable[[str], object] | None = None,
) -> ToolResult:
    try:
        done = await sdk.run(TOOL, arguments, timeout=timeout, stdin=stdin, on_line=on_line)
    except ToolTimeoutError as exc:
        code = ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED
        raise EngineError(code, str(exc), details={"systemImage": image}) from exc
    if not done.ok:
        raise _failed(image, done)
    return done


def _failed(image: str, done: ToolResult) -> EngineError:
    return EngineError(
        ErrorCode.ANDROID_SYSTEM_IMAGE_INSTALL_FAILED,
        failure_message(TOOL, done),
        hint=failure_hint(done),
        details={"systemImage": image},
    )
