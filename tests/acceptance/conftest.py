"""Whole parts: a real Prefect server, and a real browser in front of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from channels.local_server import LocalServer
from tests.acceptance.deployment import deploy, start_worker
from tests.acceptance.installation import Installation
from tests.smtp_server import RecordingServer

if TYPE_CHECKING:
    from playwright.sync_api import Browser, Page

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The new UI asks Amplitude for a configuration, analytics off or not.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LocalServer]:
    """One server for all tests; nothing is configured globally."""
    with LocalServer(tmp_path_factory.mktemp("prefect-server")) as server:
        yield server


@pytest.fixture
def installation(
    prefect_server: LocalServer,
    mail: RecordingServer,
    tmp_path: Path,
    sqlite_template: Path,
) -> Iterator[Installation]:
    """An installation of the test's own, on the one Prefect server."""
    shutil.copyfile(sqlite_template, tmp_path / "placet.db")
    made = Installation(tmp_path, prefect_server.api_url, mail)
    yield made
    made.close()


@pytest.fixture(scope="session")
def deployed(
    prefect_server: LocalServer,
    tmp_path_factory: pytest.TempPathFactory,
    sqlite_template: Path,
) -> Iterator[Installation]:
    """The installation behind the deployment, with its worker."""
    folder = tmp_path_factory.mktemp("deployed")
    shutil.copyfile(sqlite_template, folder / "placet.db")
    with RecordingServer() as smtp:
        made = Installation(folder, prefect_server.api_url, smtp)
        deploy(made)
        start_worker(made)
        yield made
        made.close()


@pytest.fixture
def chromium() -> Iterator[Browser]:
    """A browser per test: while one is open, its thread can't run asyncio itself."""
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"needs a browser at {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch(executable_path=CHROMIUM, args=list(QUIET))
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: Browser) -> Page:
    """An empty page, 1280 by 1000 pixels."""
    return chromium.new_page(viewport={"width": 1280, "height": 1000})
