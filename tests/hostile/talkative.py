"""An adb server whose device says something, and then never stops: a flood, crumbs, or nothing at all."""

from __future__ import annotations

import contextlib
import socket
import threading
from collections.abc import Iterator

SERIAL = "hostile"
EMPTY_PACKETS = (b"\x01\0\0\0\0" + b"\x02\0\0\0\0") * 6_000
TEXT = b"x" * 59_995
FLOODS = {
    "empty packets": EMPTY_PACKETS,
    "one byte in each packet": b"\x02\1\0\0\0." * 10_000,
    "endless text": b"\x01" + len(TEXT).to_bytes(4, "little") + TEXT,
    "silence": b"",
}


class TalkativeServer:
    """Answers host requests as adb does, and each service of its device with ``flood`` again and again."""

    def __init__(self, flood: bytes) -> None:
        self._flood = flood
        self._listener = socket.create_server(("127.0.0.1", 0))
        self._open: list[socket.socket] = []
        self.port: int = self._listener.getsockname()[1]
        threading.Thread(target=self._accept, daemon=True).start()

    def env(self) -> dict[str, str]:
        return {"ANDROID_ADB_SERVER_PORT": str(self.port), "ANDROID_ADB_SERVER_ADDRESS": "127.0.0.1"}

    def close(self) -> None:
        for sock in (self._listener, *self._open):
            with contextlib.suppress(OSError):
                sock.shutdown(socket.SHUT_RDWR)
            sock.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                client, _ = self._listener.accept()
                self._open.append(client)
                threading.Thread(target=self._serve, args=(client,), daemon=True).start()

    def _serve(self, client: socket.socket) -> None:
        with contextlib.suppress(OSError, ValueError), client:
            while True:
                request = client.recv(int(client.recv(4, socket.MSG_WAITALL), 16), socket.MSG_WAITALL).decode()
                if not request.startswith("host"):
                    client.sendall(b"OKAY")
                    while self._flood:
                        client.sendall(self._flood)
                    while client.recv(4096):
                        pass  # silent until the client goes
                    return
                elif "tport" in request:
                    client.sendall(b"OKAY" + bytes(8))
                else:
                    answers = {"version": "0029", "features": "shell_v2,cmd", "devices-l": f"{SERIAL} device\n"}
                    text = answers.get(request.rpartition(":")[2], "device").encode()
                    client.sendall(b"OKAY%04x" % len(text) + text)
                    return


@contextlib.contextmanager
def talkative(flood: str) -> Iterator[TalkativeServer]:
    server = TalkativeServer(FLOODS[flood])
    try:
        yield server
    finally:
        server.close()
