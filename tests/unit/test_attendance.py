"""What is done for a request that no process works on, by where its run is."""

from datetime import UTC, datetime, timedelta

import pytest

from policies.attendance import Care, Run, RunKind, Unattended, care_for

NOW = datetime(2025, 3, 4, 5, 6, 7, tzinfo=UTC)


def care(kind: RunKind, since: float, *, deployed: bool = True, **more: bool) -> Care:
    request = Unattended(deployed=deployed, owed=more.get("owed", False))
    run = Run(kind=kind, name=kind, since=NOW - timedelta(seconds=since))
    return care_for(request, run, NOW)


@pytest.mark.parametrize(
    ("kind", "since", "then"),
    [
        ("coming", 3600, "nothing"),
        ("taken", 59, "nothing"),
        ("taken", 60, "restart"),
        ("running", 19, "nothing"),
        ("running", 20, "restart"),
        ("suspended", 3600, "nothing"),
        ("paused", 0, "restart"),
        ("ended", 0, "restart"),
        ("cancelled", 0, "cancel"),
        ("gone", 0, "report"),
        ("not known", 0, "nothing"),
    ],
)
def test_a_run_that_nobody_carries_on_is_started_again(
    kind: RunKind, since: float, then: Care
) -> None:
    """X8: also one that a worker took and died over before it began."""
    assert care(kind, since) == then


@pytest.mark.parametrize("kind", ["taken", "running", "paused", "ended", "not known"])
def test_what_no_worker_can_take_is_reported(kind: RunKind) -> None:
    """X8"""
    assert care(kind, 3600, deployed=False) == "report"


def test_a_suspended_run_is_woken_for_what_it_has_not_taken_up() -> None:
    """C1"""
    assert care("suspended", 0, owed=True) == "wake"
