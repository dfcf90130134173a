"""A Prefect server that answers with errors ends no supervisor."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from http.server import BaseHTTPRequestHandler, HTTPServer

import pytest
from prefect.settings import PREFECT_API_URL, PREFECT_CLIENT_MAX_RETRIES
from prefect.settings import temporary_settings as prefect_with

from blocks import prefect_runs, prefect_states
from channels.commands import supervise as command
from policies.errors import Unavailable
from tasks import opening
from tests.unattended import whole_turn
from tests.world import FLOW_RUN, World


class Broken(BaseHTTPRequestHandler):
    """Says hello, and fails at everything else."""

    def _answer(self) -> None:
        self.rfile.read(int(self.headers.get("Content-Length") or 0))
        fine = self.path.endswith("/hello") or "version" in self.path
        body = b'"hi"' if fine else b'{"exception_message": "database is locked"}'
        self.send_response(200 if fine else 500)
        self.send_header("Content-Type", "application/json")
        self.send_header("Content-Length", str(len(body)))
        self.end_headers()
        self.wfile.write(body)

    do_GET = do_POST = _answer

    def log_message(self, *_: object) -> None:
        """Nothing on stderr."""


@pytest.fixture
def broken() -> Iterator[str]:
    """The URL of a server whose database is locked."""
    server = HTTPServer(("127.0.0.1", 0), Broken)
    thread = threading.Thread(target=server.serve_forever)
    thread.start()
    url = f"http://127.0.0.1:{server.server_port}/api"
    with prefect_with({PREFECT_API_URL: url, PREFECT_CLIENT_MAX_RETRIES: 0}):
        yield url
    server.shutdown()
    thread.join()
    server.server_close()


def test_an_error_of_the_server_is_told_as_one(broken: str, world: World) -> None:
    """W5: where, and what it said."""
    with pytest.raises(Unavailable, match=f"{broken} failed to answer .* HTTP 500"):
        prefect_runs.read_run(FLOW_RUN)
    assert prefect_states.read_one(FLOW_RUN, world.clock.now).kind == "not known"


def test_a_turn_beside_a_broken_server_comes_to_its_end(
    broken: str, world: World
) -> None:
    """W5: in words, on one line."""
    world.deployed = True
    opening.give_lease_back(world.services, world.opened())
    told = whole_turn(world)
    assert [row.about for row in told.failed] == ["look_after_requests"]
    assert "HTTP 500" in told.failed[0].what and "\n" not in told.failed[0].what


class Ended(Exception):
    """Stands for a signal that ends the service."""


def test_the_service_outlives_a_turn_that_fails(
    monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """W5: whatever it fails with, told in one line."""

    class Serving:
        def supervise(self) -> None:
            raise RuntimeError("database\nis locked")

    turns: list[float] = []

    def sleep(seconds: float) -> None:
        turns.append(seconds)
        if len(turns) == 2:
            raise Ended

    monkeypatch.setattr(command, "service", Serving)
    monkeypatch.setattr("channels.commands.supervise.time.sleep", sleep)
    with pytest.raises(Ended):
        command.supervise()
    said = capsys.readouterr().err.splitlines()
    assert said == ["placet: RuntimeError: database is locked"] * 2
