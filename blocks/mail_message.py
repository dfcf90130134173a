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
    headers = {
        "From": _checked("sender", check_address, payload.sender),
        "To": _checked("recipient", check_address, payload.recipient),
        "Subject": _subject(_checked("subject", check_header_text, payload.subject)),
        "Date": format_datetime(_checked("date", _in_utc, date)),
        "Message-ID": _checked("message_id", _check_message_id, message_id),
        "MIME-Version": "1.0",
        "Content-Type": 'text/plain; charset="utf-8"',
        "Content-Transfer-Encoding": "base64",
    }
    head = "".join(f"{name}: {value}\r\n" for name, value in headers.items())
    return head.encode("ascii") + b"\r\n" + _body(payload.body)


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


def _body(text: str) -> bytes:
    """Base64, which no relay rewraps, trims or completes with a line end."""
    canonical = _checked("body", check_body, text).replace("\n", "\r\n")
    return encodebytes(canonical.encode("utf-8")).replace(b"\n", b"\r\n")


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
