"""What the domain asks people before there is a plan."""

import re

from policies import canonical
from policies.interaction import Interaction, Option
from policies.state import View
from policies.support_email.facts import answer_to, customers_of, ticket_of
from policies.support_email.text import TOPICS, order_number, placeholders, topic_of


def about_context(view: View) -> tuple[Interaction, ...]:
    """What a draft needs and neither the ticket nor an answer tells yet."""
    ticket = ticket_of(view.state)
    target = f"ticket:{ticket['id']}"
    asked: list[Interaction] = []
    candidates = customers_of(view.state, "candidates")
    if candidates and not customers_of(view.state, "customers"):
        asked.append(_which_customer(target, candidates))
    if (
        view.state.request.get("reply") == "acknowledgement"
        or ticket["suggested_reply"]
    ):
        return tuple(asked)
    message = answer_to(view, "message") or ticket["message"]
    if not message.strip():
        return (*asked, _what_is_asked(target))
    topic = answer_to(view, "topic") or topic_of(message)
    if topic is None:
        asked.append(_which_topic(target, message))
    if topic == "order_status" and order_number(message) is None:
        asked.append(_which_order(target))
    return tuple(asked)


def about_placeholders(view: View) -> tuple[Interaction, ...]:
    """Asked once the revising tool has filled what it could and something is left."""
    proposal = view.state.proposal
    if not proposal or not proposal.get("problems") or not proposal.get("revisions"):
        return ()
    text = f"{proposal['subject']}\n{proposal['body']}"
    return tuple(
        Interaction(
            id=placeholder_question(name),
            type="INPUT",
            target=f"placeholder:{name}",
            question=f"The draft leaves {{{{{name}}}}} open. What should stand there?",
        )
        for name in placeholders(text)
    )


def placeholder_question(name: str) -> str:
    """The id of the question for one placeholder: `[a-z0-9-]`, another for each name.

    A name that its plain form does not give back has a digest behind it.
    """
    plain = re.sub(r"[^a-z0-9]+", "-", name.lower()).strip("-")[:40]
    if plain.replace("-", " ").title() == name:
        return f"fill-{plain}"
    hashed = canonical.digest("request", name.encode("utf-8", "surrogatepass"))
    return f"fill-{plain}-{canonical.short(hashed)}"


def _what_is_asked(target: str) -> Interaction:
    return Interaction(
        id="message",
        type="INPUT",
        target=target,
        question="The ticket has no text. What does the customer ask for?",
    )


def _which_customer(target: str, candidates: tuple[dict[str, str], ...]) -> Interaction:
    return Interaction(
        id="customer",
        type="SELECT",
        target=target,
        question="The sender's address fits several customers. Who is meant?",
        options=tuple(
            Option(value=c["id"], label=f"{c['name']} <{c['email']}>")
            for c in candidates
        ),
    )


def _which_topic(target: str, message: str) -> Interaction:
    return Interaction(
        id="topic",
        type="SELECT",
        target=target,
        question="It is not clear what the ticket is about. Which reply fits?",
        detail=message,
        options=tuple(
            Option(value=topic, label=topic.replace("_", " ")) for topic in TOPICS
        ),
    )


def _which_order(target: str) -> Interaction:
    return Interaction(
        id="order-number",
        type="INPUT",
        target=target,
        question="Which order is meant? Leave it open to reply without a number.",
        required=False,
        answer_within_seconds=600,
    )
