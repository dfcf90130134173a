"""A Prefect server of one's own, for whoever has none configured.

It lives exactly as long as its owner (`channels.child`). Prefect is run, never
imported.
"""

import fcntl
import json
import os
import socket
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from http.client import HTTPConnection, HTTPException
from pathlib import Path
from types import TracebackType
from typing import Any, Literal, Self
from urllib.parse import urlsplit
from uuid import UUID

from blocks import private
from channels.child import Child
from policies.errors import Misconfigured, Unavailable

Ui = Literal["old", "new"]

# A first start migrates an empty database: 9 s on two idle cores, later ones take 3 s.
START_WITHIN = 120.0
_POLL = 0.1
_TAIL_LINES = 20


class LocalServer:
    """A real Prefect server on 127.0.0.1 with its SQLite database in `home`.

    A server that already runs on `home` is used and left running. A busy `port`, or
    none, gives a free one. Raises `Unavailable` when no server comes up.
    """

    def __init__(
        self, home: Path, port: int | None = None, *, start_within: float = START_WITHIN
    ) -> None:
        self.home = home.expanduser().resolve()
        self.url = ""
        self._port = port
        self._start_within = start_within
        self._process: Child | None = None

    def __enter__(self) -> Self:
        self.start()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        self.stop()

    @property
    def is_ours(self) -> bool:
        """Whether this object started the server, and so stops it."""
        return self._process is not None

    @property
    def api_url(self) -> str:
        """What `PREFECT_API_URL` has to be for this server."""
        return f"{self.url}/api"

    @property
    def ui_url(self) -> str:
        """Where a browser starts."""
        return self.url

    @property
    def log(self) -> Path:
        """What the server said since its last start."""
        return self.home / "server.log"

    def flow_run_url(self, run_id: UUID | str, ui: Ui = "new") -> str:
        """The page of one flow run in the old or the new Prefect UI."""
        return flow_run_url(self.url, run_id, ui)

    def start(self) -> None:
        """Start the server, or find the one that already runs on this home."""
        _make_private(self.home)
        with _only_one(self.home / "server.lock"):
            if not self.find():
                self._start_ours()

    def keep_up(self) -> None:
        """Start a server at the same address if the one that was found has ended.

        Clients of this process have read that address once, and know no other.
        """
        if self.is_ours or self._recorded() is not None:
            return
        address = self.url
        with _only_one(self.home / "server.lock"):
            if self.find() and self.url == address:
                return
            self.url, self._port = address, urlsplit(address).port
            self._start_ours()

    def find(self) -> bool:
        """Whether a server runs on this home already; if so, `url` is its address."""
        self.url = self._recorded_url() or ""
        return bool(self.url)

    def stop(self) -> None:
        """End our server and all that it started; someone else's is left alone."""
        if (process := self._process) is None:
            return
        self._process = None
        self._record.unlink(missing_ok=True)
        process.stop()

    @property
    def _record(self) -> Path:
        return self.home / "server.json"

    def _recorded_url(self) -> str | None:
        url = self._recorded()
        return url if url is not None and self._answers(url) else None

    def _recorded(self) -> str | None:
        """The address that is noted down, if the process that it names is there."""
        try:
            record = json.loads(self._record.read_text())
            url, pid = str(record["url"]), int(record["pid"])
            os.kill(pid, 0)
        except (OSError, ValueError, KeyError, TypeError):
            return None
        return url

    def _start_ours(self) -> None:
        port = _free_port(self._port)
        self.url = f"http://127.0.0.1:{port}"
        try:
            self._process = self._spawn(port)
            self._wait_until_healthy(self._process)
            record = {"url": self.url, "pid": self._process.pid}
            self._record.write_text(json.dumps(record))
        except BaseException:
            self.stop()
            raise

    def _spawn(self, port: int) -> Child:
        options = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
        return Child(
            "prefect",
            options,
            log=self.log,
            # Prefect reads .env and prefect.toml from where it is started.
            cwd=self.home,
            env=self._environment(),
        )

    def _environment(self) -> dict[str, str]:
        """Only our settings: what is configured for another server stays with it."""
        inherited = {k: v for k, v in os.environ.items() if not k.startswith("PREFECT")}
        return inherited | {
            "DO_NOT_TRACK": "1",
            "PREFECT_HOME": str(self.home),
            "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
            "PREFECT_SERVER_DATABASE_CONNECTION_URL": (
                f"sqlite+aiosqlite:///{self.home / 'prefect.db'}"
            ),
            # Otherwise the UI calls port 4200, whatever --port says.
            "PREFECT_SERVER_UI_API_URL": self.api_url,
            "PREFECT_SERVER_UI_SHOW_PROMOTIONAL_CONTENT": "false",
            # Otherwise Prefect unpacks its UI into site-packages.
            "PREFECT_SERVER_UI_STATIC_DIRECTORY": str(self.home / "ui"),
        }

    def _wait_until_healthy(self, process: Child) -> None:
        deadline = time.monotonic() + self._start_within
        while not self._answers(self.url):
            if process.ended_with is not None:
                raise self._unavailable(f"ended with status {process.ended_with}")
            if time.monotonic() > deadline:
                raise self._unavailable(f"is not up after {self._start_within:.0f} s")
            time.sleep(_POLL)

    def _answers(self, url: str) -> bool:
        """Whether the server at this address is healthy and is the one of our home."""
        if _get(url, "/api/health") is not True:
            return False
        settings = _get(url, "/api/admin/settings")
        return isinstance(settings, dict) and settings.get("home") == str(self.home)

    def _unavailable(self, what: str) -> Unavailable:
        said = self.log.read_text(errors="replace").strip().splitlines()
        tail = "\n".join(said[-_TAIL_LINES:]) or "nothing"
        return Unavailable(
            f"The local Prefect server {what}. It said:\n{tail}\n",
            code="local_server_failed",
            hint=f"See {self.log}, or set PREFECT_API_URL to a server that runs.",
            log=str(self.log),
        )


def flow_run_url(server: str, run_id: UUID | str, ui: Ui) -> str:
    """The page of one flow run in a UI of the Prefect server at that address."""
    return f"{server}{'/v2' if ui == 'new' else ''}/runs/flow-run/{run_id}"


def _make_private(home: Path) -> None:
    """Form answers lie in this database in the clear."""
    try:
        private.make_folder(home)
    except OSError as exc:
        raise Misconfigured(
            f"The local Prefect server cannot live in {home}: {exc.strerror}.",
            code="home_not_usable",
            hint="Choose a folder that you may write to.",
        ) from exc


@contextmanager
def _only_one(lock: Path) -> Iterator[None]:
    """Two commands that start at once share one server instead of one database."""
    with lock.open("w") as handle:
        fcntl.flock(handle, fcntl.LOCK_EX)
        yield


def _free_port(wanted: int | None) -> int:
    for port in (wanted or 0, 0):
        with socket.socket() as probe, suppress(OSError):
            probe.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
            probe.bind(("127.0.0.1", port))
            return int(probe.getsockname()[1])
    raise Unavailable("No port is free on 127.0.0.1.", code="no_free_port")


def _get(url: str, path: str) -> Any:
    """The JSON at an address, or None while nobody answers; never through a proxy."""
    connection = HTTPConnection(urlsplit(url).netloc, timeout=5)
    try:
        connection.request("GET", path)
        return json.loads(connection.getresponse().read())
    except (OSError, HTTPException, ValueError):
        return None
    finally:
        connection.close()
