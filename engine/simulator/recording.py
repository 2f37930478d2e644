"""The Operator's recording of a user session: one JSON object per line (wire.md#recording-files)."""

from __future__ import annotations

import json
from collections.abc import Callable, Mapping
from secrets import token_hex

from clawperator.engine.contracts.operator_identity import OPERATOR_PACKAGES
from clawperator.engine.simulator.apps.layout import Node
from clawperator.engine.simulator.filesystem import FileSystem


class Recorder:
    """At most one recording at a time, written to the app's external files as it goes.

    ``now_ms`` is the device's time since the epoch, ``snapshot`` the active window's XML or ``None``.
    """

    def __init__(
        self,
        files: FileSystem,
        package: str,
        *,
        uid: int,
        user: int = 0,
        now_ms: Callable[[], int],
        snapshot: Callable[[], str | None],
    ) -> None:
        self._files = files
        self._package = package
        self._uid = uid
        self._now_ms = now_ms
        self._snapshot = snapshot
        storage = f"/storage/emulated/{user}" if user else "/sdcard"
        self._folder = f"{storage}/Android/data/{package}/files/recordings"
        self._session = ""
        self._count = 0

    def command(self, name: str, session_id: str) -> Mapping[str, str]:
        """``start`` or ``stop``: the step's data keys, ``error`` and ``message`` among them when refused."""
        return self._start(session_id) if name == "start" else self._stop()

    def _start(self, session_id: str) -> Mapping[str, str]:
        if self._session:
            held = {"sessionId": self._session, "filePath": self._path}
            return {**held, "error": "RECORDING_ALREADY_IN_PROGRESS", "message": f"{self._session} is being recorded"}
        started = self._now_ms()
        self._session = session_id or f"record-{started}-{token_hex(4)}"
        self._count = 0
        header = {
            "type": "recording_header",
            "schemaVersion": 1,
            "sessionId": self._session,
            "startedAt": started,
            "operatorPackage": self._package,
        }
        code = "RECORDING_STORAGE_UNAVAILABLE"
        try:
            self._files.mkdir(self._folder, parents=True)
            code = "RECORDING_START_FAILED"
            self._files.write(self._path, _line(header))
        except OSError as exc:
            self._session = ""
            return {"error": code, "message": exc.strerror or str(exc)}
        return {"sessionId": self._session, "filePath": self._path}

    def _stop(self) -> Mapping[str, str]:
        if not self._session:
            return {"error": "RECORDING_NOT_IN_PROGRESS", "message": "no recording is in progress"}
        done = {"sessionId": self._session, "filePath": self._path, "eventCount": str(self._count)}
        pointed, self._session = self._session, ""
        try:
            self._files.write(f"{self._folder}/latest", pointed.encode())
        except OSError as exc:
            return {**done, "error": "RECORDING_STOP_FAILED", "message": exc.strerror or str(exc)}
        return done

    @property
    def _path(self) -> str:
        return f"{self._folder}/{self._session}.ndjson"

    def on_event(self, kind: str, package: str, node: Node | None) -> None:
        """Note an accessibility event of another app; both variants of the Operator are our own."""
        if not self._session or package in OPERATOR_PACKAGES or package == self._package:
            return
        match kind:
            case "TYPE_WINDOW_STATE_CHANGED":
                facts = {"packageName": package, "className": None, "title": None}
                self._note("window_change", facts, snapshot=True)
            case "TYPE_VIEW_CLICKED" if node is not None:
                self._note("click", {"packageName": package, **_clicked(node)}, snapshot=True)
            case "TYPE_VIEW_SCROLLED" if node is not None:
                self._note("scroll", {"packageName": package, "resourceId": None, **_scrolled(node)}, snapshot=False)
            case "TYPE_VIEW_TEXT_CHANGED" if node is not None:
                facts = {"packageName": package, "resourceId": None, "text": node.view.text}
                self._note("text_change", facts, snapshot=False)

    def on_back(self) -> None:
        if self._session:
            self._note("press_key", {"key": "back"}, snapshot=True)

    def _note(self, kind: str, facts: Mapping[str, object], *, snapshot: bool) -> None:
        self._count += 1
        event = {"ts": self._now_ms(), "seq": self._count, "type": kind, **facts}
        event["snapshot"] = self._snapshot() if snapshot else None
        try:
            self._files.write(self._path, _line(event), append=True)
        except OSError:
            self._count -= 1  # the storage is full or gone: keep what was written


def _line(value: Mapping[str, object]) -> bytes:
    return json.dumps(value, ensure_ascii=False, separators=(",", ":")).encode("utf-8", "replace") + b"\n"


def _clicked(node: Node) -> dict[str, object]:
    left, top, right, bottom = node.seen
    return {
        "resourceId": node.resource_id or None,
        "text": node.view.text or None,
        "contentDesc": node.view.desc or None,
        "bounds": {"left": left, "top": top, "right": right, "bottom": bottom},
    }


def _scrolled(node: Node) -> dict[str, object]:
    vertical = node.view.scroll == "column"
    return {
        "scrollX": 0 if vertical else node.offset,
        "scrollY": node.offset if vertical else 0,
        "maxScrollX": 0 if vertical else node.reach,
        "maxScrollY": node.reach if vertical else 0,
    }
