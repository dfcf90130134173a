"""What the domain asks people before there is a plan, and what it never asks again."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.interaction import Accepted, Interaction, judge_answer
from policies.support_email.adapter import SupportEmail
from policies.support_email.questions import placeholder_question
from policies.support_email.text import TOPICS, placeholders
from tests.cases import case_lines, needs_cases
from tests.unit.tickets import ADA, BOB, answered, failed, session, ticket
from tests.unit.values import texts, unhurried

UNCLEAR = ticket(message="hello")
ORDER = ticket(message="Where is my parcel?")


def asks(*answers: Any, **said: Any) -> list[Interaction]:
    """The questions of a session."""
    return list(SupportEmail().questions(session(*answers, **said)))


def ids(questions: list[Interaction]) -> list[str]:
    return [question.id for question in questions]


def test_a_clear_ticket_of_a_known_customer_asks_nothing() -> None:
    assert asks(ticket=ticket()) == []


@pytest.mark.parametrize("message", ["", "  \n"])
def test_an_empty_ticket_asks_what_the_customer_wants(message: str) -> None:
    """I1: INPUT, and required: nothing is drafted from nothing."""
    (asked,) = asks(ticket=ticket(message=message))
    assert (asked.id, asked.type, asked.required) == ("message", "INPUT", True)


def test_what_a_person_says_the_customer_wants_is_read_like_a_message() -> None:
    assert asks(answered("message", "a refund"), ticket=ticket(message="")) == []
    unclear = asks(answered("message", "hello"), ticket=ticket(message=""))
    assert ids(unclear) == ["topic"]


def test_a_sender_who_fits_several_customers_is_chosen_from() -> None:
    """I1: SELECT with the candidates, and required: never the first that fits."""
    (asked,) = asks(ticket=ticket(), customers=[], candidates=[ADA, BOB])
    assert (asked.id, asked.type, asked.required) == ("customer", "SELECT", True)
    assert [option.value for option in asked.options] == ["c1", "c2"]
    assert asked.options[1].label == "Bob <bob@example.com>"


def test_an_unclear_topic_is_chosen_from_all_topics() -> None:
    (asked,) = asks(ticket=UNCLEAR)
    assert (asked.id, asked.type, asked.required) == ("topic", "SELECT", True)
    assert [option.value for option in asked.options] == list(TOPICS)
    assert asked.detail == "hello"


def test_an_order_number_may_be_left_open() -> None:
    """I2: optional, with a term: the reply goes on without it."""
    (asked,) = asks(ticket=ORDER)
    assert (asked.id, asked.type, asked.required) == ("order-number", "INPUT", False)
    assert asked.answer_within_seconds == 600
    assert judge_answer(asked, "") is None


def test_a_lapsed_question_is_not_put_again() -> None:
    """I2: it continues without an answer."""
    assert asks(answered("order-number", None), ticket=ORDER) == []


def test_a_number_in_the_message_is_not_asked_for() -> None:
    assert asks(ticket=ticket(message="Where is order 00108123?")) == []


@pytest.mark.parametrize(
    ("words", "request_"),
    [({"suggested_reply": "Dear customer"}, {}), ({}, {"reply": "acknowledgement"})],
)
def test_what_needs_no_topic_asks_for_none(
    words: dict[str, str], request_: dict[str, str]
) -> None:
    assert asks(ticket=ticket(message="", **words), **request_) == []


@unhurried
@given(st.text(max_size=20), st.booleans(), st.booleans())
def test_every_question_can_be_answered_and_is_then_gone(
    message: str, suggested: bool, known: bool
) -> None:
    """I3: and no question is put under a name that another one has."""
    said: dict[str, Any] = {
        "ticket": ticket(message=message, suggested_reply="x" if suggested else ""),
        "customers": [ADA] if known else [],
        "candidates": [ADA, BOB],
    }
    asked = asks(**said)
    assert len(set(ids(asked))) == len(asked)
    given_ = [
        answered(q.id, q.options[0].value if q.options else "refund") for q in asked
    ]
    assert all(
        isinstance(judge_answer(q, a.answer), Accepted)
        for q, a in zip(asked, given_, strict=True)
    )
    left = asks(*given_, **said)
    assert set(ids(left)).isdisjoint(ids(asked))


# Placeholders


def open_draft(body: str, **changes: Any) -> dict[str, Any]:
    return failed("a placeholder is not filled", body=body, revisions=1, **changes)


def test_a_placeholder_is_asked_for_once_revising_could_not_fill_it() -> None:
    """I1, L3: the revising tool comes first, then the person."""
    body = "Call {{Phone Number}} {{Phone Number}}"
    assert asks(ticket=ticket(), draft=failed("x", body=body)) == []
    (asked,) = asks(ticket=ticket(), draft=open_draft(body))
    assert (asked.id, asked.type, asked.required) == (
        *("fill-phone-number", "INPUT", True),
    )
    assert asked.target == "placeholder:Phone Number"
    assert "{{Phone Number}}" in asked.question


def test_a_draft_that_passed_asks_for_no_placeholder() -> None:
    draft = open_draft("{{A}}", checked=True) | {"problems": []}
    assert asks(ticket=ticket(), draft=draft) == []


def test_placeholders_of_the_subject_are_asked_for_too() -> None:
    draft = open_draft("text", subject="Re: {{Order Number}}")
    assert ids(asks(ticket=ticket(), draft=draft)) == ["fill-order-number"]


def test_two_placeholders_that_look_alike_are_two_questions() -> None:
    """A13: one answer never stands for another question's."""
    body = "{{Order Number}} {{order-number}} {{ORDER NUMBER}} {{Größe}} {{Gr e}} {{!}}"
    asked = asks(ticket=ticket(), draft=open_draft(body))
    assert len(set(ids(asked))) == 6


@unhurried
@given(st.lists(texts.filter(lambda t: t == t.strip()), unique=True, max_size=4))
def test_every_placeholder_has_a_question_id_of_its_own(names: list[str]) -> None:
    """P10: ids are `[a-z0-9-]`, and short."""
    made = [placeholder_question(name) for name in names]
    assert len(set(made)) == len(names)
    assert all(len(i) < 60 and set(i) <= _PLAIN for i in made)


_PLAIN = set("abcdefghijklmnopqrstuvwxyz0123456789-")


@needs_cases
def test_every_placeholder_of_the_published_drafts_can_be_asked_for() -> None:
    """Cases, tickets: 78 drafts hold placeholders."""
    asked = 0
    for case in case_lines("tickets", "tickets.jsonl"):
        names = placeholders(case["draft_reply"])
        draft = open_draft(case["draft_reply"])
        questions = asks(ticket=ticket(), draft=draft)
        assert [q.target for q in questions] == [f"placeholder:{n}" for n in names]
        assert len(set(ids(questions))) == len(names)
        asked += bool(questions)
    assert asked == 78
