"""A request that policy stops is no failure: its run says so, and nothing was sent."""

from __future__ import annotations

from tests.acceptance.deployment import start_run
from tests.acceptance.installation import Installation


def test_a_run_whose_ticket_is_not_there_ends_blocked_and_not_failed(
    deployed: Installation,
) -> None:
    """A8: `placet submit` would have refused it; Prefect's own page does not look."""
    run = start_run(deployed, "no-ticket", {})

    assert run.wait_for("Blocked", "Completed", "Failed", "Crashed") == "Blocked"
    assert run.state_type() == "COMPLETED"
    assert "There is no ticket no-ticket" in run.message()
    assert deployed.mails("no-ticket") == []
