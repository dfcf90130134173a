"""Questions: which answers are taken, which are asked again, and which lapse."""

from datetime import timedelta
from typing import Any, get_args

import pytest
from hypothesis import given
from hypothesis import strategies as st

from policies.interaction import (
    MAX_ANSWER,
    MINTS_APPROVAL,
    Accepted,
    Interaction,
    InteractionType,
    NotAccepted,
    Option,
    judge_answer,
    lapses_at,
)
from tests.unit.values import NOW, texts, unhurried

TYPES: tuple[InteractionType, ...] = get_args(InteractionType)
ANSWERED = sorted(set(TYPES) - MINTS_APPROVAL)
LOOKS = (
    Option(value="looks right", label="It looks right"),
    Option(value="looks wrong", label="It looks wrong"),
)


def asked(kind: str = "INPUT", **changes: Any) -> Interaction:
    """A required question about a ticket."""
    parts = {"id": "q", "type": kind, "target": "ticket:t1", "question": "Which one?"}
    return Interaction.model_validate(parts | changes)


def test_there_are_six_types_and_two_of_them_mint_approvals() -> None:
    """I1, I4: only APPROVE and PLAN_REVIEW."""
    assert len(TYPES) == 6
    assert sorted(MINTS_APPROVAL) == ["APPROVE", "PLAN_REVIEW"]


@pytest.mark.parametrize("kind", ["APPROVE", "PLAN_REVIEW"])
@pytest.mark.parametrize("required", [True, False])
@pytest.mark.parametrize("value", ["approve", "yes", "approve v1 a1b2c3d4", "", None])
def test_no_answer_is_ever_an_approval(
    kind: str, required: bool, value: str | None
) -> None:
    """I4: what mints an approval is decided by a verdict, never by an answer."""
    question = asked(kind, required=required, options=(LOOKS if value else ()))
    judged = judge_answer(question, value)
    assert isinstance(judged, NotAccepted)
    assert "by a verdict, not an answer" in judged.reason


@pytest.mark.parametrize("kind", ANSWERED)
def test_one_of_the_options_is_taken_without_the_blanks_around_it(kind: str) -> None:
    """I1: each type that is answered."""
    judged = judge_answer(asked(kind, options=LOOKS), " looks right\n")
    assert judged == Accepted(value="looks right")


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("value", ["looks", "Looks right", "It looks right", "yes"])
def test_what_is_no_option_is_asked_again_with_the_options(
    kind: str, value: str
) -> None:
    """I3: an unknown option is not an answer, and nothing fails."""
    judged = judge_answer(asked(kind, options=LOOKS), value)
    assert judged == NotAccepted(
        reason=f"'{value}' is not one of: looks right, looks wrong"
    )


@pytest.mark.parametrize("kind", ANSWERED)
@pytest.mark.parametrize("value", ["", "  \r\n\t ", None])
def test_a_required_question_is_asked_again_until_it_is_answered(
    kind: str, value: str | None
) -> None:
    """I2, I3: `required=true` never goes on without an answer."""
    judged = judge_answer(asked(kind), value)
    assert judged == NotAccepted(reason="an answer is required")


@pytest.mark.parametrize("kind", ANSWERED)
def test_an_optional_question_can_be_left_open(kind: str) -> None:
    """I2: `required=false` goes on without an answer."""
    assert judge_answer(asked(kind, required=False, options=LOOKS), " ") is None


def test_a_document_is_no_answer() -> None:
    assert judge_answer(asked(), "x" * MAX_ANSWER) == Accepted(value="x" * MAX_ANSWER)
    judged = judge_answer(asked(), "x" * (MAX_ANSWER + 1))
    assert judged == NotAccepted(reason="the answer is longer than 10000 characters")


@pytest.mark.parametrize("value", ["a\x00b", "half a pair: \ud83d"])
def test_what_no_database_can_keep_is_asked_again(value: str) -> None:
    """I3: nothing fails on what a raw resume may send."""
    judged = judge_answer(asked(), value)
    assert isinstance(judged, NotAccepted)
    assert "no text" in judged.reason


def test_an_endless_wrong_option_is_not_repeated_in_full() -> None:
    judged = judge_answer(asked("SELECT", options=LOOKS), "x" * 5000)
    assert isinstance(judged, NotAccepted)
    assert len(judged.reason) < 200


@unhurried
@given(st.sampled_from(TYPES), st.booleans(), st.booleans(), texts)
def test_every_answer_is_taken_left_open_or_asked_again(
    kind: str, required: bool, choose: bool, value: str
) -> None:
    """I3: nothing that a person types makes anything fail."""
    question = asked(kind, required=required, options=LOOKS if choose else ())
    judged = judge_answer(question, value)
    if judged is None:
        assert not required
    elif isinstance(judged, Accepted):
        assert judged.value == value.strip() != ""
        assert not choose or judged.value in {"looks right", "looks wrong"}
    else:
        assert judged.reason


def test_an_optional_question_lapses_when_its_time_is_up() -> None:
    """I2: it goes on when its time is up."""
    question = asked(required=False, answer_within_seconds=600)
    assert lapses_at(question, NOW) == NOW + timedelta(minutes=10)


@pytest.mark.parametrize(
    "question",
    [
        asked(required=True, answer_within_seconds=600),
        asked(required=True),
        asked(required=False),
    ],
)
def test_a_required_question_never_lapses_nor_one_without_a_term(
    question: Interaction,
) -> None:
    """I2: a required one waits for ever; one without a term, as long as its round."""
    assert lapses_at(question, NOW) is None
