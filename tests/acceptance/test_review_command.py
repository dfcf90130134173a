"""`placet review` with a person at a real terminal: only their exact words count."""

from __future__ import annotations

import json
import os
import subprocess
import sys
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from blocks import packets
from blocks.ledger import questions
from blocks.ledger.clock import utc_now
from policies.lifecycle import State
from policies.visible import has_invisible
from tasks.work import Work
from tests.acceptance.at_terminal import CTRL_C, CTRL_D, AtTerminal
from tests.acceptance.command_line import clean
from tests.installed import SECRET_KEY
from tests.world import World

PROMPT = "[q]uit >"
HOSTILE = "\x1b[2J\x1b]0;approved\x07\x9b31m\u202eyes\u2066 {{ 7*7 }} [red]x[/red]\r"
UP_AND_APPROVE = "\x1b[Aa"
Review = Callable[..., AtTerminal]


@pytest.fixture
def dialect() -> str:
    """The conversation is the same on every database."""
    return "sqlite"


@pytest.fixture
def now(world: World) -> World:
    """The installation, at this moment: the command reads the real clock."""
    world.clock.set(utc_now())
    return world


@pytest.fixture
def env(now: World, tmp_path: Path) -> dict[str, str]:
    """The settings of that installation, for a process; no Prefect server is there."""
    ours = {
        "PLACET_HOME": str(tmp_path),
        "PLACET_DATABASE_URL": f"sqlite:///{tmp_path / 'placet.db'}",
        "PLACET_SECRET_KEY": SECRET_KEY,
        "PLACET_ENVIRONMENT": "test",
        "PLACET_TOKEN": now.people["ada"].token,
        # A terminal that is sent no escapes of ours: any other one would be hostile.
        "TERM": "dumb",
    }
    return {**clean(os.environ), **ours}


@pytest.fixture
def review(env: dict[str, str]) -> Review:
    """`placet review` as ada, at a terminal."""

    def start(*tokens: str, by: str = "ada", **settings: str) -> AtTerminal:
        return AtTerminal("review", *tokens, "--as", by, env={**env, **settings})

    return start


def verdicts(world: World, work: Work) -> list[Any]:
    """Who said what on the request's items, in order."""
    names = ("approved", "rejected", "payload_edited")
    return [(e.event, e.facts["actor"]) for e in world.trail(work) if e.event in names]


def test_d4_enter_and_near_words_are_no_verdict(now: World, review: Review) -> None:
    work = now.asked()
    with review() as person:
        for word in ("", "y", "yes", "A", "approved", "a a"):
            person.see(PROMPT)
            person.type(word)
            person.see("Enter is never a yes.")
        person.type("q")
        assert person.ended() == 0
    assert verdicts(now, work) == []


def test_what_was_typed_before_the_packet_was_shown_is_no_verdict(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.type("a")
        person.see(PROMPT)
        person.type("q")
        person.see("Nothing was decided.")
    assert verdicts(now, work) == []


def test_the_letter_approves_and_the_run_that_nobody_can_wake_is_named(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.see(PROMPT)
        person.type("a")
        person.see("Recorded: approved.")
        person.see(f"`placet resume {work.workflow}` puts it back to work.")
    assert verdicts(now, work) == [("approved", "ada")]


def test_rejecting_asks_for_a_reason_until_there_is_one(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.see(PROMPT)
        for word in ("reject", "", "  "):
            person.type(word)
            person.see("goes back:")
        person.type("It is rude.")
        person.see("Recorded: rejected.")
    assert now.told(work, "rejected")[0]["reason"] == "It is rude."


def test_an_edit_is_shown_as_version_2_with_its_difference_and_asked_again(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.see("v1: [a]pprove")
        for line in ("e", "", "Dear Grace,", "", "it left today.", "."):
            person.type(line)
        shown = person.see("v2: [a]pprove")
        person.type("q")
        person.ended()
    assert "What changed since the last version" in shown
    assert now.version(work).version == 2


def test_an_editor_is_used_where_one_is_set(
    now: World, review: Review, tmp_path: Path
) -> None:
    work = now.asked()
    editor = tmp_path / "editor.py"
    editor.write_text("import sys\nopen(sys.argv[1], 'a').write('\\nPS: soon\\n')")
    with review(EDITOR=f"{sys.executable} {editor}") as person:
        person.see(PROMPT)
        person.type("e")
        person.see("subject, on one line")
        person.type("")
        person.see("v2: [a]pprove")
    payload = packets.payload_of(now.services.artifacts, now.version(work))
    assert str(payload["body"]).endswith("\nPS: soon")


def test_an_edit_that_breaks_the_rules_is_refused_in_words_and_asked_again(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.see(PROMPT)
        for line in ("e", "", "Dear {{Name}},", "."):
            person.type(line)
        person.see("Not recorded.")
        person.see("the placeholder {{Name}} is")
        person.see("v1: [a]pprove")
    assert now.version(work).version == 1


def test_who_comes_second_is_told_what_was_decided(now: World, review: Review) -> None:
    work = now.asked()
    with review() as person:
        person.see(PROMPT)
        now.approve(work, by="bob")
        person.type("a")
        person.see("Not recorded.")
        person.see("approved v1 by bob")
        assert person.ended() == 0
    assert verdicts(now, work) == [("approved", "bob")]


def test_a_version_that_somebody_edited_meanwhile_is_not_judged_unseen(
    now: World, review: Review
) -> None:
    work = now.asked()
    with review() as person:
        person.see("v1: [a]pprove")
        now.edit(work, by="bob", body="Something else.")
        person.type("a")
        person.see("version 1 is not asked")
        assert "Something else." in person.see("v2: [a]pprove")
    assert now.item(work).state == State.WAITING_FOR_REVIEW


@pytest.mark.parametrize(("keys", "status"), [(CTRL_C, 130), (CTRL_D, 0)])
def test_leaving_decides_nothing(
    now: World, review: Review, keys: str, status: int
) -> None:
    work = now.asked()
    with review() as person:
        person.see(PROMPT)
        person.type("", then=keys)
        assert person.ended() == status
    assert verdicts(now, work) == []


def test_ones_own_request_can_be_looked_at_and_not_decided(
    now: World, review: Review
) -> None:
    work = now.asked(requested_by="ada")
    with review(now.item(work).id) as person:
        person.see("Send a reply to a customer")
        person.see("ada asked for this action")
        assert person.ended() == 3
    with review() as person:
        person.see("Nothing waits for you.")


def test_nothing_is_shown_to_whoever_cannot_prove_who_they_are(
    now: World, review: Review
) -> None:
    now.asked()
    with review(PLACET_TOKEN="wrong") as person:
        assert person.ended() == 3
        assert "Grace" not in person.raw


def test_items_come_by_risk_and_high_risk_asks_for_more_than_a_letter(
    now: World, review: Review
) -> None:
    now.add("olga", "owner")
    now.add_ticket("t-2", suggested_reply="We will refund everything.")
    first, high = now.asked(), now.asked("request-2", ticket_id="t-2")
    with review(by="olga", PLACET_TOKEN=now.people["olga"].token) as person:
        person.see("1 of 2: high risk")
        person.see(PROMPT)
        person.type("a")
        person.see("Type 'approve v1' to approve it:")
        person.type("a")
        person.see("nothing was decided")
        for word in ("a", "approve v1"):
            person.type(word)
        person.see("2 of 2: medium risk")
    assert (verdicts(now, first), len(verdicts(now, high))) == ([], 1)


def test_a_question_is_put_and_enter_leaves_it_open(now: World, review: Review) -> None:
    now.add_ticket("t-2", message="")
    work, _ = now.form(now.opened(ticket_id="t-2"))
    with review() as person:
        person.see("What does the customer ask for?")
        person.type("")
        person.see("Left open.")
        assert person.ended() == 0
    with review() as person:
        person.see("Enter leaves it open:")
        person.type("Where is order 100234?")
        person.see("Recorded: your answer.")
    with now.ledger.read() as tx:
        assert questions.load(tx, work.workflow, "message").answered_by == "ada"


def test_hostile_text_reaches_the_terminal_harmless(now: World, review: Review) -> None:
    now.add_ticket("t-2", message=f"Order 100234 {HOSTILE}", subject=HOSTILE[:20])
    now.asked(ticket_id="t-2")
    with review() as person:
        shown = person.see(PROMPT)
        person.type(UP_AND_APPROVE)
        person.see("Enter is never a yes.")
    assert "⟦U+001B⟧[2J" in shown and "[red]x[/red]" in shown
    assert not has_invisible(shown.replace("⟦", ""))


def test_lines_from_a_pipe_count_as_typed_and_json_is_all_of_the_output(
    now: World, env: dict[str, str]
) -> None:
    work = now.asked()
    done = subprocess.run(
        [sys.executable, "-m", "channels", "review", "--as", "ada", "--json"],
        input="\na\n",
        env=env,
        capture_output=True,
        text=True,
        check=True,
    )
    recorded = json.loads(done.stdout)["recorded"]
    assert [r["verdict"] for r in recorded] == ["approved"]
    assert verdicts(now, work) == [("approved", "ada")]
