"""Handing over mails in tests: built as approved, sent to a server, read back."""

from collections.abc import Callable
from datetime import UTC, datetime
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

from pydantic import SecretStr

from blocks import smtp
from blocks.mail_message import build_message
from policies.value import Value
from tests.sendable import always
from tests.smtp_server import Received, RecordingServer

SENDER = "desk@placet.test"
RECIPIENT = "ada@example.com"


class Mail(Value):
    """An approved mail."""

    sender: str = SENDER
    recipient: str = RECIPIENT
    subject: str = "Your ticket"
    body: str = "Hello\n"


def wire(mail: Mail | None = None) -> bytes:
    """A mail's wire bytes, of one operation."""
    date = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
    return build_message(mail or Mail(), message_id="<op-1@placet.test>", date=date)


def deliver(
    server: RecordingServer,
    message: bytes | None = None,
    *,
    recipient: str = RECIPIENT,
    security: smtp.Security = "none",
    password: str | None = None,
    timeout_seconds: float = 10,
    confirm: Callable[[], None] = always,
) -> smtp.Outcome:
    """Hand over one mail, a plain one if no other is given."""
    settings = settings_for(
        server, security=security, password=password, timeout_seconds=timeout_seconds
    )
    message = wire() if message is None else message
    return smtp.send(
        settings,
        sender=SENDER,
        recipient=recipient,
        message=message,
        confirm=confirm,
    )


def settings_for(
    server: RecordingServer,
    *,
    security: smtp.Security = "none",
    password: str | None = None,
    timeout_seconds: float = 10,
) -> smtp.Smtp:
    """Where a server of the tests listens; with a password, its user's log-in."""
    return smtp.Smtp(
        host="127.0.0.1",
        port=server.port,
        security=security,
        username=None if password is None else "placet",
        password=None if password is None else SecretStr(password),
        timeout_seconds=timeout_seconds,
    )


def parsed(mail: Received) -> EmailMessage:
    """A received mail as its reader's software understands it."""
    message = BytesParser(policy=default).parsebytes(mail.content)
    assert isinstance(message, EmailMessage)
    return message
