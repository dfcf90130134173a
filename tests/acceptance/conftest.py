"""Whole parts: a real Prefect server, and a real browser in front of it."""

from __future__ import annotations

import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path
from typing import TYPE_CHECKING

import pytest

from channels.local_server import LocalServer
from tests.acceptance.deployment import deploy, start_worker
from tests.acceptance.installation import Installation
from tests.acceptance.prefect_ui import UIS, PrefectUI, UiName
from tests.acceptance.requests_under_way import Carrier
from tests.acceptance.reviewer import Reviewer
from tests.acceptance.shell import Shell
from tests.smtp_server import RecordingServer
from tests.world import World

if TYPE_CHECKING:
    from playwright.sync_api import BrowserContext, Page

CHROMIUM = Path("/usr/bin/chromium")
QUIET = (
    "--no-sandbox",
    "--disable-gpu",
    "--disable-3d-apis",
    "--disable-quic",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
    # The new UI asks Amplitude for a configuration, analytics off or not.
    "--host-resolver-rules=MAP * ~NOTFOUND, EXCLUDE 127.0.0.1",
)
# The picture of a run's tasks costs as much as all the rest of its page.
NO_GRAPH = "HTMLCanvasElement.prototype.getContext = () => null"


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
    with Installation(tmp_path, prefect_server.api_url, mail) as made:
        yield made


@pytest.fixture
def shell(world: World) -> Shell:
    """The command, on an installation that has no Prefect server."""
    # The command knows the present alone.
    world.clock.set(datetime.now(UTC))
    return Shell(world)


@pytest.fixture(scope="session")
def deployed(
    prefect_server: LocalServer,
    tmp_path_factory: pytest.TempPathFactory,
    sqlite_template: Path,
) -> Iterator[Installation]:
    """The installation behind the deployment, with its worker."""
    folder = tmp_path_factory.mktemp("deployed")
    shutil.copyfile(sqlite_template, folder / "placet.db")
    # A worker reports a killed process twice, seconds apart, and the second report
    # undoes what was done meanwhile: the lease must outlast it, as by default.
    settings = {"lease_seconds": "15"}
    with (
        RecordingServer() as smtp,
        Installation(folder, prefect_server.api_url, smtp, **settings) as made,
    ):
        deploy(made)
        start_worker(made)
        yield made


@pytest.fixture(scope="session")
def carrier(
    prefect_server: LocalServer,
    tmp_path_factory: pytest.TempPathFactory,
    sqlite_template: Path,
) -> Iterator[Carrier]:
    """One process for many requests, each of which is a test's own."""
    folder = tmp_path_factory.mktemp("carrier")
    shutil.copyfile(sqlite_template, folder / "placet.db")
    # Nobody waits for a poll, and no test is longer than the hot window.
    settings = {"poll_seconds": "0.1", "hot_pause_seconds": "600"}
    with (
        RecordingServer() as smtp,
        Installation(folder, prefect_server.api_url, smtp, **settings) as made,
        Carrier(made) as carrier,
    ):
        yield carrier


@pytest.fixture(scope="module")
def chromium(tmp_path_factory: pytest.TempPathFactory) -> Iterator[BrowserContext]:
    """A browser for a module: while it is open, its thread can't run asyncio itself.

    It keeps what it has compiled, as a person's does; that halves the time of a page.
    """
    playwright = pytest.importorskip("playwright.sync_api", reason="needs playwright")
    if not CHROMIUM.exists():
        pytest.skip(f"needs a browser at {CHROMIUM}")
    with playwright.sync_playwright() as driver:
        browser = driver.chromium.launch_persistent_context(
            tmp_path_factory.mktemp("chromium"),
            executable_path=CHROMIUM,
            args=list(QUIET),
            viewport={"width": 1280, "height": 1000},
        )
        browser.add_init_script(NO_GRAPH)
        yield browser
        browser.close()


@pytest.fixture
def page(chromium: BrowserContext) -> Iterator[Page]:
    """An empty page, 1280 by 1000 pixels."""
    with chromium.new_page() as page:
        # Two browsers, a worker and a server on two busy cores: half a minute is short.
        page.set_default_timeout(90_000)
        yield page


@pytest.fixture(params=UIS)
def ui_name(request: pytest.FixtureRequest) -> UiName:
    """Each of Prefect's pages."""
    name: UiName = request.param
    return name


@pytest.fixture
def ui(ui_name: UiName, page: Page, prefect_server: LocalServer) -> PrefectUI:
    """A page that shows forms."""
    return UIS[ui_name](page, prefect_server.url)


@pytest.fixture
def reviewer(ui: PrefectUI, carrier: Carrier) -> Reviewer:
    """A reviewer in front of that page."""
    return Reviewer(ui, carrier.installation.add_reviewer())
