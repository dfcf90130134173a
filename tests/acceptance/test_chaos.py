"""A short chaos run: what is promised holds while everything around it dies."""

from __future__ import annotations

from pathlib import Path

import pytest

from channels.local_server import LocalServer
from tests.acceptance.test_dead_processes import copy_server
from tests.chaos.checks import Check, all_checks
from tests.chaos.house import all_parts
from tests.chaos.plan import Database, make_plan
from tests.chaos.report import told
from tests.chaos.run import Run
from tests.smtp_server import Received

SEED = 3
FORGED = Received(
    sender="desk@placet.test",
    recipients=("chaos-1@example.com",),
    content=b"Message-ID: <op-0@placet.test>\r\nSubject: x\r\n\r\nWe pay.\r\n",
)


def broken(checks: list[Check]) -> set[str]:
    """The promises that do not hold."""
    return {check.promise for check in checks if check.broken}


# On SQLite as well by `make chaos DB=sqlite`; here the one with a server that dies.
@pytest.mark.parametrize("dialect", ["postgresql"])
@pytest.mark.timeout(400)
def test_whatever_dies_what_was_approved_is_sent_once_and_nothing_else(
    dialect: Database, prefect_server: LocalServer, tmp_path: Path
) -> None:
    """X1, X5, L8, R1: six requests; the checks themselves notice what they must."""
    plan = make_plan(6, SEED, dialect)
    home = copy_server(prefect_server, tmp_path / "prefect")
    with all_parts(plan, tmp_path, home) as parts:
        run = Run(plan, parts)
        run.to_its_end()
        checks = all_checks(run)
        assert broken(checks) == set(), told(run, checks)
        parts.mail.received.extend((parts.mail.received[-1], FORGED))
        assert {
            "no operation's mail came twice",
            "every mail is, word for word, what somebody approved",
            "every mail has its approval in the ledger, and its bytes",
        } <= broken(all_checks(run))


def test_a_seed_is_a_plan() -> None:
    """What has failed once can be tried again."""
    assert make_plan(50, 7, "postgresql") == make_plan(50, 7, "postgresql")
    assert make_plan(50, 7, "postgresql") != make_plan(50, 8, "postgresql")
