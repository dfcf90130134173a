"""What people read of an outcome that is not known, beyond what commands print."""

import io
from collections.abc import Callable

import pytest
from rich.console import Console

from blocks.prefect_runs import Woken
from channels import outcomes
from channels.local_watch import LocalWatch
from channels.review_progress import follow, place_of
from channels.review_terminal import Terminal
from channels.service import Service
from policies.errors import Conflict
from tests.acceptance.eventually import eventually
from tests.bank.world import BankWorld
from tests.integration.test_reconcile import lost
from tests.provider_proxy import ProviderProxy
from tests.smtp_server import RecordingServer
from tests.unattended import ended_as_unknown
from tests.world import World

Printed = pytest.CaptureFixture[str]


def told(service: Service, workflow: str) -> str:
    """What the status says of a request's effects."""
    lines: list[str] = []
    to: Callable[[str], None] = lines.append
    outcomes.tell_all(service.status(workflow), to)
    return "\n".join(lines)


def test_a_provider_that_will_tell_is_said_to_be_asked_and_when(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5: and that a person who knows better may settle it."""
    work = lost(bank, proxy, "drop_after")
    due = bank.claim_of(work).due_at
    said = told(Service(bank.services), work.workflow)
    at = f"{due:%Y-%m-%d %H:%M:%S} UTC"
    assert f"The supervisor asks its provider again, at {at} or soon after." in said
    assert "A person who knows better may settle it:" in said
    assert f"placet resolve {work.workflow} not-happened --as YOU" in said


def test_who_resumes_what_its_provider_will_tell_learns_that_it_is_asked(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5, W4"""
    work = lost(bank, proxy, "drop_after")
    with pytest.raises(Conflict) as refused:
        Service(bank.services).to_resume(work.workflow)
    assert refused.value.code == "request_closed"
    assert "the supervisor asks its provider again, at 2" in str(refused.value)
    assert f"placet resolve {work.workflow} happened --as YOU" in str(refused.value)


def test_a_review_that_ends_in_an_unknown_outcome_tells_what_settles_it(
    world: World,
) -> None:
    """X5, W4: who has just approved it is the first who should know."""
    work, page, service = (
        ended_as_unknown(world),
        io.StringIO(),
        Service(world.services),
    )
    terminal = Terminal(Console(file=page, width=200))
    before = place_of(service, work.workflow)
    follow(service, before, Woken(state="woken", detail=""), terminal, 0)
    assert "The request is unknown." in page.getvalue()
    assert "to grace@example.com" in page.getvalue()
    assert f"placet resolve {work.workflow} happened --as YOU" in page.getvalue()
    assert "unknown: version" not in page.getvalue()


def test_a_local_run_that_still_waits_tells_what_is_not_known_by_then(
    world: World, mail: RecordingServer, capsys: Printed
) -> None:
    """X5: one mail was lost, the other one is asked for again."""
    mail.behaviour = "drop_before_reply"
    work = world.resumed(recipients=["c-1", "c-2"])
    world.edit_address("c-2", "turing@example.com")
    work, _ = world.form(work)
    said: list[str] = []

    def tells() -> bool:
        said.append(capsys.readouterr().err)
        return f"placet resolve {work.workflow} happened" in "".join(said)

    with LocalWatch(Service(world.services), work.workflow, "http://127.0.0.1/api"):
        eventually(tells)
    assert f"placet review {world.items(work)[1].id} --as YOU" in "".join(said)
