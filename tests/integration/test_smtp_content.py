"""What a real server gets is what was approved, whatever the text tries."""

from contextlib import suppress
from email.parser import BytesParser
from email.policy import default

import pytest

from blocks import smtp
from policies.errors import InvalidInput
from tests.cases import case_lines, needs_cases
from tests.handing_over import RECIPIENT, SENDER, Mail, deliver, parsed, wire
from tests.smtp_server import Received, RecordingServer

HOSTILE = (
    *("approval_lookalikes.jsonl", "blns.jsonl", "csv_and_crlf.jsonl"),
    *("prompt_injection.jsonl", "template_injection.jsonl"),
    *("trojan_source.jsonl", "xss.jsonl"),
)


@pytest.fixture
def server(mail: RecordingServer) -> RecordingServer:
    """The server to which all here is handed over."""
    return mail


def test_an_accepted_mail_arrives_with_the_bytes_that_were_built(
    server: RecordingServer,
) -> None:
    assert deliver(server) == smtp.Accepted(code=250, text="2.0.0 taken")
    assert server.received == [
        Received(sender=SENDER, recipients=(RECIPIENT,), content=wire())
    ]


def test_a_line_that_is_a_dot_does_not_end_the_mail(server: RecordingServer) -> None:
    message = b"Subject: dots\r\n\r\n.\r\n..\r\n.end\r\n"
    deliver(server, message)
    assert [mail.content for mail in server.received] == [message]


@pytest.mark.parametrize(
    "word", ["Hello", "Gr\u00fc\u00dfe aus Wien", "\u65e5\u672c\u8a9e"]
)
@pytest.mark.parametrize(
    "shape",
    [
        "{}\n",
        "{}",
        "{} \n\t{}\t\n\n",
        "{}\n.\n..{}\n",
        "From {}\n",
        "=20{}=\n",
        200 * "{}",
    ],
)
def test_the_approved_bytes_arrive_whatever_their_encoding(
    server: RecordingServer, word: str, shape: str
) -> None:
    body = shape.replace("{}", word)
    deliver(server, wire(Mail(body=body)))
    (received,) = server.received
    content = parsed(received).get_payload(decode=True)
    assert content == body.replace("\n", "\r\n").encode()


@needs_cases
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("field", ["subject", "body"])
def test_hostile_text_arrives_unchanged_or_not_at_all(
    server: RecordingServer, name: str, field: str
) -> None:
    headers = BytesParser(policy=default).parsebytes(wire()).keys()
    for text in hostile_texts(name):
        mail = Mail(**{field: text})
        received = taken(server, mail)
        assert [each.recipients for each in received] in ([], [(RECIPIENT,)])
        for message in map(parsed, received):
            assert message.keys() == headers
            assert message["Subject"] == mail.subject
            assert message.get_content().replace("\r\n", "\n") == mail.body


@needs_cases
@pytest.mark.parametrize("name", HOSTILE)
@pytest.mark.parametrize("shape", ["{}", "{}@example.com", RECIPIENT + "{}"])
def test_a_hostile_recipient_adds_nobody(
    server: RecordingServer, name: str, shape: str
) -> None:
    for text in hostile_texts(name):
        address = shape.replace("{}", text)
        received = taken(server, Mail(recipient=address))
        assert [each.recipients for each in received] in ([], [(address,)])


@needs_cases
@pytest.mark.parametrize("name", HOSTILE)
def test_a_hostile_recipient_is_refused_even_without_the_builder(
    server: RecordingServer, name: str
) -> None:
    for text in hostile_texts(name):
        assert isinstance(deliver(server, recipient=text), smtp.Refused)
    assert server.received == []


@needs_cases
def test_most_hostile_texts_are_mailed_and_not_just_refused(
    server: RecordingServer,
) -> None:
    texts = hostile_texts("prompt_injection.jsonl")
    mailed = [text for text in texts if taken(server, Mail(body=text))]
    assert mailed == texts


def taken(server: RecordingServer, mail: Mail) -> list[Received]:
    """What the server takes of this mail: nothing when it is refused before."""
    server.received.clear()
    with suppress(InvalidInput):
        deliver(server, wire(mail), recipient=mail.recipient)
    return list(server.received)


def hostile_texts(name: str) -> list[str]:
    """The texts of one file of real hostile strings, each once."""
    return list(dict.fromkeys(line["text"] for line in case_lines("hostile", name)))
