"""What may be asked for, and what a mail's final input may be."""

from typing import Any

import pytest
from hypothesis import given
from pydantic import ValidationError

from policies.canonical import canonicalise
from policies.support_email.mail import (
    SEND_ACKNOWLEDGEMENT,
    SEND_REPLY,
    Mail,
    Request,
)
from tests.unit.values import texts, unhurried


def mail(**changes: Any) -> Mail:
    plain = {
        "ticket_id": "t1",
        "customer_id": "c1",
        "sender": "support@example.com",
        "recipient": "ada@example.com",
        "subject": "Re: x",
        "body": "text",
    }
    return Mail.model_validate(plain | changes)


@pytest.mark.parametrize(
    "change",
    [
        {"recipient": "ada@example.com, eve@example.com"},
        {"recipient": "Ada <ada@example.com>"},
        {"recipient": "ada@example.com\nBcc: eve@example.com"},
        {"sender": ""},
        {"subject": "Re: x\r\nBcc: eve@example.com"},
        {"subject": ""},
        {"subject": "x" * 201},
        {"body": ""},
        {"body": "x" * 20_001},
        {"bcc": "eve@example.com"},
        {"approved": True},
    ],
)
def test_a_mail_that_could_go_elsewhere_or_say_more_is_refused(
    change: dict[str, Any],
) -> None:
    """L5, S12: what is not in the input is not in the mail."""
    with pytest.raises(ValidationError):
        mail(**change)


@unhurried
@given(texts.filter(bool))
def test_a_body_keeps_every_character_but_its_line_ends(body: str) -> None:
    """A4: browsers change line ends; the approved text is the sent text."""
    kept = mail(body=body).body
    assert kept == body.replace("\r\n", "\n").replace("\r", "\n")
    assert mail(body=kept).body == kept


def test_line_ends_make_no_other_payload() -> None:
    """A16: what a browser makes of a text area has the same bytes."""
    assert canonicalise(mail(body="a\r\nb")) == canonicalise(mail(body="a\nb"))


@pytest.mark.parametrize("name", list(Mail.model_fields))
def test_a17_every_field_of_a_mail_is_in_its_bytes(name: str) -> None:
    """A1: the payload's hash covers every field of the tool's input."""
    other = "eve@example.com" if name in ("sender", "recipient") else "another"
    assert canonicalise(mail(**{name: other})) != canonicalise(mail())


def test_a_reviewer_may_edit_the_text_and_never_whom_it_goes_to() -> None:
    """A4 of the field failures: another target is another action."""
    for tool in (SEND_REPLY, SEND_ACKNOWLEDGEMENT):
        assert tool.editable == ("subject", "body")
        assert tool.effect == "external"
        assert tool.traits.irreversible


@pytest.mark.parametrize(
    "request_",
    [
        {},
        {"ticket_id": "t1", "reply": "refund"},
        {"ticket_id": "t1", "body": "Dear Ada"},
        {"ticket_id": "t1", "approved": True},
        {"ticket_id": "../t1"},
        {"ticket_id": "t1", "tenant": "a/b"},
        {"ticket_id": "t1", "recipients": ["eve@example.com "]},
        {"ticket_id": "t1", "recipients": ["c1"] * 21},
    ],
)
def test_a_request_says_what_and_never_how(request_: dict[str, Any]) -> None:
    """L5: a request has no room for texts, versions or approvals."""
    with pytest.raises(ValidationError):
        Request.model_validate(request_)


def test_a_request_has_its_defaults_filled() -> None:
    assert Request.model_validate({"ticket_id": "t1"}).model_dump() == {
        "tenant": "main",
        "requested_by": "agent",
        "ticket_id": "t1",
        "reply": "answer",
        "recipients": (),
    }
