"""Where a chaos run lives: its ledger, its servers, and all that works on them."""

from __future__ import annotations

import socket
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

from blocks.ledger import schema
from blocks.ledger.database import open_ledger
from channels.local_server import LocalServer
from tests.acceptance.deployment import deploy
from tests.acceptance.installation import Installation
from tests.chaos.mail import MoodyServer
from tests.chaos.parts import Parts
from tests.chaos.plan import Plan, moods
from tests.chaos.postgres import postgres
from tests.chaos.worker import Worker

# A mail server that hangs must not hold up everything; the lease outlasts it.
_SETTINGS = {"mail__timeout_seconds": "1.5", "lease_seconds": "3"}


@contextmanager
def all_parts(plan: Plan, folder: Path, server_home: Path) -> Iterator[Parts]:
    """Everything started; `server_home` may hold a Prefect server's database."""

    def kill_sender(recipient: str) -> None:
        parts.kill_sender(recipient)

    with ExitStack() as stack:
        base = None
        url = f"sqlite:///{folder / 'placet.db'}"
        if plan.database == "postgresql":
            base = stack.enter_context(postgres())
            url = base.url
        _migrate(url)
        mail = MoodyServer(moods(plan.seed), kill_sender)
        stack.enter_context(mail)
        server = stack.enter_context(LocalServer(server_home, _free_port()))
        installation = stack.enter_context(
            Installation(folder, server.api_url, mail, database_url=url, **_SETTINGS)
        )
        worker = None
        if plan.has_worker:
            deploy(installation)
            worker = Worker(installation)
        parts = Parts(installation, server, mail, base, worker)
        stack.callback(parts.close)
        yield parts


def _migrate(url: str) -> None:
    ledger = open_ledger(url)
    schema.upgrade(ledger)
    ledger.engine.dispose()


def _free_port() -> int:
    """One and the same for every start of the Prefect server."""
    with socket.socket() as probe:
        probe.bind(("127.0.0.1", 0))
        return int(probe.getsockname()[1])
