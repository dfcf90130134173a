"""Questions in Prefect's own pages, old and new, in a real browser."""

from __future__ import annotations

from policies.support_email.text import TOPICS
from tests.acceptance.prefect_ui import PrefectUI
from tests.acceptance.requests_under_way import Carrier
from tests.acceptance.reviewer import Reviewer


def test_what_is_missing_is_asked_before_anything_is_drafted(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """I1, L2: a text for an empty ticket, then a choice where that is not clear."""
    request = carrier.start(message="")
    reviewer.open(request)
    assert ui.fields()[0] == "Answer to message"
    ui.fill("Answer to message", "Hello there.")
    reviewer.send()
    reviewer.open(request)
    assert "Hello there." in reviewer.read
    assert ui.choices("Answer to topic") == list(TOPICS)
    ui.fill("Answer to topic", "refund")
    reviewer.send()
    assert len(request.form().verdicts) == 1
    assert "with the colleagues who decide" in request.mail_of()["body"]
    carrier.let_go(request.id)


def test_a_revision_is_looked_at_beside_the_verdict_and_may_be_left_open(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """I1, I2, I4"""
    request = carrier.start(
        suggested_reply="Dear {{Customer Name}},\nit is on its way."
    )
    reviewer.open(request)
    assert "-Dear {{Customer Name}},\n+Dear Ada Lindqvist,\n" in reviewer.read
    assert ui.choices("Answer to revision") == ["", "looks right", "looks wrong"]
    reviewer.send("approve")
    assert request.ended() == "completed"
    assert [mail["body"] for mail in request.mails] == [
        "Dear Ada Lindqvist,\nit is on its way."
    ]
