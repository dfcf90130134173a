"""Something to draft, for tests."""

from blocks.drafting import DraftRequest, OutputField
from blocks.generation import PromptTemplate


def reply_request(ticket: str) -> DraftRequest:
    """The wish for a reply with a subject and a body to the text of a ticket."""
    return DraftRequest(
        task="reply",
        prompt=PromptTemplate(source="Answer this: {ticket}", version="reply-3"),
        system="You write replies.",
        user=f"Answer this: {ticket}",
        facts={"ticket": ticket, "customer": {"name": "Ada"}},
        outputs=(
            OutputField(name="subject", description="One line."),
            OutputField(name="body", description="The whole reply."),
        ),
    )
