"""The support-mail domain: a reply to a customer's ticket, and an acknowledgement.

Pure judgement over the JSON that the domain's steps left in the request's state:

- `context`: `ticket`, `customers` (who the reply goes to), `candidates` (whom the
  sender's address fits), `evidence` (refs), all as read from the domain's tables;
- `proposal`: `subject`, `body`, `checked`, `problems`, `revisions`, `filled`, `first`
  (the body before revisions), `confidence`, `provenance`.
"""

import difflib
from collections.abc import Mapping
from types import MappingProxyType
from typing import Any, cast

from pydantic import BaseModel, ValidationError

from policies.adapter import Target, Validation
from policies.errors import InvalidInput
from policies.interaction import Interaction, Option
from policies.mail_address import check_address
from policies.plan import Action, AgentPlan
from policies.problems import problems_of
from policies.state import RequestState, View
from policies.support_email import questions
from policies.support_email.facts import (
    chosen_customers,
    customers_of,
    given_fills,
    nobody_to_answer,
    ticket_of,
)
from policies.support_email.mail import SEND_ACKNOWLEDGEMENT, SEND_REPLY, Mail, Request
from policies.support_email.text import check_text, promises
from policies.tool import RiskTraits, ToolSpec

NAME = "support_email"
MAX_REVISIONS = 2


class SupportEmail:
    """The adapter; it has no state."""

    name = NAME
    request_model = Request
    tools: Mapping[str, ToolSpec] = MappingProxyType(
        {tool.name: tool for tool in (SEND_REPLY, SEND_ACKNOWLEDGEMENT)}
    )

    def questions(self, view: View) -> tuple[Interaction, ...]:
        """Whom to answer, about what, and what the draft left open."""
        asked = (*questions.about_context(view), *questions.about_placeholders(view))
        given = {a.question.id for a in view.answers}
        return tuple(q for q in asked if q.id not in given)

    def remarks(self, view: View) -> tuple[Interaction, ...]:
        """What a revision changed, to look at beside the verdict."""
        diff = _revision(view.state.proposal)
        if not diff or any(a.question.id == "revision" for a in view.answers):
            return ()
        return (
            Interaction(
                id="revision",
                type="REVIEW_DIFF",
                target=f"ticket:{ticket_of(view.state)['id']}",
                question="The first draft did not pass its checks and was revised.",
                detail=diff,
                options=(
                    Option(value="looks right", label="The revision looks right"),
                    Option(value="looks wrong", label="The revision looks wrong"),
                ),
                required=False,
            ),
        )

    def blockers(self, view: View) -> tuple[str, ...]:
        """Nobody to write to, or a draft that cannot be made valid."""
        nobody = nobody_to_answer(view.state.context or {})
        if nobody is not None:
            return (nobody,)
        unfit = _unfit_addresses(view)
        if unfit:
            return unfit
        if self.permitted_work(view) or self.questions(view):
            return ()
        return tuple(_list(view.state.proposal, "problems"))

    def permitted_work(self, view: View) -> tuple[str, ...]:
        """Draft, then check; after a failed check only the revising tool."""
        proposal = view.state.proposal
        if proposal is None:
            return ("draft_reply",)
        if not proposal.get("checked"):
            return ("validate_reply",)
        if not proposal.get("problems"):
            return ()
        news = set(given_fills(view)) - set(_list(proposal, "filled"))
        tried = cast(int, proposal.get("revisions", 0))
        return ("revise_reply",) if news or tried < MAX_REVISIONS else ()

    def propose(self, view: View) -> AgentPlan | None:
        """One mail per customer, once the draft has passed its checks."""
        proposal = view.state.proposal or {}
        if not proposal.get("checked") or proposal.get("problems"):
            return None
        request = Request.model_validate(view.state.request)
        tool = SEND_REPLY if request.reply == "answer" else SEND_ACKNOWLEDGEMENT
        ticket = ticket_of(view.state)
        confidence = cast("float | None", proposal.get("confidence"))
        actions = tuple(
            Action(
                id=f"a{number}",
                tool=tool.name,
                subject=customer["id"],
                rationale=f"Answers ticket {ticket['id']} of {customer['name']}.",
                confidence=confidence,
            )
            for number, customer in enumerate(chosen_customers(view), start=1)
        )
        return AgentPlan(summary=f"Ticket {ticket['id']}", actions=actions)

    def assemble(self, state: RequestState, action: Action) -> Mail:
        """The mail, from the customer's row and the checked proposal.

        `InvalidInput` where present facts allow no such mail any more.
        """
        customer = _customer(state, action.subject)
        proposal = state.proposal or {}
        try:
            return Mail(
                ticket_id=ticket_of(state)["id"],
                customer_id=customer["id"],
                sender=cast(str, (state.context or {})["sender"]),
                recipient=customer["email"],
                subject=cast(str, proposal["subject"]),
                body=cast(str, proposal["body"]),
            )
        except ValidationError as error:
            found = "; ".join(problems_of(error, "the mail"))
            raise InvalidInput(
                f"There is no valid mail: {found}.",
                code="invalid_payload",
            ) from error

    def validate(self, tool: str, payload: BaseModel) -> Validation:
        """No placeholder left open, no answer that is only white space."""
        mail = Mail.model_validate(payload.model_dump())
        return check_text(mail.subject, mail.body)

    def traits(self, tool: str, payload: BaseModel) -> RiskTraits:
        """The tool's own; a promise in the text is a legal effect."""
        own = self.tools[tool].traits
        text = f"{getattr(payload, 'subject', '')}\n{getattr(payload, 'body', '')}"
        if own.legal_effect or not promises(text):
            return own
        return own.model_copy(update={"legal_effect": True})

    def target(self, tool: str, payload: BaseModel) -> Target:
        """The row that holds the customer's address, which must not have moved."""
        mail = Mail.model_validate(payload.model_dump())
        return Target(
            resource=f"customer:{mail.customer_id}/email",
            precondition=f"the address is {mail.recipient}",
        )


def _unfit_addresses(view: View) -> tuple[str, ...]:
    problems = []
    for customer in chosen_customers(view):
        try:
            check_address(customer["email"])
        except ValueError as error:
            problems.append(f"the address of customer {customer['id']} {error}")
    return tuple(problems)


def _customer(state: RequestState, name: str) -> dict[str, str]:
    known = customers_of(state, "customers") + customers_of(state, "candidates")
    for customer in known:
        if customer["id"] == name:
            return customer
    raise InvalidInput(
        f"Customer {name} is no longer among those whom the ticket may be from.",
        code="invalid_payload",
    )


def _revision(proposal: Mapping[str, Any] | None) -> str:
    """What revisions have changed since the first draft, as a unified diff."""
    first, now = (proposal or {}).get("first"), (proposal or {}).get("body")
    if not first or first == now:
        return ""
    lines = difflib.unified_diff(
        str(first).split("\n"), str(now).split("\n"), "draft", "revision", lineterm=""
    )
    return "\n".join(lines)


def _list(values: Mapping[str, Any] | None, name: str) -> list[str]:
    return list((values or {}).get(name) or [])
