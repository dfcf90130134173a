"""What `--json` says has the names that the reference gives it, and no others."""

from __future__ import annotations

import re
from collections.abc import Callable
from pathlib import Path

import pytest

from blocks import gate
from channels.command import SUBCOMMANDS
from channels.demo_result import Ending
from channels.starting import Submitted
from tasks.supervising import Turn
from tests.acceptance.shell import Shell
from tests.world import World

REFERENCE = (Path(__file__).parents[2] / "docs" / "reference.md").read_text("utf-8")
SECTION = REFERENCE.partition("## What `--json` says")[2].partition("\n## ")[0]
ROWS = dict(re.findall(r"^\| `([a-z -]+)` \| (.+) \|$", SECTION, re.MULTILINE))


@pytest.fixture
def dialect() -> str:
    """The shapes are the same on every database."""
    return "sqlite"


def names(command: str) -> list[str]:
    """The names that the reference gives for a command."""
    return re.findall(r"`([a-z_]+)`", ROWS[command].partition(";")[0])


def of_item(*words: str) -> Callable[[Shell], list[str]]:
    return lambda shell: [*words, shell.world.item(shell.world.asked()).id]


def of_workflow(*words: str) -> Callable[[Shell], list[str]]:
    return lambda shell: [*words, shell.world.asked().workflow]


def with_file(*words: str) -> Callable[[Shell], list[str]]:
    customer = {"id": "c-9", "name": "Alan Kay", "email": "kay@example.com"}
    return lambda shell: [*words, shell.write("f.json", {"customers": [customer]})]


def approve(shell: Shell) -> list[str]:
    work = shell.world.asked()
    decide = ["decide", shell.world.item(work).id, "approve", "--as", "ada"]
    return [*decide, *shell.seen(work)]


def approve_both(shell: Shell) -> list[str]:
    world = shell.world
    work = world.asked(recipients=["c-1", "c-2"])
    said = [world.says(work, "approve", item) for item in world.items(work)]
    plan = {"verdicts": [one.model_dump(mode="json") for one in said]}
    file = shell.write("review.json", plan)
    return ["decide-plan", work.workflow, file, "--as", "ada"]


def answer(shell: Shell) -> list[str]:
    shell.world.add_ticket("t-2", message="Hello there!")
    work = shell.world.asked(ticket_id="t-2")
    return ["answer", work.workflow, "topic", "refund", "--as", "ada"]


FREEZE = ["freeze", "--tenant", "main", "--reason", "an incident"]


def unknown(world: World) -> str:
    """A request whose process died between send and record."""
    work, claim = world.claimed()
    gate.open_for(
        world.services.gate, claim.id, claim.token, "support_email.send_reply"
    )
    world.clock.move(61)
    return world.execute(work).workflow


def lift(shell: Shell) -> list[str]:
    shell.said(*FREEZE, "--as", "ada", by="ada")
    return ["unfreeze", *FREEZE[1:], "--as", "ada"]


RUN: dict[str, Callable[[Shell], list[str]]] = {
    "db upgrade": lambda shell: ["db", "upgrade"],
    "load": with_file("load", "support_email"),
    "reviewers add": lambda shell: (
        ["reviewers", "add", "zoe", "--role", "owner", "--tenant", "main"]
    ),
    "reviewers list": lambda shell: ["reviewers", "list"],
    "reviewers rotate": lambda shell: ["reviewers", "rotate", "bob"],
    "reviewers revoke": lambda shell: ["reviewers", "revoke", "bob"],
    "keys rotate": lambda shell: ["keys", "rotate"],
    "resolve": lambda shell: [
        *("resolve", unknown(shell.world), "happened"),
        *("--as", "ada", "--reason", "it arrived"),
    ],
    "rolled-back": lambda shell: [
        *("rolled-back", shell.world.execute(shell.world.resumed()).workflow),
        *("--by", "ticket 7", "--as", "ada", "--reason", "wrong customer"),
    ],
    "freeze": lambda shell: [*FREEZE, "--as", "ada"],
    "unfreeze": lift,
    "freezes": lambda shell: ["freezes"],
    "queue": lambda shell: ["queue"],
    "show": of_item("show"),
    "decide": approve,
    "decide-plan": approve_both,
    "answer": answer,
    "review": lambda shell: ["review", "--as", "ada"],
    "status": of_workflow("status"),
    "audit show": of_workflow("audit", "show"),
    "audit verify": lambda shell: ["audit", "verify"],
    "canonical": with_file("canonical"),
}


@pytest.mark.parametrize("command", RUN)
def test_a_document_has_the_names_that_the_reference_gives(
    command: str, shell: Shell
) -> None:
    """W4: programs read these."""
    said = shell.run(*RUN[command](shell), "--json", by="ada").document

    assert sorted(said) == sorted(names(command))


def test_the_reference_gives_the_names_of_every_command() -> None:
    assert sorted(ROWS) == sorted(words for words, _, _ in SUBCOMMANDS)
    assert names("submit") == list(Submitted.model_fields)
    assert names("demo") == list(Ending.model_fields)
    assert sorted(ROWS.keys() - RUN.keys()) == [
        "demo",
        "resume",
        "submit",
        "supervise",
    ]
    assert names("supervise") == list(Turn.model_fields)
