"""At 80 columns every line of a list can be read, and every id copied whole."""

from __future__ import annotations

import io
import re
from collections.abc import Callable

import pytest

from tests.acceptance.shell import Shell
from tests.acceptance.test_command_documents import RUN, of_workflow, unknown

COLUMNS = 80


@pytest.fixture
def dialect() -> str:
    """What is shown is the same on every database."""
    return "sqlite"


@pytest.fixture
def narrow(shell: Shell, monkeypatch: pytest.MonkeyPatch) -> Shell:
    """A shell in a terminal of that width, with something of everything to list."""
    monkeypatch.setenv("COLUMNS", str(COLUMNS))
    shell.world.add("a-reviewer-with-a-long-name.of.a.department", "owner")
    monkeypatch.setattr("sys.stdin", io.StringIO())
    shell.world.add_ticket("t-long", message=f"Hello there! {'word ' * 40}")
    shell.world.asked("r-long", ticket_id="t-long")
    return shell


TELLING: dict[str, Callable[[Shell], list[str]]] = {
    **RUN,
    "audit show, full": of_workflow("audit", "show", "--full"),
    "audit show admin": lambda shell: ["audit", "show", "admin"],
    "supervise": lambda shell: (unknown(shell.world), ["supervise", "--once"])[1],
    "queue of outcomes": lambda shell: (unknown(shell.world), ["queue"])[1],
    "status of an outcome": lambda shell: ["status", unknown(shell.world)],
    "resolve, not happened": lambda shell: [
        *("resolve", unknown(shell.world), "not-happened"),
        *("--as", "ada", "--reason", "word " * 40),
    ],
    "resume of what has ended": lambda shell: [
        *("resume", shell.world.advance(shell.world.resumed())[0].workflow),
    ],
    "a wrong token": lambda shell: ["freeze", "--as", "zoe", "--reason", "x"],
    "a wrong argument": lambda shell: ["queue", "--state", "none"],
    "a missing argument": lambda shell: ["decide"],
}


@pytest.mark.parametrize("command", TELLING)
def test_what_any_command_tells_fits(narrow: Shell, command: str) -> None:
    """W4: on both streams; what is longer is one word, which is never cut."""
    said = narrow.run(*TELLING[command](narrow), by="ada")

    lines = (said.out + said.err).splitlines()
    long = [line for line in lines if len(line) > COLUMNS and len(line.split()) > 1]
    assert lines and long == []


@pytest.mark.parametrize("command", ("queue", "status", "audit show"))
def test_no_id_of_a_list_is_cut(narrow: Shell, command: str) -> None:
    work = narrow.world.asked()
    about = (work.workflow,) if command != "queue" else ()

    words = narrow.said(*command.split(), *about).split()

    assert narrow.world.item(work).id in words


def test_a_command_that_is_told_can_be_pasted(narrow: Shell) -> None:
    """W4: where it is too long for a line, as a shell goes on."""
    work = narrow.world.asked()

    said = narrow.said("show", narrow.world.item(work).id).replace(" \\\n", "")

    (line,) = [line for line in said.splitlines() if "placet decide " in line]
    assert line.split()[-4::2] == ["--version", "--snapshot"]


def test_a_trail_tells_one_event_after_another_with_its_facts_below(
    narrow: Shell,
) -> None:
    work = narrow.world.asked()

    said = narrow.said("audit", "show", work.workflow, "--full")

    (opened,) = re.findall(r"^1  \S+  request_opened\n((?:    .*\n)+)", said, re.M)
    assert "    domain: support_email\n" in opened
    assert "    request_id: request-1\n" in opened


def test_what_is_copied_from_a_packet_stands_on_one_line(narrow: Shell) -> None:
    work = narrow.world.asked()
    item, version = narrow.world.item(work).id, narrow.world.version(work)

    lines = narrow.said("show", item).splitlines()

    payload = version.snapshot.payload.hash
    assert any(payload in line for line in lines)
    assert any(item in line.split() for line in lines)
    assert any(work.workflow in line for line in lines)
