"""The exact bytes of one text/plain mail, the same on every attempt.

The headers are put together here and not by `email.message.EmailMessage`: that writes
a subject such as "=?utf-8?q?x?=" as it stands (Python 3.11 to 3.13), so that its
reader sees another text than was approved.
"""

import re
from base64 import encodebytes
from collections.abc import Callable
from datetime import UTC, datetime
from email.header import Header
from email.quoprimime import body_encode
from email.utils import format_datetime
from typing import Protocol, TypeVar
from urllib.parse import quote

from policies.errors import InvalidInput
from policies.mail_address import (
    check_address,
    check_body,
    check_domain,
    check_header_text,
)

# RFC 5322 section 2.1.1, without the line end.
_LINE = 78
# RFC 2047 section 2: a line that holds encoded words.
_ENCODED_LINE = 76
# Leaves the Message-ID, which cannot be folded, far below the 998 of RFC 5322.
_MESSAGE_ID_LIMIT = 512
_MESSAGE_ID = re.compile(r"<[A-Za-z0-9_~%-]+@[A-Za-z0-9.-]+>")
# What every server and mailbox hands on as it is: visible ASCII in lines of at most 998
# (RFC 5322 section 2.1.1) that end in CR LF. Blanks at the end of a line are trimmed
# by some, "From " and a dot at its start are changed by others (RFC 2049 section 3).
_PLAIN_LINE = rb"(?!From |\.)(?:[\t -~]{0,997}[!-~])?\r\n"
_PLAIN = re.compile(rb"(?:%b)*" % _PLAIN_LINE)
# RFC 2045 section 6.7: 76 for a line, of which a first character written as three
# and the "=" of a soft line break may take 3.
_QUOTED_LINE = 73
_CHANGED_AT_START = re.compile(rb"^(?:\.|F(?=rom ))", re.MULTILINE)

T = TypeVar("T")


class MailPayload(Protocol):
    """What was approved: two addresses, one line of subject, a body with LF ends."""

    @property
    def sender(self) -> str: ...
    @property
    def recipient(self) -> str: ...
    @property
    def subject(self) -> str: ...
    @property
    def body(self) -> str: ...


def build_message(payload: MailPayload, *, message_id: str, date: datetime) -> bytes:
    """The wire bytes (ASCII, CRLF); InvalidInput `invalid_mail` names a bad field."""
    encoding, body = _encoded(_checked("body", check_body, payload.body))
    headers = {
        "From": _checked("sender", check_address, payload.sender),
        "To": _checked("recipient", check_address, payload.recipient),
        "Subject": _subject(_checked("subject", check_header_text, payload.subject)),
        "Date": format_datetime(_checked("date", _in_utc, date)),
        "Message-ID": _checked("message_id", _check_message_id, message_id),
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": encoding,
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode("ascii") + b"\r\n" + body


def message_id_for(operation_key: str, domain: str) -> str:
    """`<KEY@DOMAIN>`; two keys never share one, whatever characters they hold."""
    _checked("message_id", check_domain, domain)
    key = _checked("message_id", _percent_encoded, operation_key)
    return _checked("message_id", _check_message_id, f"<{key}@{domain}>")


def _checked(field: str, check: Callable[[T], T], value: T) -> T:
    try:
        return check(value)
    except ValueError as exc:
        raise InvalidInput(
            f"The mail's {field} {exc}.",
            code="invalid_mail",
            hint="Correct it at its source: no mail is changed on its way out.",
            field=field,
        ) from exc


def _subject(text: str) -> str:
    if text.isascii() and "=?" not in text and len(text) <= _LINE - len("Subject: "):
        return text
    encoded = Header(text, "utf-8", header_name="Subject", maxlinelen=_ENCODED_LINE)
    return encoded.encode(linesep="\r\n")


def _encoded(text: str) -> tuple[str, bytes]:
    """How a body goes over the wire: as it is, where that is sure to arrive unchanged.

    Otherwise quoted-printable, which people can read in the raw mail too, unless it
    is longer than base64, as it is for text that is mostly not ASCII.
    """
    content = text.replace("\n", "\r\n").encode("utf-8")
    if _PLAIN.fullmatch(content):
        return "7bit", content
    quoted = _quoted_printable(content)
    base64 = encodebytes(content).replace(b"\n", b"\r\n")
    if len(quoted) <= len(base64):
        return "quoted-printable", quoted
    return "base64", base64


def _quoted_printable(content: bytes) -> bytes:
    quoted = body_encode(content.decode("latin-1"), _QUOTED_LINE, "\r\n").encode()
    # SMTP ends every content with a line end: a soft one adds none to the text.
    closed = quoted if quoted.endswith(b"\r\n") else quoted + b"=\r\n"
    return _CHANGED_AT_START.sub(lambda found: b"=%02X" % found[0][0], closed)


def _in_utc(date: datetime) -> datetime:
    if date.tzinfo is None:
        raise ValueError("must have a time zone")
    return date.astimezone(UTC)


def _check_message_id(value: str) -> str:
    if len(value) > _MESSAGE_ID_LIMIT or not _MESSAGE_ID.fullmatch(value):
        raise ValueError(
            f"must be <key@domain> of ASCII letters, digits and _~%-, "
            f"at most {_MESSAGE_ID_LIMIT} characters"
        )
    return value


def _percent_encoded(key: str) -> str:
    # A dot may stand in a Message-ID only between other characters; `quote` keeps it.
    return quote(key, safe="", errors="surrogatepass").replace(".", "%2E")
