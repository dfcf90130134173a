"""A payment provider for tests that ignores the key: localstripe, in its own process.

Its own command binds every address; this one listens on 127.0.0.1 only.
"""

import socket
import subprocess
import sys
from typing import Any

import httpx

TOKEN = "sk_test_of_the_tests"
_SERVE = """
import socket, sys
from aiohttp import web
from localstripe.server import app
web.run_app(app, sock=socket.socket(fileno=int(sys.argv[1])), print=None)
"""


class LocalStripe:
    """Listens on a free port of 127.0.0.1."""

    def __enter__(self) -> "LocalStripe":
        with socket.create_server(("127.0.0.1", 0)) as listening:
            self.port: int = listening.getsockname()[1]
            number = listening.fileno()
            self._process = subprocess.Popen(
                [sys.executable, "-c", _SERVE, str(number)], pass_fds=[number]
            )
        self._client = httpx.Client(
            base_url=f"http://127.0.0.1:{self.port}",
            headers={"Authorization": f"Bearer {TOKEN}"},
            timeout=60,
        )
        return self

    def __exit__(self, *raised: object) -> None:
        self._client.close()
        self._process.kill()
        self._process.wait(timeout=10)

    def forget(self) -> None:
        """Begin anew, with nothing done."""
        self._client.delete("/_config/data").raise_for_status()

    @property
    def payouts(self) -> list[dict[str, Any]]:
        """Everything that it has done, the newest first."""
        found = self._client.get("/v1/payouts", params={"limit": 100})
        rows: list[dict[str, Any]] = found.raise_for_status().json()["data"]
        return rows

    def find(self, key: str) -> str | None:
        """The payout made for an operation, looked for in the list of all."""
        for payout in self.payouts:
            if payout["metadata"].get("operation") == key:
                return str(payout["id"])
        return None
