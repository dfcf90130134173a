"""Twenty real tickets, decided by a script: what is approved is sent, nothing else is.

One process carries them all. Drafts with open `{{…}}` are asked about first, promises
of money need an owner at a signed-in desk, and the rest is decided in turn at the form
and by the command.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from dataclasses import dataclass
from typing import Literal, TypeAlias

import pytest

from policies.plan import VerdictWord
from tests.acceptance.installation import Installation, Person
from tests.acceptance.prefect_form import Form
from tests.acceptance.requests_under_way import Carrier, UnderWay
from tests.cases import case_lines, needs_cases

Script: TypeAlias = Literal["approve", "edit", "reject"]
SCRIPT: tuple[Script, ...] = ("approve", "edit", "reject")
NUMBER = 20
ADDED = "\n\nPS: Our desk is open until six."


@dataclass(kw_only=True)
class Ticket:
    """One ticket under way: what its script says, and the form that it shows."""

    request: UnderWay
    script: Script
    at_form: bool
    form: Form


@pytest.fixture
def carrier(installation: Installation) -> Iterator[Carrier]:
    """A process of our own: twenty that ask ten times a second keep a server busy."""
    installation.env["PLACET_POLL_SECONDS"] = "1"
    with Carrier(installation) as carrier:
        yield carrier


@pytest.mark.timeout(300)
@needs_cases
def test_what_is_approved_of_twenty_tickets_is_sent_once_as_it_was_approved(
    installation: Installation, carrier: Carrier
) -> None:
    """L12, I1, I4: decided at the form and by the command; sent byte for byte."""
    tickets = submit(carrier)
    for step in (answer_questions, edit, decide):
        for ticket in tickets:
            step(installation, ticket)
    ended = [ticket.request.ended() for ticket in tickets]

    approved = [t.request for t in tickets if t.script != "reject"]
    assert ended.count("completed") == len(approved) == 14
    assert ended.count("rejected") == NUMBER - len(approved)
    assert sorted(sent(installation)) == sorted(map(as_approved, approved))
    assert installation.command("audit", "verify").code == 0


def submit(carrier: Carrier) -> list[Ticket]:
    """All of them, each once the one before waits for a person.

    Twenty that begin at once would mostly wait for locks on Prefect's SQLite.
    """
    tickets = []
    for number, row in enumerate(case_lines("tickets", "tickets.jsonl")[:NUMBER]):
        request = carrier.start(
            subject=str(row["intent"]).replace("_", " "),
            message=str(row["customer_message"]),
            suggested_reply=str(row["draft_reply"]),
        )
        ticket = Ticket(
            request=request,
            script=SCRIPT[number % len(SCRIPT)],
            at_form=number % 2 == 0,
            form=request.form(),
        )
        tickets.append(ticket)
    return tickets


def answer_questions(installation: Installation, ticket: Ticket) -> None:
    """Fill what a draft leaves open; then its verdict is asked for."""
    names = list(ticket.form.questions)
    if ticket.form.verdicts:
        return
    someone = installation.add_reviewer()
    if ticket.at_form or len(names) > 1:
        fill_in(installation, ticket, dict.fromkeys(names, "example.com/help"), someone)
    else:
        question = names[0].removeprefix("answer_").replace("_", "-")
        told = ("answer", ticket.request.workflow, question, "example.com/help")
        said = installation.command(*told, "--as", someone.id, by=someone)
        assert said.code == 0, said.err
    ticket.form = ticket.request.form()


def edit(installation: Installation, ticket: Ticket) -> None:
    """Add a line to the drafts that are to be edited; then they are asked again."""
    if ticket.script != "edit":
        return
    body = ticket.request.mail_of()["body"] + ADDED
    file = installation.folder / f"{ticket.request.id}.json"
    file.write_text(json.dumps({"body": body}))
    at_desk(installation, ticket, "edit", "--edit", str(file))
    ticket.form = ticket.request.form()


def decide(installation: Installation, ticket: Ticket) -> None:
    """The verdict, on what the form shows now."""
    word: VerdictWord = "reject" if ticket.script == "reject" else "approve"
    if not ticket.at_form or ticket.request.items[0].gate.signed_in:
        at_desk(installation, ticket, word, "--reason", "as the script says")
        return
    answer = {**ticket.form.choose(word), "reason": "as the script says"}
    fill_in(installation, ticket, answer, installation.add_reviewer())


def at_desk(
    installation: Installation, ticket: Ticket, word: VerdictWord, *more: str
) -> None:
    owner = installation.add_reviewer(role="owner")
    said = installation.decide(ticket.request.items[0], word, owner, *more)
    assert said.code == 0, said.err


def fill_in(
    installation: Installation, ticket: Ticket, answer: dict[str, str], by: Person
) -> None:
    proof = {"reviewer": by.id, "code": by.code}
    said = ticket.request.run.resume({**answer, **proof})
    assert said.status == "ACCEPT", said.reason


def sent(installation: Installation) -> list[tuple[str, bytes]]:
    """Every mail that the SMTP server took: its recipient and the bytes of its text."""
    return [(mail.recipient, mail.body) for mail in installation.all_mails()]


def as_approved(request: UnderWay) -> tuple[str, bytes]:
    """The recipient and the text that were approved; in a mail, lines end in CR LF."""
    mail = request.mail_of(request.items[0].version)
    return mail["recipient"], mail["body"].replace("\n", "\r\n").encode()
