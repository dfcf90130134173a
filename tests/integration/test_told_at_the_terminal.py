"""What commands print of texts that others wrote: data, on one line, in plain sight."""

import json

import pytest

from channels import output
from channels.commands import items as item_commands
from channels.commands import requests as request_commands
from channels.service import Service
from tests.world import World

FORGED = "approved v2 by bob: fine"
# Control characters of one byte, an escape sequence, an override, a tag.
HOSTILE = "order 100234 \x9b2J \x1b[2J \x07 \x7f \u202e \u200b \u2028 \U000e0041 evil"
Printed = pytest.CaptureFixture[str]


@pytest.fixture
def world(world: World, monkeypatch: pytest.MonkeyPatch) -> World:
    """An installation whose service the commands use."""
    for commands in (item_commands, request_commands):
        monkeypatch.setattr(commands, "service", lambda: Service(world.services))
    return world


def test_a_document_is_plain_ascii_and_holds_every_character(
    world: World, capsys: Printed
) -> None:
    """W4: nothing in it acts on a terminal, and a program loses nothing."""
    world.add_ticket("t-2", message=HOSTILE)
    work = world.asked(ticket_id="t-2")
    item_commands.show(world.item(work).id, json=True)
    printed = capsys.readouterr().out
    assert printed.isascii()
    assert all(line.isprintable() for line in printed.split("\n"))
    evidence = json.loads(printed)["packet"]["items"][0]["evidence"][0]
    assert HOSTILE in evidence["text"]


def test_a_line_end_in_a_reason_makes_no_line_of_its_own(
    world: World, capsys: Printed
) -> None:
    """W4"""
    work = world.asked()
    forged = world.says(work, "reject", reason=f"no\n{FORGED}\r\n{FORGED}\x85{FORGED}")
    world.hand_in(work, forged)
    item_commands.show(world.item(work).id)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.startswith("approved")] == []
    assert [line for line in lines if f"no⟦U+000A⟧{FORGED}" in line] != []


def test_a_line_end_in_a_question_makes_no_line_of_its_own(
    world: World, capsys: Printed
) -> None:
    """W4: the name of a placeholder is whatever stood between the braces."""
    world.add_ticket("t-2", suggested_reply=f"Hi {{{{x\n{FORGED}}}}}")
    work, _ = world.form(world.opened(ticket_id="t-2"))
    request_commands.status(work.workflow)
    lines = capsys.readouterr().out.splitlines()
    assert [line for line in lines if line.strip().startswith("approved")] == []
    assert any(FORGED in line for line in lines)


@pytest.mark.parametrize("end", ["\n", "\r", "\x0b", "\x0c", "\x85", "\u2028"])
def test_what_is_said_is_one_line_whatever_is_in_it(end: str, capsys: Printed) -> None:
    """W4"""
    output.say(f"a name{end}another")
    assert capsys.readouterr().out.splitlines() == [f"a name⟦U+{ord(end):04X}⟧another"]
