"""Prefect's own traps on a real server: section P of the failures in the field."""

from __future__ import annotations

import re
import shutil
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextvars import Context, copy_context
from datetime import UTC, datetime, timedelta
from pathlib import Path
from threading import Barrier
from typing import Any

import httpx
import pytest

from blocks import prefect_runs
from blocks.desk import HandedIn, Taken
from blocks.ledger.people import TokenProof
from blocks.ledger.sessions import workflow_id
from blocks.prefect_runs import Woken
from channels.local_server import LocalServer
from policies.plan import ItemVerdict
from tests.acceptance.command_line import environment
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation, Person
from tests.acceptance.prefect_form import Form, PrefectRun
from tests.acceptance.requests_under_way import Carrier, UnderWay
from tests.smtp_server import RecordingServer
from tests.world import TERMINAL

FOUR = 4


def record_approval(installation: Installation, request: UnderWay, by: Person) -> None:
    """Approve in the ledger, and let nobody wake the run."""
    item = request.items[0]
    digest = installation.version(item).snapshot.digest
    said = ItemVerdict(item=item.id, verdict="approve", version=1, snapshot=digest)
    handed = HandedIn(
        workflow=request.workflow,
        reviewer=by.id,
        proof=TokenProof(token=by.token),
        channel=TERMINAL,
        verdicts=(said,),
    )
    assert isinstance(installation.services.desk.hand_in(handed), Taken)


def paused(installation: Installation, run: PrefectRun, **details: Any) -> None:
    """Set a run's state to a suspension of our own making."""
    state = {"type": "PAUSED", "name": "Suspended", "state_details": details}
    path = f"/flow_runs/{run.id}/set_state"
    made = installation.api.post(path, json={"state": state, "force": True})
    assert made.json()["status"] == "ACCEPT"


def resumed_at_once(
    installation: Installation, run: PrefectRun, answers: list[dict[str, str]]
) -> list[str]:
    """What Prefect says to answers in the same instant: its body, or the status."""
    line = Barrier(len(answers))

    def send(answer: dict[str, str]) -> str:
        url = f"{installation.api.base_url}flow_runs/{run.id}/resume"
        line.wait()
        said = httpx.post(url, json={"run_input": answer}, timeout=30, trust_env=False)
        return str(said.json()["status"]) if said.is_success else str(said.status_code)

    with ThreadPoolExecutor(len(answers)) as pool:
        return list(pool.map(send, answers))


@pytest.fixture
def asked(carrier: Carrier) -> UnderWay:
    """A request that waits at its form."""
    return carrier.start()


@pytest.fixture
def hasty(
    prefect_server: LocalServer,
    mail: RecordingServer,
    tmp_path: Path,
    sqlite_template: Path,
) -> Iterator[Installation]:
    """An installation whose hot window is over in two seconds."""
    shutil.copyfile(sqlite_template, tmp_path / "placet.db")
    window = {"hot_pause_seconds": "2"}
    with Installation(tmp_path, prefect_server.api_url, mail, **window) as made:
        yield made


def test_p4_a_wake_that_prefect_refuses_is_not_told_as_one(
    carrier: Carrier, asked: UnderWay
) -> None:
    asked.form()
    over = datetime.now(UTC) - timedelta(minutes=1)
    paused(carrier.installation, asked.run, pause_timeout=over.isoformat())

    with environment(carrier.installation.env):
        woken = prefect_runs.wake(asked.run.id, live=False)

    assert (asked.run.state(), woken.state) == ("Failed", "dead")
    assert woken.detail.endswith("the run is Failed")
    assert (asked.told("approved"), asked.mails) == ([], [])
    carrier.let_go(asked.id)


def test_p5_of_four_who_wake_a_run_at_once_each_reads_how_it_stands(
    carrier: Carrier, asked: UnderWay
) -> None:
    placet = carrier.installation
    asked.form()
    record_approval(placet, asked, placet.add_reviewer())

    def wake(context: Context) -> Woken:
        return context.run(prefect_runs.wake, asked.run.id, live=True)

    with environment(placet.env), ThreadPoolExecutor(FOUR) as pool:
        told = list(pool.map(wake, [copy_context() for _ in range(FOUR)]))

    assert {one.state for one in told} <= {"woken", "not waiting"}
    assert (asked.ended(), len(asked.mails)) == ("completed", 1)
    assert len(asked.told("resumed")) == 1


def test_b12_p5_of_four_answers_at_once_one_takes_effect(
    carrier: Carrier, asked: UnderWay
) -> None:
    placet, form = carrier.installation, asked.form()
    words = ("approve", "reject") * 2
    answers = [
        placet.fill_in(form, word, placet.add_reviewer(), reason="so") for word in words
    ]

    said = resumed_at_once(placet, asked.run, answers)
    if "ACCEPT" not in said:
        # All were told that the database is busy, and the run still waits.
        asked.run.resume(answers[0])

    assert said.count("ACCEPT") <= 1
    assert set(said) <= {"ACCEPT", "ABORT", "REJECT", "503"}
    end, approved, rejected = (
        asked.ended(),
        asked.told("approved"),
        asked.told("rejected"),
    )
    assert len(approved) + len(rejected) == 1
    assert end == ("completed" if approved else "rejected")
    assert len(asked.mails) == len(approved)


def test_p8_what_waits_at_once_waits_in_one_pause(carrier: Carrier) -> None:
    placet, request = carrier.installation, carrier.start("Ada", "Grace")
    form = request.form()
    history = placet.api.get(
        "/flow_run_states/", params={"flow_run_id": request.run.id}
    )

    assert len(form.verdicts) == 2
    assert [state["name"] for state in history.json()].count("Paused") == 1
    assert re.fullmatch(r"paused-[a-z0-9-]+", form.key)
    request.run.resume(placet.fill_in(form, "approve", placet.add_reviewer()))
    assert (request.ended(), len(request.mails)) == ("completed", 2)


def test_p9_an_answer_that_was_never_polled_is_read_where_it_is_kept(
    hasty: Installation,
) -> None:
    hasty.add_ticket("lost")
    process = hasty.start_local("lost", "lost")
    workflow = workflow_id("lost")
    form = hasty.wait_until_asked(workflow)
    run, ada = hasty.run_of(workflow), hasty.add_reviewer()
    process.stop()
    taken = run.resume(hasty.fill_in(form, "approve", ada))
    run.set_state("PAUSED")
    process.go_on()

    assert taken.status == "ACCEPT"
    assert process.wait() == 0, process.said()
    assert [told["actor"] for told in hasty.told(workflow, "approved")] == [ada.id]
    assert len(hasty.mails("lost")) == 1


def test_p9_a_run_that_is_woken_without_an_answer_reads_the_ledger(
    carrier: Carrier, asked: UnderWay
) -> None:
    asked.form()
    placet = carrier.installation
    record_approval(placet, asked, placet.add_reviewer())
    asked.run.set_state("RUNNING")

    assert (asked.ended(), len(asked.mails)) == ("completed", 1)
    assert [told["channel"] for told in asked.told("approved")] == ["terminal"]


def test_p12_the_ledger_has_an_answer_before_the_next_pause_begins(
    carrier: Carrier, asked: UnderWay
) -> None:
    placet, first = carrier.installation, asked.form()
    ada, bob = placet.add_reviewer(), placet.add_reviewer()
    asked.run.resume(placet.fill_in(first, "reject", ada))
    second: Form = asked.form()

    assert second.key != first.key
    (kept,) = asked.told("verdict_refused")
    assert (kept["actor"], kept["code"]) == (ada.id, "reason_required")
    eventually(lambda: asked.run.stored_answer(first) is None)
    asked.run.resume(placet.fill_in(second, "approve", bob))
    assert (asked.ended(), len(asked.mails)) == ("completed", 1)
