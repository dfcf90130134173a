"""Mail as a provider: it takes a message and can never tell of it again.

SMTP knows no key: the same mail sent twice arrives twice, and nobody can be asked
whether it arrived. So nothing is promised, and an unknown outcome waits for a person.
"""

from blocks import smtp
from blocks.provider import Answer, Finding, Promise, Sendable
from blocks.smtp import Smtp
from policies.value import Json


class SmtpProvider:
    """One SMTP server."""

    promise = Promise()

    def __init__(self, settings: Smtp) -> None:
        self._settings = settings

    def send(self, operation: Sendable) -> Answer:
        """Hand the mail over; the envelope holds sender, recipient and Message-ID."""
        envelope = operation.envelope
        answer = smtp.send(
            self._settings,
            sender=str(envelope["sender"]),
            recipient=str(envelope["recipient"]),
            message=operation.take_body(),
            confirm=operation.confirm,
        )
        return Answer(
            kind=answer.kind,
            detail=smtp.in_words(answer, self._settings),
            provider_ref=str(envelope["message_id"]),
            said=answer.model_dump(mode="json"),
        )

    def look_up(self, key: str, envelope: dict[str, Json]) -> Finding:
        """A mail server cannot tell."""
        return Finding(
            kind="can't tell",
            detail="a mail server does not tell what became of a mail",
            provider_ref=str(envelope["message_id"]),
            said={},
        )
