"""What a person is asked to do, as meaning and not as screen text."""

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from policies.value import Value
from policies.visible import is_storable

InteractionType: TypeAlias = Literal[
    "INPUT", "SELECT", "REVIEW", "REVIEW_DIFF", "APPROVE", "PLAN_REVIEW"
]
# To have looked at a draft is not to have allowed it to be sent.
MINTS_APPROVAL: frozenset[InteractionType] = frozenset({"APPROVE", "PLAN_REVIEW"})
MAX_ANSWER = 10_000
"""Characters: a question is for a fact, not for a document."""


class Option(Value):
    """One thing that can be chosen: the value that is recorded, and its label."""

    value: str
    label: str


class Interaction(Value):
    """One question to a person.

    `target` is what it is about (a ticket, a draft, an item); `detail` is the text to
    look at, where there is one. An optional question lapses
    `answer_within_seconds` after it was put, or with its round; a required one waits
    for ever.
    """

    id: str
    type: InteractionType
    target: str
    question: str
    detail: str = ""
    options: tuple[Option, ...] = ()
    required: bool = True
    answer_within_seconds: int | None = None


class Accepted(Value):
    """An answer that can be recorded."""

    kind: Literal["accepted"] = "accepted"
    value: str


class NotAccepted(Value):
    """An answer that is asked for again, with the reason to show."""

    kind: Literal["not_accepted"] = "not_accepted"
    reason: str


def judge_answer(
    asked: Interaction, value: str | None
) -> Accepted | NotAccepted | None:
    """Judge what a person answered; None where nothing is given, which ends it too."""
    text = words(value or "")
    if asked.type in MINTS_APPROVAL:
        return NotAccepted(reason=f"{asked.id} is decided by a verdict, not an answer")
    if text is None:
        return NotAccepted(reason="an answer is required") if asked.required else None
    if len(text) > MAX_ANSWER:
        return NotAccepted(reason=f"the answer is longer than {MAX_ANSWER} characters")
    if not is_storable(text):
        return NotAccepted(reason="the answer holds what is no text: NUL, or the like")
    allowed = [option.value for option in asked.options]
    if allowed and text not in allowed:
        return NotAccepted(reason=f"{text[:80]!r} is not one of: {', '.join(allowed)}")
    return Accepted(value=text)


def words(value: str) -> str | None:
    """What an answer says, without blanks around it; None where nothing can be read."""
    text = value.strip()
    return text if any(c.isprintable() and not c.isspace() for c in text) else None


def lapses_at(asked: Interaction, asked_at: datetime) -> datetime | None:
    """When an optional question's time is up; None if it never lapses by time."""
    if asked.required or asked.answer_within_seconds is None:
        return None
    return asked_at + timedelta(seconds=asked.answer_within_seconds)
