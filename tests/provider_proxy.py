"""A proxy in front of a provider that fails where it is told, over real sockets.

with ProviderProxy(port) as proxy:
    proxy.plan = ["drop_after", "pass"]    # for the next requests; then "pass"
    proxy.seen                             # what has come over the wire
"""

import http.client
import json
import socket
from collections.abc import Callable
from contextlib import suppress
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer
from threading import Event, Thread
from typing import Literal, NamedTuple, TypeAlias

Doing: TypeAlias = Literal[
    "pass",
    "drop_before",  # read, then gone: the provider never hears of it
    "drop_after",  # forwarded, then gone: the provider has acted
    "hold",  # forwarded when `release` is set; the caller may have left by then
    "keep",  # gone, and forwarded by `deliver`: it arrives late
    "repeat",  # forwarded twice, the second answer told
]


class Seen(NamedTuple):
    """One request as it came over the wire."""

    method: str
    path: str
    headers: dict[str, str]
    body: bytes


class Told(NamedTuple):
    """One answer."""

    status: int
    headers: list[tuple[str, str]]
    body: bytes


class ProviderProxy:
    """Listens on a free port of 127.0.0.1.

    `plan` is for writes, `lookups` for GETs. A `Told` in them is answered and nothing
    forwarded. Where `find` is given, GET /operations/KEY is answered by it.
    """

    def __init__(
        self, upstream: int, find: Callable[[str], str | None] | None = None
    ) -> None:
        self.plan: list[Doing | Told] = []
        self.lookups: list[Doing | Told] = []
        self.seen: list[Seen] = []
        self.release = Event()
        self.find = find
        self._upstream = upstream
        self._kept: list[Seen] = []
        self._server = _Server(self)
        self.port = self._server.server_address[1]
        self._thread = Thread(target=self._server.serve_forever, args=(0.02,))

    @property
    def url(self) -> str:
        """Its address."""
        return f"http://127.0.0.1:{self.port}"

    @property
    def writes(self) -> list[Seen]:
        """What came over the wire that was to change something."""
        return [seen for seen in self.seen if seen.method != "GET"]

    def __enter__(self) -> "ProviderProxy":
        self._thread.start()
        return self

    def __exit__(self, *raised: object) -> None:
        self.release.set()
        self._server.shutdown()
        self._thread.join(timeout=10)
        self._server.server_close()

    def take(self, seen: Seen) -> Told | None:
        """What is answered to a request; None: the connection ends without a word."""
        self.seen.append(seen)
        plan = self.lookups if seen.method == "GET" else self.plan
        doing = plan.pop(0) if plan else "pass"
        if isinstance(doing, Told):
            return doing
        if doing == "keep":
            self._kept.append(seen)
        if doing == "hold":
            self.release.wait(timeout=60)
        if doing in ("drop_before", "keep"):
            return None
        if doing == "repeat":
            self._forward(seen)
        told = self._forward(seen)
        return None if doing == "drop_after" else told

    def deliver(self) -> list[Told]:
        """Let what was kept arrive now."""
        kept, self._kept = self._kept, []
        return [self._forward(seen) for seen in kept]

    def _forward(self, seen: Seen) -> Told:
        if self.find and seen.path.startswith("/operations/"):
            found = self.find(seen.path.removeprefix("/operations/"))
            body = json.dumps({"id": found}).encode()
            return Told(404 if found is None else 200, [], body)
        upstream = http.client.HTTPConnection("127.0.0.1", self._upstream, timeout=60)
        try:
            upstream.request(seen.method, seen.path, seen.body, seen.headers)
            answer = upstream.getresponse()
            body = answer.read()
        finally:
            upstream.close()
        kept = [(n, v) for n, v in answer.getheaders() if n.lower() in _PASSED_ON]
        return Told(answer.status, kept, body)


_PASSED_ON = frozenset({"content-type", "idempotent-replayed"})


class _Server(ThreadingHTTPServer):
    # Its end waits for every connection's thread.
    daemon_threads = False

    def __init__(self, proxy: ProviderProxy) -> None:
        self.proxy = proxy
        super().__init__(("127.0.0.1", 0), _Connection)


class _Connection(BaseHTTPRequestHandler):
    server: _Server

    def _answer(self) -> None:
        length = int(self.headers.get("Content-Length") or 0)
        body = self.rfile.read(length)
        if len(body) < length:
            # Half a request is none.
            self.close_connection = True
            return
        seen = Seen(self.command, self.path, dict(self.headers), body)
        told = self.server.proxy.take(seen)
        self.close_connection = True
        if told is None:
            self.connection.shutdown(socket.SHUT_RDWR)
            return
        # Who has waited too long is gone.
        with suppress(OSError):
            self._tell(told)

    def _tell(self, told: Told) -> None:
        self.send_response(told.status)
        for name, value in told.headers:
            self.send_header(name, value)
        if "Content-Length" not in dict(told.headers):
            self.send_header("Content-Length", str(len(told.body)))
        self.end_headers()
        self.wfile.write(told.body)

    do_GET = do_POST = do_PUT = _answer

    def log_message(self, format: str, *args: object) -> None:
        """Say nothing."""
