"""A request that policy stops is no failure: its run says so, and nothing was sent."""

from __future__ import annotations

from blocks.ledger.sessions import workflow_id
from tests.acceptance.installation import Installation


def test_a_run_whose_ticket_is_not_there_ends_blocked_and_not_failed(
    installation: Installation,
) -> None:
    """A8"""
    process = installation.start_local("no-ticket", "no-ticket")
    assert process.wait() == 0, process.said()
    run = installation.run_of(workflow_id("no-ticket"))
    assert (run.state(), run.state_type()) == ("Blocked", "COMPLETED")
    assert "There is no ticket no-ticket" in run.message()
    assert installation.mails("no-ticket") == []
