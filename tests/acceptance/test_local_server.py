"""The server that Placet starts for whoever has none lives no longer than its owner."""

import json
import os
import signal
import socket
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path
from urllib.parse import urlsplit

import pytest

from channels.local_server import LocalServer
from policies.errors import Unavailable

ROOT = Path(__file__).parents[2]
OWNER = """
import sys, time
from pathlib import Path
from channels.local_server import LocalServer
with LocalServer(Path(sys.argv[1])):
    time.sleep(600)
"""


@contextmanager
def owner_of(home: Path) -> Iterator[tuple[subprocess.Popen[bytes], int]]:
    """Another process that owns a server, and the server's pid."""
    owner = subprocess.Popen([sys.executable, "-c", OWNER, str(home)], cwd=ROOT)
    try:
        wait_until((home / "server.json").exists)
        yield owner, int(json.loads((home / "server.json").read_text())["pid"])
    finally:
        owner.kill()
        owner.wait()


def wait_until(look: Callable[[], bool], within: float = 60) -> None:
    deadline = time.monotonic() + within
    while not look():
        assert time.monotonic() < deadline, "It did not happen in time."
        time.sleep(0.05)


def is_gone(pid: int) -> bool:
    try:
        os.kill(pid, 0)
    except ProcessLookupError:
        return True
    return False


def is_free(url: str) -> bool:
    with socket.socket() as probe:
        return probe.connect_ex(("127.0.0.1", urlsplit(url).port or 0)) != 0


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGINT, signal.SIGTERM])
def test_the_server_ends_however_its_owner_ends(
    how: signal.Signals, tmp_path: Path
) -> None:
    with owner_of(tmp_path) as (owner, server):
        owner.send_signal(how)
        wait_until(lambda: is_gone(server))


def test_a_server_that_runs_is_shared_and_left_to_its_owner(tmp_path: Path) -> None:
    with LocalServer(tmp_path) as owned:
        with LocalServer(tmp_path) as shared:
            assert (shared.url, shared.is_ours) == (owned.url, False)
        assert not is_free(owned.url)
    assert is_free(owned.url)


def test_whoever_shared_a_server_goes_on_at_its_address_when_it_ends(
    tmp_path: Path,
) -> None:
    """L8: what waits there is not left behind by the one that ends first."""
    owner, guest, third = (LocalServer(tmp_path) for _ in range(3))
    owner.start()
    with guest, third:
        address = guest.url
        owner.stop()
        assert is_free(address)

        guest.keep_up()
        third.keep_up()

        assert (guest.is_ours, third.is_ours, third.url) == (True, False, address)
        assert third.find()


def test_two_who_start_at_once_get_one_server(tmp_path: Path) -> None:
    both = [LocalServer(tmp_path), LocalServer(tmp_path)]
    with ThreadPoolExecutor() as threads:
        list(threads.map(LocalServer.start, both))

    assert both[0].url == both[1].url
    assert [server.is_ours for server in both].count(True) == 1
    for server in both:
        server.stop()


def test_a_busy_port_gives_another_and_the_page_calls_the_right_one(
    tmp_path: Path,
) -> None:
    with socket.create_server(("127.0.0.1", 0)) as taken:
        port = taken.getsockname()[1]
        with LocalServer(tmp_path, port) as server:
            connection = HTTPConnection(urlsplit(server.url).netloc)
            connection.request("GET", "/ui-settings")
            settings = json.loads(connection.getresponse().read())
            connection.close()

    assert server.url != f"http://127.0.0.1:{port}"
    assert settings["api_url"] == server.api_url


def test_a_server_that_cannot_start_says_why(tmp_path: Path) -> None:
    (tmp_path / "prefect.db").write_text("This is no database.")

    with pytest.raises(Unavailable, match="file is not a database"):
        LocalServer(tmp_path).start()

    assert not (tmp_path / "server.json").exists()
