"""One mail to one SMTP server, once, and what is known of it afterwards.

The border is the first byte of content after the server's 354. Whatever fails before
it is Refused: the server holds nothing that it could deliver. From there on only a
reply tells: 250 is Accepted, 4xx and 5xx are Refused, and anything else (a lost
connection, a time-out, a reply that means neither) is Unknown and must not be retried
blindly, because SMTP has no key by which a server knows a mail that it already took.

A server delivers nothing before the line that ends the content (RFC 5321, 4.1.1.4), so
that line goes out by itself: whoever must not send any more can stop before it.
"""

import re
import smtplib
import socket
import ssl
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from typing import Annotated, Literal, TypeAlias, assert_never

from pydantic import ConfigDict, Field, SecretStr, model_validator

from policies.mail_address import check_address
from policies.value import Value

# What a server says goes into records and terminals: enough to act on, no more.
_TEXT_LIMIT = 500
_END = b".\r\n"
_BARE_LINE_END = re.compile(rb"\r(?!\n)|(?<!\r)\n")

Security: TypeAlias = Literal["none", "starttls", "tls"]
Step: TypeAlias = Literal[
    "mail",
    "connection",
    "STARTTLS",
    "log-in",
    "greeting",
    "sender",
    "recipient",
    "DATA command",
    "content",
]


class Smtp(Value):
    """Where and how to hand over mail. Certificates are verified with TLS."""

    # An error of validation must not show the password.
    model_config = ConfigDict(hide_input_in_errors=True)

    host: str = Field(min_length=1)
    port: int = Field(ge=1, le=65535)
    security: Security
    username: str | None = None
    password: SecretStr | None = None
    timeout_seconds: float = Field(default=60, gt=0)

    @model_validator(mode="after")
    def _credentials_fit(self) -> "Smtp":
        if self.username is None and self.password is None:
            return self
        if self.username is None or self.password is None:
            raise ValueError("give both username and password, or neither")
        if self.security == "none":
            raise ValueError("a password is sent only with security starttls or tls")
        # smtplib sends no other, and its error would quote a part of the password.
        if not (self.username + self.password.get_secret_value()).isascii():
            raise ValueError("username and password must be ASCII")
        return self


class Accepted(Value):
    """The server took responsibility for the mail."""

    kind: Literal["accepted"] = "accepted"
    code: int
    text: str


class Refused(Value):
    """The server certainly did not take the mail; without its reply `code` is None."""

    kind: Literal["refused"] = "refused"
    step: Step
    code: int | None
    text: str


class Unknown(Value):
    """The server may have taken the mail or not."""

    kind: Literal["unknown"] = "unknown"
    code: int | None
    text: str


Outcome: TypeAlias = Annotated[
    Accepted | Refused | Unknown, Field(discriminator="kind")
]


def send(
    settings: Smtp,
    *,
    sender: str,
    recipient: str,
    message: bytes,
    confirm: Callable[[], None],
) -> Outcome:
    """Hand over wire bytes (CRLF) for one recipient; every Exception is an Outcome.

    `confirm` is called before the content and before the line that ends it; if it
    raises, that passes through, and the server has no mail. What is not an Exception
    (KeyboardInterrupt, a cancelled run) passes through as well: to the caller that is
    Unknown.
    """
    with ExitStack() as stack:
        try:
            with _at("mail"):
                content = _dot_stuffed(message)
                sender, recipient = check_address(sender), check_address(recipient)
            client = stack.enter_context(_session(settings))
            _offer(client, sender, recipient)
        except _Failed as failed:
            return _refused(failed.step, failed.cause)
        confirm()
        return _transfer(client, content, confirm)


def in_words(outcome: Outcome, settings: Smtp) -> str:
    """What a person is told: how far it came, what the server said, what follows."""
    server = f"the mail server {settings.host}:{settings.port}"
    said = f"{outcome.code or ''} {outcome.text}".strip().rstrip(".")
    match outcome:
        case Accepted():
            return f"The mail server took the mail: {said}."
        case Unknown():
            return (
                f"The mail was being handed over and no clear answer came ({said}). "
                "Whether the mail server took it cannot be told."
            )
        case Refused(step="mail"):
            words = "The mail cannot be handed over"
        case Refused(step="connection", code=None):
            words = f"No connection to {server} could be made"
        case Refused(code=None):
            words = f"The connection to the mail server ended at the {outcome.step}"
        case Refused():
            words = f"The mail server said no to the {outcome.step}"
        case _:
            assert_never(outcome)
    return f"{words}: {said}. Nothing was sent."


class _Failed(Exception):
    """The step that failed, and how."""

    def __init__(self, step: Step, cause: Exception) -> None:
        super().__init__(step)
        self.step = step
        self.cause = cause


@contextmanager
def _at(step: Step) -> Iterator[None]:
    try:
        yield
    except Exception as exc:
        raise _Failed(step, exc) from exc


@contextmanager
def _session(settings: Smtp) -> Iterator[smtplib.SMTP]:
    """A greeted, secured, logged-in connection; its end changes no outcome."""
    with _at("connection"):
        client = _connect(settings)
    try:
        # The short last line must not wait until the server confirms what came before.
        assert client.sock is not None
        client.sock.setsockopt(socket.IPPROTO_TCP, socket.TCP_NODELAY, 1)
        if settings.security == "starttls":
            with _at("STARTTLS"):
                client.starttls(context=ssl.create_default_context())
        if settings.username is not None and settings.password is not None:
            with _at("log-in"):
                client.login(settings.username, settings.password.get_secret_value())
        with _at("greeting"):
            client.ehlo_or_helo_if_needed()
        yield client
        with suppress(Exception):
            client.quit()
    finally:
        with suppress(OSError):
            client.close()


def _connect(settings: Smtp) -> smtplib.SMTP:
    timeout = settings.timeout_seconds
    if settings.security == "tls":
        context = ssl.create_default_context()
        return smtplib.SMTP_SSL(
            settings.host, settings.port, timeout=timeout, context=context
        )
    return smtplib.SMTP(settings.host, settings.port, timeout=timeout)


def _offer(client: smtplib.SMTP, sender: str, recipient: str) -> None:
    with _at("sender"):
        _expect({250}, client.mail(sender))
    with _at("recipient"):
        _expect({250, 251}, client.rcpt(recipient))
    with _at("DATA command"):
        _expect({354}, client.docmd("DATA"))


def _expect(wanted: set[int], reply: tuple[int, bytes]) -> None:
    code, text = reply
    if code not in wanted:
        raise smtplib.SMTPResponseException(code, text)


def _transfer(
    client: smtplib.SMTP, content: bytes, confirm: Callable[[], None]
) -> Outcome:
    try:
        client.send(content)
    except Exception as exc:
        return Unknown(code=None, text=_readable(exc))
    confirm()
    try:
        client.send(_END)
        code, text = client.getreply()
    except Exception as exc:
        return Unknown(code=None, text=_readable(exc))
    if code == 250:
        return Accepted(code=code, text=_readable(text))
    if 400 <= code < 600:
        return Refused(step="content", code=code, text=_readable(text))
    return Unknown(code=_reply_code(code), text=_readable(text))


def _refused(step: Step, exc: Exception) -> Refused:
    if isinstance(exc, smtplib.SMTPResponseException):
        code = _reply_code(exc.smtp_code)
        return Refused(step=step, code=code, text=_readable(exc.smtp_error))
    return Refused(step=step, code=None, text=_readable(exc))


def _reply_code(code: int) -> int | None:
    """None for what smtplib makes of a line that is no SMTP reply (-1)."""
    return code if code >= 200 else None


def _readable(said: bytes | str | Exception) -> str:
    """One bounded line without control, bidirectional or zero-width characters."""
    if isinstance(said, smtplib.SMTPResponseException):
        said = said.smtp_error
    if isinstance(said, OSError) and said.strerror:
        said = said.strerror
    if isinstance(said, Exception):
        said = str(said) or type(said).__name__
    text = said if isinstance(said, str) else said.decode("utf-8", errors="replace")
    visible = "".join(char if char.isprintable() else " " for char in text)
    return " ".join(visible.split())[:_TEXT_LIMIT]


def _dot_stuffed(message: bytes) -> bytes:
    """RFC 5321 section 4.5.2.

    A bare CR or LF is refused: some servers take it for a line end, and would read
    the text after it as commands.
    """
    if _BARE_LINE_END.search(message):
        raise ValueError("the message must have CRLF line ends only")
    closed = message if message.endswith(b"\r\n") else message + b"\r\n"
    return re.sub(rb"(?m)^\.", b"..", closed)
