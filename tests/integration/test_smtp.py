"""Handing over a mail to a real server, and what is known of it when things break."""

import socket
import ssl
import subprocess
import sys
from collections.abc import Callable
from itertools import count
from pathlib import Path
from typing import TypeAlias

import pytest
from pydantic import SecretStr, ValidationError

from blocks import smtp
from blocks.mail import MailServer
from policies.errors import Superseded
from tests.handing_over import RECIPIENT, SENDER, Mail, deliver, settings_for, wire
from tests.sendable import always
from tests.smtp_server import Behaviour, RecordingServer, self_signed

Certificate: TypeAlias = Callable[[str], ssl.SSLContext]


@pytest.fixture
def server(mail: RecordingServer) -> RecordingServer:
    """The server to which all here is handed over."""
    return mail


@pytest.fixture
def certificate(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Certificate:
    """A server's TLS context for one address, whose certificate this process trusts."""

    def make(address: str) -> ssl.SSLContext:
        pem = tmp_path / "server.pem"
        pem.write_bytes(self_signed(address))
        monkeypatch.setenv("SSL_CERT_FILE", str(pem))
        context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
        context.load_cert_chain(pem)
        return context

    return make


@pytest.mark.parametrize(
    ("behaviour", "code", "words"),
    [
        ("refuse_connection", 554, "said no to the connection: 554 no service here"),
        (
            "refuse_recipient",
            550,
            "said no to the recipient: 550 5.1.1 no such",
        ),
        ("drop_after_recipient", None, "ended at the DATA command: Connection unexp"),
        ("try_later", 451, "said no to the content: 451 4.3.0 try again later"),
    ],
)
def test_what_fails_clearly_is_refused_and_says_where(
    server: RecordingServer, behaviour: Behaviour, code: int | None, words: str
) -> None:
    server.behaviour = behaviour
    outcome = deliver(server)
    assert isinstance(outcome, smtp.Refused) and outcome.code == code
    told = smtp.in_words(outcome, settings_for(server))
    assert words in told and told.endswith(". Nothing was sent.")
    assert server.received == []


def test_a_connection_lost_before_the_reply_leaves_the_outcome_unknown(
    server: RecordingServer,
) -> None:
    server.behaviour = "drop_before_reply"
    outcome = deliver(server)
    assert isinstance(outcome, smtp.Unknown) and outcome.code is None
    told = smtp.in_words(outcome, settings_for(server))
    assert "Connection unexpectedly closed" in told and "cannot be told" in told
    assert len(server.received) == 1


@pytest.mark.parametrize(
    "reply", [b"what?", b"354 go on", b"299 perhaps", b"250 " + b"x" * 9000]
)
def test_a_reply_that_is_neither_yes_nor_no_leaves_the_outcome_unknown(
    server: RecordingServer, reply: bytes
) -> None:
    server.last_word = reply
    assert isinstance(deliver(server), smtp.Unknown)


@pytest.mark.parametrize("code", [421, 452, 550, 554])
def test_a_clear_no_to_the_content_is_refused(
    server: RecordingServer, code: int
) -> None:
    server.last_word = b"%d no" % code
    assert deliver(server) == smtp.Refused(step="content", code=code, text="no")


def test_a_server_that_never_answers_leaves_the_outcome_unknown(
    server: RecordingServer,
) -> None:
    server.behaviour = "hang_before_reply"
    outcome = deliver(server, timeout_seconds=1)
    assert isinstance(outcome, smtp.Unknown) and "timed out" in outcome.text
    assert len(server.received) == 1


@pytest.mark.parametrize("body", ["short", "long " * 1_000_000])
def test_a_connection_lost_within_the_content_is_unknown(
    server: RecordingServer, body: str
) -> None:
    server.behaviour = "drop_in_content"
    assert isinstance(deliver(server, wire(Mail(body=body))), smtp.Unknown)
    assert server.received == []


@pytest.mark.parametrize("may", [0, 1])
@pytest.mark.parametrize("body", ["short", "long " * 1_000_000])
def test_who_may_not_send_any_more_stops_before_the_mail_is_whole(
    server: RecordingServer, may: int, body: str
) -> None:
    """X2, S9: neither before the content nor before the line that ends it."""
    asked = count()

    def confirm() -> None:
        if next(asked) == may:
            raise Superseded("Somebody else has it.")

    with pytest.raises(Superseded):
        deliver(server, wire(Mail(body=body)), confirm=confirm)
    assert server.received == []
    assert isinstance(deliver(server), smtp.Accepted)


def test_a_server_that_is_gone_at_quit_has_still_taken_the_mail(
    server: RecordingServer,
) -> None:
    server.behaviour = "drop_at_quit"
    assert isinstance(deliver(server), smtp.Accepted)
    assert len(server.received) == 1


def test_no_server_at_all_is_refused() -> None:
    with socket.create_server(("127.0.0.1", 0)) as closed:
        port = closed.getsockname()[1]
    settings = smtp.Smtp(host="127.0.0.1", port=port, security="none")
    outcome = smtp.send(
        settings,
        sender=SENDER,
        recipient=RECIPIENT,
        message=wire(),
        confirm=always,
    )
    assert isinstance(outcome, smtp.Refused)
    assert smtp.in_words(outcome, settings) == (
        f"No connection to the mail server 127.0.0.1:{port} could be made: "
        "Connection refused. Nothing was sent."
    )


@pytest.mark.parametrize(
    "message",
    [b"a: b\n\nc\r\n", b"a: b\r\n\r\nc\r.\r\n", b"\n.\nMAIL FROM:<e@x.y>\r\n"],
)
def test_a_message_with_bare_line_ends_is_not_sent(
    server: RecordingServer, message: bytes
) -> None:
    outcome = deliver(server, message)
    assert isinstance(outcome, smtp.Refused) and "CRLF" in outcome.text
    assert server.received == []


def test_a_mail_goes_over_starttls_with_a_log_in(certificate: Certificate) -> None:
    context = certificate("127.0.0.1")
    with RecordingServer(starttls=context, password="open sesame") as server:
        outcome = deliver(server, security="starttls", password="open sesame")
        assert isinstance(outcome, smtp.Accepted), outcome
        assert len(server.received) == 1


def test_a_mail_goes_over_tls_from_the_first_byte(certificate: Certificate) -> None:
    with RecordingServer(tls=certificate("127.0.0.1")) as server:
        assert isinstance(deliver(server, security="tls"), smtp.Accepted)


def test_a_wrong_password_is_refused(certificate: Certificate) -> None:
    context = certificate("127.0.0.1")
    with RecordingServer(starttls=context, password="open sesame") as server:
        outcome = deliver(server, security="starttls", password="guess")
        assert isinstance(outcome, smtp.Refused) and outcome.code == 535
        assert server.received == []


@pytest.mark.parametrize("security", ["starttls", "tls"])
def test_a_certificate_for_another_host_is_refused(
    certificate: Certificate, security: smtp.Security
) -> None:
    context = certificate("127.0.0.2")
    implicit = context if security == "tls" else None
    with RecordingServer(tls=implicit, starttls=context) as server:
        outcome = deliver(server, security=security)
        assert isinstance(outcome, smtp.Refused) and "certificate" in outcome.text
        assert server.received == []


def test_starttls_is_not_given_up_when_the_server_lacks_it(
    server: RecordingServer,
) -> None:
    outcome = deliver(server, security="starttls")
    assert isinstance(outcome, smtp.Refused) and "STARTTLS" in outcome.text
    assert server.received == []


@pytest.mark.parametrize(
    ("security", "password", "reason"),
    [("none", "open sesame", "starttls or tls"), ("tls", "sesame \xe9", "ASCII")],
)
def test_a_password_never_stands_in_an_error(
    security: str, password: str, reason: str
) -> None:
    server = {"host": "h", "port": 25, "security": security}
    with pytest.raises(ValidationError, match=reason) as failure:
        smtp.Smtp.model_validate(server | {"username": "u", "password": password})
    assert "sesame" not in str(failure.value)


def test_what_a_server_says_is_kept_short_and_visible(server: RecordingServer) -> None:
    server.last_word = "550 \x1b[31m\u202e".encode() + b"\xff no " * 1000
    outcome = deliver(server)
    assert outcome.text.isprintable() and len(outcome.text) <= 500


def test_the_block_gives_the_settings_that_send_takes() -> None:
    block = MailServer(
        host="mail.test",
        sender=SENDER,
        message_id_domain="placet.test",
        username="placet",
        password=SecretStr("open sesame"),
    )
    assert block.smtp() == smtp.Smtp(
        host="mail.test",
        port=587,
        security="starttls",
        username="placet",
        password=SecretStr("open sesame"),
    )


def test_the_provider_can_be_imported_without_prefect() -> None:
    script = (
        "import sys, blocks.smtp, blocks.mail_message; print('prefect' in sys.modules)"
    )
    answer = subprocess.run(
        [sys.executable, "-c", script], capture_output=True, text=True, check=True
    )
    assert answer.stdout.strip() == "False"
