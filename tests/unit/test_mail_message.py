"""A mail is, byte for byte, what was approved, and nothing in it grows a header."""

from datetime import UTC, datetime, timedelta, timezone
from email.message import EmailMessage
from email.parser import BytesParser
from email.policy import default

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from blocks.mail_message import build_message, message_id_for
from policies.errors import InvalidInput
from policies.mail_address import check_address, check_header_text
from policies.value import Value

# Time says nothing about these promises, and the machine may be busy.
UNHURRIED = settings(deadline=None)
MESSAGE_ID = "<op-1@placet.test>"
DATE = datetime(2025, 1, 2, 3, 4, 5, tzinfo=UTC)
HEADERS = [
    "From",
    "To",
    "Subject",
    "Date",
    "Message-ID",
    "MIME-Version",
    "Content-Type",
    "Content-Transfer-Encoding",
]

CONTROLS = "\r\nBcc: e@x.y", "\nBcc: x", "\r", "\0", "\t", "\x0b", "\x1b[2J", "\x85"
UNSEEN = "\u2028", "\u2029", "\u202e", "\u2066", "\u200f", "\u200b", "\ufeff", "\ud800"
NO_ADDRESS = (
    *("", "ada", "@", "ada@", "@example.com", "ada@@example.com", "a@b@example.com"),
    *(".ada@example.com", "ada.@example.com", "a..b@example.com", "ada@example..com"),
    *("ada@.example.com", "ada@example.com.", "ada@-x.com", "ada@x-.com", "ada@x_y.z"),
    *("\u0430da@example.com", "ada@ex\u00e4mple.com", "ada@example\u3002com"),
    *(" ada@example.com", "ada@example.com ", "ada @example.com", "ada@example.com\n"),
    *("ada@[127.0.0.1]", "ada@127.0.0.1"),
)
MORE_THAN_AN_ADDRESS = (
    *("ada@example.com,eve@example.net", "ada@example.com eve@example.net"),
    *("ada@example.com;eve@example.net", "team:ada@example.com;"),
    *("Ada <ada@example.com>", "<ada@example.com>", "ada@example.com (x)"),
    *("ada(x)@example.com", '"ada"@example.com', '"a@b"@example.com'),
    *("eve%example.net@example.com", "example.net!eve@example.com"),
)
LONGEST_DOMAIN = ".".join(letter * 63 for letter in "bcd") + "." + "e" * 60
TOO_LONG = f"{'a' * 65}@example.com", f"a@{'b' * 64}.com", f"a@{LONGEST_DOMAIN}e"

# Letters of all scripts, blanks of all kinds, and what mail software reads as syntax.
VISIBLE = st.characters(exclude_categories=["Cc", "Cf", "Cs", "Zl", "Zp"])
SYNTAX = st.sampled_from(["=?utf-8?q?x?=", "?=", " ", "  ", "_", "=20", "\u200d", "é"])
SUBJECTS = (
    st.lists(VISIBLE | SYNTAX, min_size=1, max_size=60)
    .map(lambda parts: "".join(parts).strip()[:200].strip())
    .filter(bool)
)
# What relays and mailboxes are known to trim, to wrap, or to take for something else.
FRAGILE = ("\n", ".", " ", "\t", "From ", "=", "=3D", "é", "\x85", "\x0c", "x" * 70)
BODIES = st.lists(st.sampled_from(FRAGILE), max_size=60).map("".join)


class Mail(Value):
    """An approved mail."""

    sender: str = "desk@placet.test"
    recipient: str = "ada@example.com"
    subject: str = "Your ticket"
    body: str = "Hello\n"


def wire(mail: Mail, *, date: datetime = DATE) -> bytes:
    return build_message(mail, message_id=MESSAGE_ID, date=date)


def parsed(raw: bytes) -> EmailMessage:
    message = BytesParser(policy=default).parsebytes(raw)
    assert isinstance(message, EmailMessage)
    return message


@UNHURRIED
@given(SUBJECTS)
def test_the_subject_that_is_read_is_the_one_that_was_approved(subject: str) -> None:
    message = parsed(wire(Mail(subject=subject)))
    assert message["Subject"] == subject
    assert message.keys() == HEADERS


@UNHURRIED
@given(st.text(max_size=220))
def test_any_other_subject_is_refused_and_never_mended(subject: str) -> None:
    try:
        raw = wire(Mail(subject=subject))
    except InvalidInput as refusal:
        assert refusal.facts["field"] == "subject"
    else:
        assert parsed(raw)["Subject"] == subject


@UNHURRIED
@given(st.text().map(lambda text: text.replace("\r", "\n")))
def test_the_body_that_is_read_is_the_one_that_was_approved(body: str) -> None:
    content = parsed(wire(Mail(body=body))).get_content()
    assert content == body.replace("\n", "\r\n")
    assert content.replace("\r\n", "\n") == body


@UNHURRIED
@given(SUBJECTS, BODIES | st.text(max_size=300).map(lambda t: t.replace("\r", "\n")))
def test_every_line_is_short_ascii_and_ends_in_crlf(subject: str, body: str) -> None:
    raw = wire(Mail(subject=subject, body=body))
    head, _, content = raw.partition(b"\r\n\r\n")
    assert raw.isascii() and b"\n" not in raw.replace(b"\r\n", b"")
    assert max(map(len, head.split(b"\r\n"))) <= 78
    limit = 998 if b"Encoding: 7bit" in head else 76
    assert max(map(len, content.split(b"\r\n"))) <= limit


@pytest.mark.parametrize("ending", ["", "\n", "\n\n", " ", "\n.", "\n.\n", "\t\n "])
@pytest.mark.parametrize("start", ["From here\n.", "Grüße\n.", "日本語\n."])
def test_the_end_of_the_body_is_neither_trimmed_nor_completed(
    start: str, ending: str
) -> None:
    content = parsed(wire(Mail(body=start + ending))).get_content()
    assert content.replace("\r\n", "\n") == start + ending


@pytest.mark.parametrize(
    "body", ["Hello Ada,\n\n\torder = 17\n\n", f"{'x' * 998}\n", "a  b\n"]
)
def test_a_plain_mail_goes_as_it_was_approved(body: str) -> None:
    raw = wire(Mail(body=body))
    assert parsed(raw)["Content-Transfer-Encoding"] == "7bit"
    assert raw.endswith(b"\r\n\r\n" + body.replace("\n", "\r\n").encode())


@pytest.mark.parametrize(
    ("body", "sent"),
    [
        ("no line end", b"no line end=\r\n"),
        ("a blank \nb\t\n", b"a blank=20\r\nb=09\r\n"),
        ("From here\n", b"=46rom here\r\n"),
        ("one\n.\n.two\n", b"one\r\n=2E\r\n=2Etwo\r\n"),
        ("order = caf\u00e9, and an \x1b\n", b"order =3D caf=C3=A9, and an =1B\r\n"),
        (f"{'x' * 72}.5{'y' * 930}\n", b"x" * 72 + b"=\r\n=2E5" + b"y" * 70 + b"=\r\n"),
    ],
)
def test_what_mail_software_could_change_is_quoted(body: str, sent: bytes) -> None:
    raw = wire(Mail(body=body))
    assert parsed(raw)["Content-Transfer-Encoding"] == "quoted-printable"
    assert raw.partition(b"\r\n\r\n")[2].startswith(sent)


def test_a_text_that_is_mostly_not_ascii_goes_as_base64() -> None:
    message = parsed(wire(Mail(body="お問い合わせありがとうございます。\n")))
    assert message["Content-Transfer-Encoding"] == "base64"


@UNHURRIED
@given(BODIES)
def test_no_line_on_the_wire_is_one_that_mail_software_changes(body: str) -> None:
    raw = wire(Mail(body=body))
    assert parsed(raw).get_payload(decode=True) == body.replace("\n", "\r\n").encode()
    for line in raw.partition(b"\r\n\r\n")[2].split(b"\r\n"):
        assert not line.startswith((b".", b"From ")) and line == line.rstrip()


def test_a_plain_subject_can_be_read_on_the_wire() -> None:
    assert b"\r\nSubject: Re: order 17 (late)\r\n" in wire(
        Mail(subject="Re: order 17 (late)")
    )


def test_the_same_mail_has_the_same_bytes_in_every_time_zone() -> None:
    there = DATE.astimezone(timezone(timedelta(hours=9)))
    assert wire(Mail(), date=there) == wire(Mail(), date=DATE)


def test_id_and_date_come_from_the_operation() -> None:
    message = parsed(wire(Mail()))
    assert message["Message-ID"] == MESSAGE_ID
    assert message["Date"].datetime == DATE


def test_a_date_without_a_time_zone_is_refused() -> None:
    with pytest.raises(InvalidInput, match="date must have a time zone"):
        wire(Mail(), date=DATE.replace(tzinfo=None))


@pytest.mark.parametrize("field", ["sender", "recipient", "subject"])
@pytest.mark.parametrize("smuggled", [*CONTROLS, *UNSEEN])
def test_a_control_character_in_a_header_names_its_field(
    field: str, smuggled: str
) -> None:
    mail = Mail.model_construct(**{**Mail().model_dump(), field: f"ada@a.b{smuggled}"})
    with pytest.raises(InvalidInput) as refusal:
        wire(mail)
    assert refusal.value.code == "invalid_mail"
    assert refusal.value.facts["field"] == field
    assert refusal.value.message.isprintable()


@pytest.mark.parametrize(
    "subject", ["", " ", "\u3000", " a", "a ", "a\u00a0", "a" * 201]
)
def test_a_subject_that_software_might_trim_or_cut_is_refused(subject: str) -> None:
    with pytest.raises(InvalidInput, match="The mail's subject must not"):
        wire(Mail(subject=subject))


def test_a_body_with_carriage_returns_is_refused() -> None:
    with pytest.raises(InvalidInput, match="The mail's body must have LF line ends"):
        wire(Mail(body="one\r\ntwo"))


def test_a_body_that_is_no_text_is_refused() -> None:
    with pytest.raises(InvalidInput, match=r"body must not hold .* U\+DC80"):
        wire(Mail.model_construct(**{**Mail().model_dump(), "body": "\udc80"}))


@pytest.mark.parametrize(
    "address",
    [
        "ada@example.com",
        "a.b+c@mail.example.co",
        "o'neil@x-y.example",
        "root@localhost",
        f"{'a' * 64}@example.com",
        f"a@{LONGEST_DOMAIN}",
    ],
)
def test_a_plain_address_is_taken_as_it_is(address: str) -> None:
    assert check_address(address) == address
    assert parsed(wire(Mail(recipient=address)))["To"].addresses[0].addr_spec == address


@pytest.mark.parametrize("address", [*NO_ADDRESS, *MORE_THAN_AN_ADDRESS, *TOO_LONG])
def test_whatever_is_not_one_plain_address_is_refused(address: str) -> None:
    with pytest.raises(ValueError, match="must"):
        check_address(address)


@UNHURRIED
@given(st.emails())
def test_an_address_that_is_taken_is_read_as_that_one_address(address: str) -> None:
    try:
        check_address(address)
    except ValueError:
        return
    assert [
        found.addr_spec
        for found in parsed(wire(Mail(recipient=address)))["To"].addresses
    ] == [address]


@pytest.mark.parametrize(
    "text",
    [
        "\U0001f469\u200d\U0001f4bb ok",
        "\u0645\u06cc\u200c\u062e",
        "\u05e9\u05dc\u05d5\u05dd",
        "a  b",
        "{{ x }}",
    ],
)
def test_text_of_every_script_may_stand_in_a_subject(text: str) -> None:
    assert check_header_text(text) == text


@UNHURRIED
@given(st.text(min_size=1, max_size=40), st.text(min_size=1, max_size=40))
def test_two_operations_never_share_a_message_id(one: str, other: str) -> None:
    same = message_id_for(one, "placet.test") == message_id_for(other, "placet.test")
    assert same == (one == other)


@UNHURRIED
@given(st.text(min_size=1, max_size=40))
def test_a_message_id_survives_the_mail_whatever_the_key_holds(key: str) -> None:
    message_id = message_id_for(key, "placet.test")
    raw = build_message(Mail(), message_id=message_id, date=DATE)
    assert parsed(raw)["Message-ID"] == message_id
    assert parsed(raw).keys() == HEADERS


@pytest.mark.parametrize(
    ("key", "domain"),
    [("", "placet.test"), ("k" * 600, "placet.test"), ("k", ""), ("k", "a>\r\nBcc: b")],
)
def test_a_message_id_of_nothing_or_too_much_is_refused(key: str, domain: str) -> None:
    with pytest.raises(InvalidInput) as refusal:
        message_id_for(key, domain)
    assert refusal.value.facts["field"] == "message_id"


@pytest.mark.parametrize("message_id", ["", "op-1@placet.test", "<a@b>\r\nBcc: c@d"])
def test_a_message_id_that_is_none_is_refused(message_id: str) -> None:
    with pytest.raises(InvalidInput, match="The mail's message_id must be"):
        build_message(Mail(), message_id=message_id, date=DATE)
