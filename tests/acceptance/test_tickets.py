"""Twenty real tickets, decided by a script: what is approved is sent, nothing else is.

One process carries them all. Drafts with open `{{…}}` are asked about first, promises
of money need an owner at a signed-in desk, and the rest is decided in turn at the form
and by the command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from typing import Literal, NamedTuple, TypeAlias

import pytest

from policies.plan import VerdictWord
from tests.acceptance.eventually import eventually
from tests.acceptance.installation import Installation, Person
from tests.acceptance.prefect_form import Form
from tests.acceptance.requests_under_way import Carrier, UnderWay
from tests.cases import case_lines, needs_cases

Script: TypeAlias = Literal["approve", "edit", "reject"]
SCRIPT: tuple[Script, ...] = ("approve", "edit", "reject")
NUMBER = 20
ADDED = "\n\nPS: Our desk is open until six."


class Ticket(NamedTuple):
    """One ticket under way: what is done with it, and whether at the form."""

    request: UnderWay
    script: Script
    by_form: bool


@pytest.fixture
def carrier(installation: Installation) -> Iterator[Carrier]:
    """A process of our own: twenty that ask ten times a second keep a server busy."""
    installation.env["PLACET_POLL_SECONDS"] = "1"
    with Carrier(installation) as carrier:
        yield carrier


@needs_cases
def test_what_is_approved_of_twenty_tickets_is_sent_once_as_it_was_approved(
    installation: Installation, carrier: Carrier
) -> None:
    owner = installation.add_reviewer("olga", "owner")
    tickets = list(submit(carrier))
    for ticket in tickets:
        answer_questions(installation, ticket)
    for ticket in tickets:
        decide(installation, ticket, owner)
    ended = [ticket.request.ended() for ticket in tickets]

    approved = [t for t in tickets if t.script != "reject"]
    sent = {m.recipients: m.content for m in installation.smtp.received}
    assert ended.count("completed") == len(approved) == 14
    assert ended.count("rejected") == NUMBER - len(approved)
    assert len(installation.smtp.received) == len(sent) == len(approved)
    assert bodies(installation) == {approved_body(t) for t in approved}
    assert installation.command("audit", "verify").code == 0


def submit(carrier: Carrier) -> Iterator[Ticket]:
    """All of them at once."""
    for number, row in enumerate(case_lines("tickets", "tickets.jsonl")[:NUMBER]):
        request = carrier.start(
            subject=str(row["intent"]).replace("_", " "),
            message=str(row["customer_message"]),
            suggested_reply=str(row["draft_reply"]),
        )
        yield Ticket(request, SCRIPT[number % 3], by_form=number % 2 == 0)


def answer_questions(installation: Installation, ticket: Ticket) -> None:
    """Fill what the draft leaves open, until a verdict is asked for."""
    form = eventually(ticket.request.form)
    if form.verdicts:
        return
    assert all("leaves {{" in question for question in form.questions.values())
    answers = dict.fromkeys(form.questions, "example.com/help")
    send(installation, ticket, answers)
    ticket.request.form()
