"""Servers of HTTP on this machine, of which tests say what they answer."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

# Headers that belong to one connection, or to how a body is sent.
OWN = ("content-length", "transfer-encoding", "connection")


class Answering(BaseHTTPRequestHandler):
    """A server that keeps connections open, answers in one piece, and prints nothing."""

    protocol_version = "HTTP/1.1"

    def answer(self, status: int, body: bytes = b"", **headers: str) -> None:
        self.send_response_only(status)
        for name, value in headers.items():
            if name.lower() not in OWN:
                self.send_header(name, value)
        self.send_header("content-length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    def log_message(self, *_: object) -> None:
        pass


@contextmanager
def served(handler: type[Answering]) -> Iterator[str]:
    """Where such a server listens."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), handler)
    threading.Thread(target=server.serve_forever, daemon=True).start()
    yield f"http://127.0.0.1:{server.server_address[1]}"
    server.shutdown()
    server.server_close()
