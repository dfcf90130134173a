"""What a draft is made from: the ticket, its customer, and what people added."""

from typing import Any

import pytest

from policies.support_email.facts import (
    answer_to,
    chosen_customers,
    draft_facts,
    given_fills,
)
from tests.unit.tickets import ADA, BOB, answered, session, ticket

BOTH = [ADA, BOB]


@pytest.mark.parametrize(
    ("given", "chosen"),
    [(None, ()), ("c2", ("c2",)), ("c3", ()), ("Bob <bob@example.com>", ())],
)
def test_nobody_is_written_to_but_whom_a_person_chose(
    given: str | None, chosen: tuple[str, ...]
) -> None:
    """Q8: the candidate that fits first is no choice."""
    answers = [answered("customer", given)]
    now = session(*answers, ticket=ticket(), customers=[], candidates=BOTH)
    assert tuple(c["id"] for c in chosen_customers(now)) == chosen


def test_the_customers_of_the_ticket_are_not_overruled_by_an_answer() -> None:
    now = session(answered("customer", "c2"), ticket=ticket(), candidates=BOTH)
    assert chosen_customers(now) == (ADA,)


def test_what_a_person_added_comes_before_what_was_read() -> None:
    answers = (
        answered("message", "Where is order 11111?"),
        answered("topic", "refund"),
        answered("order-number", "00022222"),
    )
    facts = draft_facts(session(*answers, ticket=ticket()))
    assert facts["message"] == "Where is order 11111?"
    assert (facts["topic"], facts["order_number"]) == ("refund", "00022222")


def test_without_additions_the_ticket_itself_is_read() -> None:
    facts = draft_facts(session(ticket=ticket(message="Refund order 00022222")))
    assert facts["order_number"] == "00022222"
    assert facts["subject"] == "Re: My money"
    assert facts["customer_name"] == "Ada"


def test_a_reply_to_several_names_none_of_them() -> None:
    facts = draft_facts(session(ticket=ticket(), customers=BOTH))
    assert facts["customer_name"] == "customer"
    assert facts["fills"] == {}


def test_what_the_context_knows_fills_its_placeholders_and_people_fill_theirs() -> None:
    said = answered("fill-x", "Bobby", target="placeholder:Customer Name")
    facts = draft_facts(session(said, ticket=ticket(message="Refund order 00022222")))
    assert facts["fills"] == {
        "Order Number": "00022222",
        "Customer Name": "Bobby",
        "Customer Email": "ada@example.com",
    }


def test_only_answers_about_placeholders_fill_any() -> None:
    now = session(
        answered("topic", "refund"),
        answered("fill-a", None, target="placeholder:A"),
        answered("fill-b", "x", target="placeholder:B"),
        ticket=ticket(),
    )
    assert given_fills(now) == {"B": "x"}
    assert answer_to(now, "fill-a") is None


@pytest.mark.parametrize("reply", ["answer", "acknowledgement"])
def test_an_acknowledgement_is_told_to_the_drafter(reply: Any) -> None:
    facts = draft_facts(session(ticket=ticket(), reply=reply))
    assert facts["acknowledgement"] is (reply == "acknowledgement")
