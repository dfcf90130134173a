"""What is known of a ticket: its context, and what people answered."""

from collections.abc import Mapping
from typing import Any, cast

from policies.state import RequestState, View
from policies.support_email.text import order_number, reply_subject, topic_of


def answer_to(view: View, question: str) -> str | None:
    """What a person answered to a question, if it was put and answered."""
    for answered in view.answers:
        if answered.question.id == question:
            return answered.answer
    return None


def chosen_customers(view: View) -> tuple[dict[str, str], ...]:
    """Whom the reply goes to: the ticket's customers, or the one a person chose."""
    known = customers_of(view.state, "customers")
    if known:
        return known
    chosen = answer_to(view, "customer")
    return tuple(c for c in customers_of(view.state, "candidates") if c["id"] == chosen)


def nobody_to_answer(context: Mapping[str, Any]) -> str | None:
    """Why there is nobody whom a reply could go to, if so."""
    if context.get("customers") or context.get("candidates"):
        return None
    return "no customer of this tenant is known for the ticket's sender"


def draft_facts(view: View) -> dict[str, Any]:
    """What a draft is made from: ticket, customer, and what people added."""
    ticket = ticket_of(view.state)
    message = answer_to(view, "message") or ticket["message"]
    names = [c["name"] for c in chosen_customers(view)]
    return {
        "ticket": ticket,
        "message": message,
        "subject": reply_subject(ticket["subject"]),
        "customer_name": names[0] if len(names) == 1 else "customer",
        "topic": answer_to(view, "topic") or topic_of(message),
        "order_number": answer_to(view, "order-number") or order_number(message),
        "acknowledgement": view.state.request.get("reply") == "acknowledgement",
        "fills": {**_known_fills(view, message), **given_fills(view)},
    }


def _known_fills(view: View, message: str) -> dict[str, str]:
    """What the context alone can fill in."""
    customers = chosen_customers(view)
    known = {"Order Number": answer_to(view, "order-number") or order_number(message)}
    if len(customers) == 1:
        known |= {"Customer Name": customers[0]["name"]}
        known |= {"Customer Email": customers[0]["email"]}
    return {name: value for name, value in known.items() if value}


def given_fills(view: View) -> dict[str, str]:
    """What people answered, by the name of the placeholder that it fills."""
    return {
        a.question.target.removeprefix("placeholder:"): a.answer
        for a in view.answers
        if a.question.target.startswith("placeholder:") and a.answer
    }


def ticket_of(state: RequestState) -> dict[str, Any]:
    """The ticket as it was when the context was collected."""
    return cast("dict[str, Any]", (state.context or {})["ticket"])


def customers_of(state: RequestState, which: str) -> tuple[dict[str, str], ...]:
    """`customers` whom the ticket is from, or `candidates` whom it may be from."""
    rows = (state.context or {}).get(which) or []
    return tuple(cast("list[dict[str, str]]", rows))
