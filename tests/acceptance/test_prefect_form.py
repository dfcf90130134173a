"""A person decides in Prefect's own pages, the old and the new, in a real browser.

`PLACET_SCREENSHOTS=1` has the pictures for the README taken anew.
"""

from __future__ import annotations

import json
import os
from pathlib import Path

from blocks.desk import HandedIn
from blocks.ledger.people import WRONG_CODES, CodeProof
from policies.plan import VerdictWord
from tasks.waiting import PREFECT_FORM
from tests.acceptance.installation import Installation
from tests.acceptance.prefect_ui import PrefectUI, UiName
from tests.acceptance.requests_under_way import Carrier, UnderWay
from tests.acceptance.reviewer import Reviewer

IMAGES = Path(__file__).parents[2] / "docs" / "images"
TAKE_PICTURES = os.environ.get("PLACET_SCREENSHOTS") == "1"
# What a template engine, a JSON editor and a mail program could each misread.
EDITED = (
    'Dear Ada,\n\n{"__prefect_kind": "jinja", "template": "${7*7}"}\n'
    '"quoted" \\n <b>50 %</b>\n.\nFrom us, and two spaces  \n'
)
REASON_GIVEN = '"><img src=x onerror=alert(1)> {{7*7}} | no\u202ethanks'


def states(request: UnderWay) -> list[tuple[str, int]]:
    """Each item's state and version."""
    return [(item.state.value, item.version) for item in request.items]


def test_the_reviewer_sees_what_is_decided_beside_the_form(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI, ui_name: UiName
) -> None:
    """F1 of the field failures: nobody approves blind, and nothing is out of sight."""
    request = carrier.start()
    form = reviewer.open(request)
    if TAKE_PICTURES:
        ui.scroll_to(str(form.fields["code"]["title"]))
        ui.screenshot(IMAGES / f"prefect-form-{ui_name}.png")
    assert ui.packet_height() >= 300
    assert ui.out_of_sight() == []
    carrier.let_go(request.id)


def test_what_is_approved_is_sent_once_and_as_it_was_shown(
    carrier: Carrier, reviewer: Reviewer
) -> None:
    """W1"""
    request = carrier.start()
    assert reviewer.decide(request, "approve")
    assert request.ended() == "completed"
    assert request.mails == [request.mail_of(version=1)]


def test_slips_are_asked_again_until_a_rejection_is_whole_and_nothing_is_sent(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """W1, I3"""
    request = carrier.start()
    assert reviewer.decide(request, "approve", code=reviewer.wrong_code())
    assert reviewer.decide(request, "reject")
    assert "reviewer and proof do not fit together" in reviewer.notice
    assert reviewer.decide(request, "reject", reason=REASON_GIVEN)
    assert "to reject needs a reason" in reviewer.notice
    assert (request.ended(), request.mails) == ("rejected", [])
    assert request.told("rejected")[0]["reason"] == REASON_GIVEN


def test_an_edit_is_shown_again_with_its_difference_and_only_that_is_sent(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """W1, A4"""
    request = carrier.start()
    reviewer.decide(request, "edit", code="none yet")
    reviewer.open(request)
    first = request.mail_of(version=1)
    for name in ("subject", "body"):
        assert ui.value(f"1. Edit {name}") == first[name]
    ui.fill("1. Edit body", EDITED)
    reviewer.send("edit")
    reviewer.open(request)
    assert "\n+From us, and two spaces" in reviewer.read
    reviewer.send("approve v2 ")
    assert request.ended() == "completed"
    assert request.mails == [{**first, "body": EDITED}]


def test_a_cleared_field_is_not_put_back_in_silence_and_an_edit_can_be_given_up(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """A4, I3"""
    request = carrier.start()
    reviewer.decide(request, "edit", code="none yet")
    reviewer.open(request)
    ui.fill("1. Edit subject", "")
    ui.fill("1. Edit body", EDITED)
    reviewer.send("edit")
    reviewer.open(request)
    assert "subject" in reviewer.notice
    typed = [ui.value(f"1. Edit {name}") for name in ("subject", "body")]
    assert typed == ["", EDITED]
    reviewer.send("leave open")
    first = request.form()
    assert first.choose("approve v1 ") != {}
    assert states(request) == [("waiting_for_review", 1)]
    carrier.let_go(request.id)


def test_a_page_from_before_an_edit_decides_nothing(
    carrier: Carrier, reviewer: Reviewer, tmp_path: Path
) -> None:
    """A3: Prefect itself refuses a choice that is no longer on the form."""
    request = carrier.start()
    reviewer.open(request)
    (tmp_path / "edit.json").write_text(json.dumps({"body": "Another."}))
    decide_at_terminal(request, carrier, "edit", "--edit", str(tmp_path / "edit.json"))
    request.form()
    assert not reviewer.send("approve v1 ")
    assert (states(request), request.mails) == ([("waiting_for_review", 2)], [])
    carrier.let_go(request.id)


def test_a_page_on_what_was_decided_elsewhere_does_nothing_and_says_so(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """W1, B11"""
    request = carrier.start()
    reviewer.open(request)
    reviewer.fill_in("reject", reason="Too late.")
    decide_at_terminal(request, carrier, "approve")
    assert request.ended() == "completed"
    ui.page.get_by_text("Completed", exact=True).first.wait_for()
    assert not ui.submit()
    assert "not paused" in ui.form_errors()[0]
    assert (states(request), len(request.mails)) == ([("executed", 1)], 1)


def test_who_is_locked_out_after_five_wrong_codes_is_told(
    carrier: Carrier, reviewer: Reviewer
) -> None:
    """I3"""
    request = carrier.start()
    request.run.form()
    for _ in range(WRONG_CODES - 1):
        guess(request, carrier.installation, reviewer)
    assert reviewer.decide(request, "approve", code=reviewer.wrong_code())
    reviewer.open(request)
    assert f"{reviewer.id} is locked for 15 minutes" in reviewer.notice
    assert reviewer.send("approve")
    assert "is locked until" in request.form().packet
    assert states(request) == [("waiting_for_review", 1)]
    carrier.let_go(request.id)


def test_a_round_is_decided_item_by_item(
    carrier: Carrier, reviewer: Reviewer, ui: PrefectUI
) -> None:
    """I1, A13: what is left open comes back under its own number."""
    request = carrier.start("Ada", "Bob", "Cyd")
    reviewer.decide(request, "approve", "leave open", "reject", reason="Not to Cyd.")
    left = reviewer.open(request)
    title = "2. Send a reply to a customer"
    assert [field for field in ui.fields() if field.endswith("customer")] == [title]
    assert len(left.verdicts) == 1
    assert reviewer.read.count("Decided") == 2
    reviewer.send("reject", reason="Not to Bob either.")
    assert request.ended() == "completed"
    assert request.mails == [request.mail_of(item=0)]


def decide_at_terminal(
    request: UnderWay, carrier: Carrier, word: VerdictWord, *more: str
) -> None:
    """Let somebody else decide with the command."""
    installation = carrier.installation
    by = installation.add_reviewer()
    answer = installation.decide(request.items[0], word, by, *more)
    assert answer.code == 0, answer.err


def guess(request: UnderWay, installation: Installation, reviewer: Reviewer) -> None:
    """Hand in a wrong code as the form does."""
    proof = CodeProof(code=reviewer.wrong_code())
    installation.services.desk.hand_in(
        HandedIn(
            workflow=request.workflow,
            reviewer=reviewer.id,
            proof=proof,
            channel=PREFECT_FORM,
        )
    )
