"""An outcome that nobody knows reaches a person, with what to type and what follows."""

from __future__ import annotations

import re
import shlex

import pytest

from blocks.ledger.sessions import workflow_id
from tasks import opening
from tasks.work import Work
from tests.acceptance.installation import Installation
from tests.acceptance.shell import Shell
from tests.smtp_server import RecordingServer
from tests.world import World

WHY = "the recipient has it"


def lost(world: World, mail: RecordingServer, **request: object) -> Work:
    """A request that has ended: its server took the mail and never answered."""
    mail.behaviour = "drop_before_reply"
    work, _ = world.advance(world.resumed(**request))  # type: ignore[arg-type]
    mail.behaviour = "accept"
    assert work.session.status == "unknown"
    opening.give_lease_back(world.services, work)
    return work


def commands(said: str) -> list[list[str]]:
    """What is to be typed to settle something, as a shell takes it."""
    whole = said.replace(" \\\n", " ")
    return [
        shlex.split(line)[1:]
        for line in whole.splitlines()
        if line.strip().startswith("placet resolve ")
    ]


def typed(command: list[str], reason: str = WHY) -> list[str]:
    """The same with a name and a reason."""
    return [{"YOU": "ada", "WHY": reason}.get(word, word) for word in command]


@pytest.fixture
def unknown(shell: Shell, mail: RecordingServer) -> Work:
    return lost(shell.world, mail)


def message_id(world: World, work: Work) -> str:
    return f"<{world.version(work).snapshot.key}@placet.test>"


@pytest.mark.parametrize("command", ("queue", "status", "supervise"))
def test_an_outcome_that_nobody_knows_is_named_with_what_settles_it(
    shell: Shell, unknown: Work, command: str
) -> None:
    """X5: which it is, where to look for it, since when, and what to type."""
    about = {"status": [unknown.workflow], "supervise": ["--once"]}.get(command, [])

    said = shell.said(command, *about)

    assert message_id(shell.world, unknown) in said
    assert "grace@example.com" in said
    assert re.search(r"not\s+known since \d{4}-\d\d-\d\d \d\d:\d\d UTC", said)
    first = ["resolve", unknown.workflow, "happened", "--as", "YOU", "--reason", "WHY"]
    assert commands(said) == [first, [*first[:2], "not-happened", *first[3:]]]


def test_programs_are_told_the_same_facts_of_it(shell: Shell, unknown: Work) -> None:
    """X5, W4"""
    world = shell.world
    (listed,) = shell.document("queue")["outcomes"]
    (stands,) = shell.document("status", unknown.workflow)["outcomes"]
    (to_do,) = shell.document("supervise", "--once")["reported"]

    assert listed == stands == to_do["outcome"]
    told = {name: listed[name] for name in ("workflow_id", "item", "recipient")}
    assert told == {
        "workflow_id": unknown.workflow,
        "item": world.item(unknown).id,
        "recipient": "grace@example.com",
    }
    assert listed["provider_ref"] == message_id(world, unknown)
    assert listed["settled_by"] == "person"


def test_of_several_each_is_named_by_its_item(
    shell: Shell, mail: RecordingServer
) -> None:
    """X5: each command that is told works as it stands."""
    work = lost(shell.world, mail, recipients=["c-1", "c-2"])
    told = commands(shell.said("queue"))

    receipt = shell.said(*typed(told[0]), by="ada")
    (left,) = shell.document("queue")["outcomes"]
    last = commands(receipt)[0]
    assert (left["item"], last[-1]) == (shell.world.items(work)[1].id, "WHY")
    assert shell.run(*typed(last), by="ada").code == 0

    assert [row.state for row in shell.world.items(work)] == ["executed", "executed"]
    assert shell.said("queue") == "Nothing waits.\n"


def test_what_was_settled_is_told_with_by_whom_and_why(
    shell: Shell, unknown: Work
) -> None:
    """X5: what is known now, and not what was not known before."""
    happened = commands(shell.said("status", unknown.workflow))[0]

    receipt = shell.said(*typed(happened), by="ada")
    said = shell.said("status", unknown.workflow)

    item = shell.world.item(unknown).id
    assert f"{item} of {unknown.workflow} is recorded as executed, on ada's" in receipt
    assert "Nothing is sent again." in receipt
    assert f"placet resume {unknown.workflow}" in receipt
    assert f"a1 executed: settled by ada: {WHY}" in said
    assert "unknown" not in said
    (done,) = shell.document("status", unknown.workflow)["executions"]
    assert (done["settled"]["by"], done["settled"]["happened"]) == ("ada", True)


def test_what_did_not_happen_is_told_so_with_what_follows(
    shell: Shell, unknown: Work, mail: RecordingServer
) -> None:
    """X5"""
    not_happened = commands(shell.said("status", unknown.workflow))[1]

    receipt = shell.said(*typed(not_happened, "it bounced"), by="ada")
    said = shell.said("status", unknown.workflow)

    assert "is recorded as not happened, on ada's word." in receipt
    assert "It is sent once more, with the same key and bytes" in receipt
    assert "a1 did not happen: settled by ada: it bounced" in said
    work, _ = shell.world.advance(shell.world.superseded(unknown))
    assert (work.session.status, len(mail.received)) == ("completed", 2)
    assert "a1 executed: " in shell.said("status", unknown.workflow)


@pytest.mark.parametrize("outcome", ("happened", "not-happened"))
def test_a_request_that_a_process_carries_is_left_to_it(
    shell: Shell, mail: RecordingServer, outcome: str
) -> None:
    """X5, W4: `placet resume` would be refused, so nobody is told to type it."""
    world, mail.behaviour = shell.world, "drop_before_reply"
    work = world.resumed(recipients=["c-1", "c-2"])
    world.edit_address("c-2", "turing@example.com")
    work, _ = world.advance(work)
    assert world.items(work)[1].state == "waiting_for_review"

    told = typed(["resolve", work.workflow, outcome, "--as", "YOU", "--reason", "WHY"])
    receipt = shell.said(*told, by="ada")

    assert shell.refused("resume", work.workflow) == (5, "lease_held")
    assert "placet resume" not in receipt
    assert "works on it and comes to this by itself" in receipt


def test_a_request_with_an_unknown_outcome_is_not_resumed_but_settled(
    shell: Shell, unknown: Work
) -> None:
    """X5, W4: `placet resume` says what to do instead."""
    said = shell.run("resume", unknown.workflow)

    assert said.code == 5
    assert "Find out whether support_email.send_reply happened" in said.err
    assert f"placet resolve {unknown.workflow} happened --as YOU" in said.err


@pytest.mark.parametrize("command", ("resolve", "freeze"))
def test_who_mistakes_a_token_is_told_so(
    shell: Shell, unknown: Work, command: str
) -> None:
    """W4: the same words wherever somebody acts."""
    about = (unknown.workflow, "happened") if command == "resolve" else ()
    act = (command, *about, "--as", "ada", "--reason", WHY)

    said = shell.run(*act, by="bob")

    assert (said.code, "PLACET_TOKEN is not that of a reviewer" in said.err) == (
        3,
        True,
    )


def test_a_request_is_named_by_whatever_of_it_one_has(
    shell: Shell, unknown: Work
) -> None:
    """W4: an item's id where a workflow's is asked for, and the other way round."""
    world, item = shell.world, shell.world.item(unknown).id
    names = (item, message_id(world, unknown), world.version(unknown).snapshot.key)
    for name in names:
        assert shell.document("status", name)["workflow_id"] == unknown.workflow
    assert shell.document("show", unknown.workflow)["item"]["id"] == item
    assert shell.refused("resume", item) == (5, "request_closed")
    whole = shell.document("audit", "show", message_id(world, unknown))
    assert whole["path"]["workflow_id"] == unknown.workflow

    settled = shell.document(
        *("resolve", item, "happened", "--as", "ada", "--reason", WHY), by="ada"
    )
    assert (settled["workflow_id"], settled["item"]) == (unknown.workflow, item)
    back = ("--by", "letter 7", "--as", "ada", "--reason", "wrong")
    assert shell.document("rolled-back", item, *back, by="ada")["item"] == item
    assert "; reversed by letter 7" in shell.said("status", item)


def test_a_request_with_several_items_names_them_where_one_is_asked_for(
    shell: Shell,
) -> None:
    """W4"""
    work = shell.world.asked(recipients=["c-1", "c-2"])
    first, second = (item.id for item in shell.world.items(work))

    said = shell.run("show", work.workflow)

    assert (said.code, f"{first}, {second}" in said.err) == (2, True)
    assert shell.refused("show", work.workflow) == (2, "ambiguous_item")
    opened = shell.world.opened("r-3").workflow
    assert shell.refused("show", opened) == (4, "not_found")


@pytest.mark.parametrize("status", ("unknown", "failed"))
def test_a_local_run_ends_with_what_is_left_to_do(
    installation: Installation, mail: RecordingServer, status: str
) -> None:
    """X5, W4: told by the process that carried it; each command works then."""
    refuses = status == "failed"
    mail.behaviour = "refuse_recipient" if refuses else "drop_before_reply"
    installation.add_ticket("t-1")
    process, workflow = installation.start_local("lost", "t-1"), workflow_id("lost")
    installation.wait_until_asked(workflow)
    ada = installation.add_reviewer("ada")
    installation.decide(installation.item(workflow), "approve", ada)
    assert process.wait() == 1
    said = process.said()

    assert "placet resume" not in said.partition(f"{workflow}: {status}.")[2]
    if refuses:
        assert "another attempt is another request" in said
        return
    settle = commands(said)[0]
    assert installation.command(*typed(settle), by=ada).code == 0
    mail.behaviour = "accept"
    assert installation.start("resume", workflow).wait() == 0
    assert installation.session(workflow).status == "completed"
    assert len(installation.mails("t-1")) == 1
