"""A TCP proxy on loopback whose connections can be cut or held."""

from __future__ import annotations

import contextlib
import socket
import threading


class TcpProxy:
    """Forwards connections to a port of this machine."""

    def __init__(self, target: int) -> None:
        self._target = target
        self._listener = socket.create_server(("127.0.0.1", 0))
        self.port = int(self._listener.getsockname()[1])
        self.is_cut = threading.Event()
        self._flows = threading.Event()
        self._flows.set()
        self._left: int | None = None
        self._open: set[socket.socket] = set()
        threading.Thread(target=self._accept, daemon=True).start()

    def stop(self) -> None:
        """Stop forwarding, and keep the connections open."""
        self._flows.clear()

    def resume(self) -> None:
        self._flows.set()

    def cut(self) -> None:
        """Reset all connections, also new ones."""
        self.is_cut.set()
        for one in [*self._open]:
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)

    def cut_after(self, size: int) -> None:
        """Cut the connection after `size` more bytes to the server."""
        self._left = size

    def restore(self) -> None:
        """Forward again."""
        self._left = None
        self.is_cut.clear()

    def close(self) -> None:
        """Close the connections permanently."""
        self.cut()
        self.resume()
        self._listener.close()

    def _accept(self) -> None:
        with contextlib.suppress(OSError):
            while True:
                near, _ = self._listener.accept()
                threading.Thread(target=self._connect, args=(near,), daemon=True).start()

    def _connect(self, near: socket.socket) -> None:
        self._flows.wait()
        try:
            if self.is_cut.is_set():
                raise ConnectionResetError
            far = socket.create_connection(("127.0.0.1", self._target))
        except OSError:
            near.close()
            return
        self._open |= {near, far}
        threading.Thread(target=self._pump, args=(far, near, False), daemon=True).start()
        self._pump(near, far, True)

    def _pump(self, source: socket.socket, target: socket.socket, is_request: bool) -> None:
        with contextlib.suppress(OSError):
            while chunk := source.recv(65536):
                self._flows.wait()
                if is_request and self._left is not None:
                    self._left -= len(chunk)
                    if self._left < 0:
                        self.cut()
                        break
                target.sendall(chunk)
        for one in (source, target):
            self._open.discard(one)
            with contextlib.suppress(OSError):
                one.shutdown(socket.SHUT_RDWR)
            one.close()
