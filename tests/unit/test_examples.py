"""The bundled tickets: each is drafted or asked about, whatever is odd in it."""

import json
import re
from typing import Any

import pytest

from blocks.support_email.examples import load_examples
from blocks.support_email.store import Records
from policies.support_email.text import TOPICS, placeholders
from policies.visible import has_invisible
from tasks.support_email import tools
from tests.world import World

RECORDS = Records.model_validate(load_examples())
TICKETS = {ticket.id: ticket for ticket in RECORDS.tickets}
# What a person is asked before there is a draft to judge, and a fitting answer.
ASKED = {
    "T-1004": {
        "Pick-up Point": "Harbour Street 4",
        "Last Day": "Friday",
    },
    "T-1006": {"ticket:T-1006": "complaint"},
    "T-1007": {"ticket:T-1007": "Where is my order 00055555?"},
    "T-1008": {"ticket:T-1008": "complaint"},
    "T-1009": {"ticket:T-1009": "C-1006"},
}
LANGUAGES = ("en", "de", "es", "fr")


@pytest.fixture
def dialect() -> str:
    """The tickets are the same on every database."""
    return "sqlite"


@pytest.fixture
def desk(world: World) -> World:
    """An installation with the bundled tickets."""
    world.load(**load_examples())  # type: ignore[arg-type]
    return world


def drafted(world: World, ticket: str) -> dict[str, Any]:
    """The payload that a reviewer is shown first, after every question is answered."""
    work, asking = world.form(world.opened(ticket_id=ticket))
    while asking is not None and asking.form.questions and not asking.form.items:
        answers = {
            q.id: ASKED[ticket][q.target.removeprefix("placeholder:")]
            for q in asking.form.questions
        }
        world.hand_in(work, answers=answers)
        work, asking = world.form(world.next_form(work)[0])
    assert asking is not None
    return {field.name: field.value for field in asking.form.items[0].fields}


def test_there_is_a_dozen_and_loading_them_again_is_no_error(desk: World) -> None:
    desk.load(**load_examples())  # type: ignore[arg-type]
    assert len(TICKETS) == 12


def test_nobody_can_be_written_to_by_mistake() -> None:
    people = [customer.email for customer in RECORDS.customers]
    people += [ticket.sender for ticket in RECORDS.tickets]
    assert [p for p in people if not p.endswith(("@example.com", ".example"))] == []


@pytest.mark.parametrize("ticket", TICKETS)
def test_a_person_is_asked_only_what_the_ticket_leaves_open(
    desk: World, ticket: str
) -> None:
    _, asking = desk.form(desk.opened(ticket_id=ticket))
    assert asking is not None
    asked = {q.target.removeprefix("placeholder:") for q in asking.form.questions}
    before = set() if asking.form.items else asked
    assert before == set(ASKED.get(ticket, {}))


@pytest.mark.parametrize("ticket", TICKETS)
def test_every_draft_is_a_letter_without_gaps_or_open_places(
    desk: World, ticket: str
) -> None:
    body = drafted(desk, ticket)["body"]
    assert re.search(r"\n{3}|^\s|\s$|\r", body) is None
    assert placeholders(body) == ()


def test_an_order_number_keeps_its_leading_zeros(desk: World) -> None:
    assert "about order 00048213." in drafted(desk, "T-1001")["body"]


def test_what_the_context_knows_is_filled_into_the_suggested_reply(
    desk: World,
) -> None:
    body = drafted(desk, "T-1003")["body"]
    assert "Dear Priya Raman,\n\nyour order 00051177 is on its way." in body


def test_an_answer_fills_the_place_that_was_left_open(desk: World) -> None:
    assert "at Harbour Street 4 until Friday." in drafted(desk, "T-1004")["body"]


def test_a_customer_who_shares_an_address_is_called_by_their_name(
    desk: World,
) -> None:
    assert drafted(desk, "T-1009")["body"].startswith("Dear Lena Okafor,")


def test_nothing_that_a_hostile_ticket_says_comes_into_its_reply(desk: World) -> None:
    payload = drafted(desk, "T-1010")
    assert payload["subject"].isprintable() and not has_invisible(payload["body"])
    assert re.search(r"script|approved|\{", payload["body"]) is None


def test_a_promised_refund_needs_an_owner(desk: World) -> None:
    work = desk.asked(ticket_id="T-1011")
    assert (desk.item(work).risk_level, desk.item(work).role) == ("high", "owner")


@pytest.mark.parametrize("ticket", ["T-1005", "T-1006", "T-1007"])
def test_a_reply_is_in_the_language_of_its_ticket(desk: World, ticket: str) -> None:
    hello = {"T-1005": "Guten Tag ", "T-1006": "Hola, ", "T-1007": "Bonjour "}
    assert drafted(desk, ticket)["body"].startswith(hello[ticket])


@pytest.mark.parametrize("language", LANGUAGES)
def test_every_language_has_a_sentence_for_every_topic(language: str) -> None:
    template = (tools._TEMPLATES / "reply" / "body.jinja").read_text("utf-8")
    found = re.search(r"set texts = (\{.*?\n\}) %\}", template, re.DOTALL)
    assert found is not None
    texts = json.loads(found[1])
    assert set(TOPICS) <= set(texts[language]) == set(texts["en"])
