"""Sessions of the support-mail domain, for tests to change."""

from typing import Any

from policies.interaction import Interaction
from policies.state import Answered, RequestState, View
from tests.unit.values import EVIDENCE, view

ADA = {"id": "c1", "name": "Ada", "email": "ada@example.com"}
BOB = {"id": "c2", "name": "Bob", "email": "bob@example.com"}


def ticket(**changes: Any) -> dict[str, Any]:
    """A ticket about a refund, with nothing left to ask."""
    plain = {
        "id": "t1",
        "subject": "My money",
        "message": "I want a refund",
        "suggested_reply": "",
        "language": "en",
    }
    return plain | changes


def proposal(**changes: Any) -> dict[str, Any]:
    """A draft that has passed its checks."""
    plain = {
        "subject": "Re: My money",
        "body": "Dear Ada,\n\nwe look into it.",
        "checked": True,
        "problems": [],
        "revisions": 0,
        "filled": [],
        "confidence": None,
    }
    return plain | changes


def failed(*problems: str, **changes: Any) -> dict[str, Any]:
    """A draft that has failed its checks."""
    return proposal(problems=list(problems), **changes)


def answered(name: str, answer: str | None, target: str = "ticket:t1") -> Answered:
    question = Interaction(id=name, type="INPUT", target=target, question="?")
    return Answered(question=question, answer=answer)


def session(
    *answers: Answered,
    ticket: dict[str, Any],
    draft: dict[str, Any] | None = None,
    customers: list[dict[str, str]] | None = None,
    candidates: list[dict[str, str]] | None = None,
    **request: Any,
) -> View:
    """A session with its context collected, from Ada unless it says otherwise."""
    context: dict[str, Any] = {
        "ticket": ticket,
        "customers": [ADA] if customers is None else customers,
        "candidates": candidates or [],
        "sender": "support@example.com",
        "evidence": [EVIDENCE[0].model_dump()],
    }
    state = RequestState(
        request={"ticket_id": "t1", **request}, context=context, proposal=draft
    )
    return view(state, answers=answers)
