"""What tests read out of outcomes, trails and mails."""

from collections.abc import Sequence
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

from blocks.desk import NotTaken, Outcome
from blocks.ledger import audit
from tests.smtp_server import Received


def codes(outcome: Outcome) -> list[str]:
    """Why a submission was not taken; empty if it was."""
    return [r.code for r in outcome.refusals] if isinstance(outcome, NotTaken) else []


def text_of(mail: Received) -> str:
    """What the customer reads of a mail."""
    return content_of(read_mail(mail.content))


def read_mail(data: bytes) -> EmailMessage:
    """A mail from its bytes."""
    parsed = BytesParser(policy=default).parsebytes(data)
    assert isinstance(parsed, EmailMessage)
    return parsed


def content_of(mail: EmailMessage) -> str:
    """Its text."""
    text: str = mail.get_content()
    return text.replace("\r\n", "\n").strip()


def names(trail: Sequence[audit.Event]) -> list[str]:
    """The events' names."""
    return [event.event for event in trail]
