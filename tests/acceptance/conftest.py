"""Whole parts: a real Prefect server, and a real browser in front of it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from channels.local_server import LocalServer

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
