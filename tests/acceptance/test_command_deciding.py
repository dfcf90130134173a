"""The commands by which people see what waits and decide it."""

from __future__ import annotations

import json
import re
from typing import Any

from blocks import packets
from blocks.ledger.items import Item
from policies import canonical
from policies.plan import PlanReviewResult, VerdictWord
from policies.policy import Policy
from policies.value import Json
from tasks.work import Work
from tests.acceptance.installation import Installation
from tests.acceptance.requests_under_way import Carrier
from tests.acceptance.shell import Shell
from tests.smtp_server import RecordingServer
from tests.world import World


def test_the_queue_shows_what_is_open_in_priority_order(shell: Shell) -> None:
    """W4: `placet queue`, by state and by risk."""
    world = shell.world
    world.add_ticket("t-2", suggested_reply="We will refund you at once.")
    medium = world.item(world.asked("medium"))
    high = world.item(world.asked("high", ticket_id="t-2"))

    rows = shell.document("queue")["items"]
    assert [(row["id"], row["risk_level"]) for row in rows] == [
        (high.id, "high"),
        (medium.id, "medium"),
    ]
    assert medium.id in shell.said("queue", "--risk", "medium")
    assert high.id not in shell.said("queue", "--risk", "medium")
    assert shell.said("queue", "--state", "executed") == "No item is executed.\n"


def test_the_queue_lists_questions_that_wait_beside_the_items(shell: Shell) -> None:
    """W4: `placet queue`: what waits for an answer waits for a person too."""
    world = shell.world
    world.add_ticket("t-2", message="Hello there!")
    item, asking = world.item(world.asked()), world.asked("r-2", ticket_id="t-2")

    said, listed = shell.said("queue"), shell.document("queue")["questions"]

    assert f"approval  {item.id}  medium risk  v1" in said
    assert f"question  topic  of {asking.workflow}" in said
    assert f"placet answer {asking.workflow} topic VALUE --as YOU" in said
    assert [(q["workflow"], q["id"]) for q in listed] == [(asking.workflow, "topic")]


def test_each_version_of_the_policy_has_a_name_of_its_own(shell: Shell) -> None:
    """W4: `placet show --json`: the whole policy, and the part that gates."""
    shown = shell.document("show", shell.world.item(shell.world.asked()).id)

    item, intent = shown["item"], shown["packet"]["items"][0]["intent"]
    assert json.dumps(shown).count('"policy_version"') == 1
    assert item["gating_policy_version"] == intent["policy_version"]
    assert item["whole_policy_version"] == Policy().version


def test_an_item_is_shown_with_its_terms_and_what_was_said_of_it(shell: Shell) -> None:
    """W4: `placet show`: until when it can be decided, and how long that lasts."""
    work = shell.world.asked()
    item = shell.world.item(work)
    waiting = shell.said("show", item.id)
    shell.world.approve(work)

    approved = shell.said("show", item.id)

    assert re.search(rf"Decide by +{item.deadline:%Y-%m-%d %H:%M} UTC", waiting)
    assert "The approval lasts until " in approved
    assert "To decide" not in approved
    assert approved.endswith("approved v1 by ada\n")


def test_an_item_is_shown_as_it_is_and_as_it_was(shell: Shell) -> None:
    """W4: `placet show`, also of an earlier version."""
    work = shell.world.asked()
    item = shell.world.item(work).id
    shell.world.edit(work, body="Another text.")

    now, before = shell.document("show", item), shell.said("show", item, "--version=1")

    assert now["item"]["version"] == 2
    assert now["packet"]["items"][0]["diff"]
    said = shell.said("show", item)
    digest = canonical.short(now["packet"]["items"][0]["snapshot"])
    assert "Another text." in said and f"--version 2 --snapshot {digest}" in said
    assert re.search(rf"Version +v2 .*\n.*Snapshot +{digest} ", said)
    assert "Another text." not in before and "Dear Grace Hopper" in before


def test_c14_an_approval_is_recorded_and_says_that_nobody_was_woken(
    shell: Shell,
) -> None:
    """W4: `placet decide approve`; the snapshot may be given by its beginning."""
    work = shell.world.asked()
    item = shell.world.item(work)
    short = canonical.short(shell.world.version(work).snapshot.digest)
    seen = ("--version", "1", "--snapshot", short)

    said = shell.document("decide", item.id, "approve", "--as", "ada", *seen, by="ada")

    (recorded,) = said["recorded"]
    assert said["run"]["state"] == "unreachable"
    assert {name: said[name] for name in recorded} == recorded
    assert (recorded["verdict"], recorded["state"]) == ("approved", "approved")
    assert shell.world.told(work, "approved")[0]["decision_id"] == said["decision_id"]


def test_a_rejection_and_a_withdrawal_need_a_reason(shell: Shell) -> None:
    """W4: `placet decide reject` and `withdraw`."""
    world = shell.world
    first, second = world.asked("one"), world.asked("two")

    assert shell.verdict(first, "reject").code == 2
    assert shell.verdict(first, "reject", "--reason", "no").code == 0
    assert world.item(first).state == "rejected"
    assert shell.verdict(second, "approve").code == 0
    assert shell.verdict(second, "withdraw").code == 2
    assert shell.verdict(second, "withdraw", "--reason", "wait").code == 0
    assert world.item(second).state == "waiting_for_review"


def test_an_edit_is_a_new_version_that_waits(shell: Shell) -> None:
    """W4: `placet decide edit`; of the fields that may be edited alone."""
    work = shell.world.asked()
    right = shell.write("edit.json", {"body": "Shorter.\r\nBetter."})
    wrong = shell.write("wrong.json", {"recipient": "eve@example.com"})

    said = shell.verdict(work, "edit", "--edit", right)

    assert "at version 2 now" in said.out
    assert shell.world.item(work).state == "waiting_for_review"
    assert payload(shell.world, work)["body"] == "Shorter.\nBetter."
    assert shell.verdict(work, "edit", "--edit", wrong).code == 2
    assert payload(shell.world, work)["recipient"] == "grace@example.com"


def test_an_edit_without_its_fields_or_with_a_slip_says_what_is_wanted(
    shell: Shell,
) -> None:
    """W4: `placet decide edit` without a file, and with a field that is not there."""
    work = shell.world.asked()
    slip = shell.write("edit.json", {"boddy": "Shorter."})

    without = shell.verdict(work, "edit")
    slipped = shell.verdict(work, "edit", "--edit", slip)

    assert (without.code, "--edit FILE" in without.err) == (2, True)
    assert slipped.code == 2
    assert "no field 'boddy'. Did you mean body?" in slipped.err
    assert "Editable: subject, body." in slipped.err


def test_a_token_that_is_not_ones_own_is_named_for_what_it_is(shell: Shell) -> None:
    """W4: who mistakes a token is told which, and how to get a new one."""
    item = shell.world.item(shell.world.asked()).id
    decide = ("decide", item, "approve", "--as", "ada", "--version", "1")

    said = shell.run(*decide, "--snapshot", "12345678", by="bob")

    assert said.code == 3
    assert "PLACET_TOKEN is not that of a reviewer 'ada'" in said.err
    assert "`placet reviewers rotate ada`" in said.err


def test_what_may_not_be_decided_is_refused_and_changes_nothing(shell: Shell) -> None:
    """W4: exit 3 where policy refuses, 5 where somebody was first, 2 without proof."""
    world = shell.world
    work = world.asked()
    item = world.item(work)
    world.add("eve", permissions=())
    approve = ("decide", item.id, "approve", "--as")
    seen, stale = shell.seen(work), ("--version", "7", "--snapshot", "12345678")

    assert shell.refused(*approve, "ada", *seen) == (2, "token_missing")
    assert shell.refused(*approve, "ada", *seen, by="bob") == (3, "wrong_proof")
    assert shell.refused(*approve, "eve", *seen, by="eve") == (3, "missing_permission")
    assert shell.refused(*approve, "ada", *stale, by="ada") == (3, "stale_version")
    assert world.item(work) == item
    world.approve(work)
    assert shell.refused(*approve, "bob", *seen, by="bob") == (5, "already_decided")


def test_what_is_decided_for_a_whole_plan_is_executed_for_each(
    shell: Shell, mail: RecordingServer
) -> None:
    """L10, W4: three actions, one rejected by `placet decide-plan`, two mails."""
    world = shell.world
    third: Json = {"id": "c-3", "name": "Ada King", "email": "king@example.com"}
    world.load(customers=[third])
    work = world.asked(recipients=["c-1", "c-2", "c-3"])
    whole = review(world, work, ("approve", "reject", "approve"))
    file = shell.write("review.json", whole)

    said = shell.document("decide-plan", work.workflow, file, "--as", "ada", by="ada")
    world.advance(world.resume(work))

    assert [row["verdict"] for row in said["recorded"]] == [
        "approved",
        "rejected",
        "approved",
    ]
    assert [m.recipients for m in mail.received] == [
        ("grace@example.com",),
        ("king@example.com",),
    ]


def test_a_running_plan_goes_on_with_what_was_approved_of_it(carrier: Carrier) -> None:
    """L10, L12: decided by the command while the flow waits at its form."""
    request = carrier.start("Ada Lindqvist", "Bo Ek", "Cy Falk")
    assert len(request.form().verdicts) == 3
    installation = carrier.installation
    words = dict(zip(request.items, ("approve", "reject", "approve"), strict=True))
    said = [spoken(installation, item, word) for item, word in words.items()]
    file = installation.folder / "review.json"
    file.write_text(json.dumps({"verdicts": said}))
    someone = installation.add_reviewer()

    decide = ("decide-plan", request.workflow, str(file), "--as", someone.id)
    assert installation.command(*decide, by=someone).code == 0

    assert request.ended() == "completed"
    assert request.mails == [request.mail_of(item=0), request.mail_of(item=2)]


def test_a_plan_is_decided_as_a_whole_or_not_at_all(shell: Shell) -> None:
    """W4: `placet decide-plan` without an item, or with a stale one, records none."""
    world = shell.world
    work = world.asked(recipients=["c-1", "c-2"])
    before = world.items(work)
    whole = review(world, work, ("approve", "approve"))
    stale = json.loads(json.dumps(whole))
    stale["verdicts"][1]["version"] = 7
    part = {"verdicts": whole["verdicts"][:1]}
    decide = ("decide-plan", work.workflow)

    for name, given, refused in (
        ("part.json", part, (2, "incomplete_review")),
        ("stale.json", stale, (3, "stale_version")),
        ("word.json", {"verdicts": []}, (2, "invalid_input")),
    ):
        file = shell.write(name, given)
        assert shell.refused(*decide, file, "--as", "ada", by="ada") == refused
    assert world.items(work) == before


def test_a_question_is_answered_once_and_with_what_is_offered(shell: Shell) -> None:
    """W4: `placet answer`."""
    world = shell.world
    world.add_ticket("t-2", message="Hello there!")
    work = world.asked(ticket_id="t-2")
    topic = ("answer", work.workflow, "topic")

    assert shell.refused(*topic, "weather", "--as", "ada", by="ada") == (
        2,
        "invalid_answer",
    )
    assert "topic: answered." in shell.said(*topic, "refund", "--as", "ada", by="ada")
    assert shell.refused(*topic, "refund", "--as", "bob", by="bob") == (
        5,
        "already_answered",
    )
    assert shell.refused(*topic[:2], "none", "x", "--as", "ada", by="ada")[0] == 4


def spoken(installation: Installation, item: Item, word: str) -> dict[str, Json]:
    """A verdict on an item as it is now, for a review's file."""
    digest = installation.version(item).snapshot.digest
    seen: dict[str, Json] = {"version": item.version, "snapshot": digest}
    return {"item": item.id, "verdict": word, "reason": "because", **seen}


def payload(world: World, work: Work) -> dict[str, Json]:
    """What the present version of the first item would send."""
    return packets.payload_of(world.services.artifacts, world.version(work))


def review(world: World, work: Work, words: tuple[VerdictWord, ...]) -> dict[str, Any]:
    """The file for `placet decide-plan`: a word for each item."""
    items = zip(world.items(work), words, strict=True)
    said = [world.says(work, word, item) for item, word in items]
    return PlanReviewResult(verdicts=tuple(said)).model_dump(mode="json")
