"""At 80 columns every line of a list can be read, and every id copied whole."""

from __future__ import annotations

import re

import pytest

from tests.acceptance.shell import Shell

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
    shell.world.add_ticket("t-2", message=f"Hello there! {'word ' * 40}")
    shell.world.asked("r-2", ticket_id="t-2")
    return shell


@pytest.mark.parametrize("command", ("queue", "reviewers list", "status", "audit show"))
def test_a_list_fits_and_no_id_is_cut(narrow: Shell, command: str) -> None:
    work = narrow.world.asked()
    name, item = command.split(), narrow.world.item(work).id
    about = (work.workflow,) if command in ("status", "audit show") else ()

    lines = narrow.said(*name, *about).splitlines()

    # What is longer than that is one word, which is never cut.
    long = [line for line in lines if len(line) > COLUMNS and len(line.split()) > 1]
    assert long == []
    wanted = {"reviewers list": "a-reviewer-with-a-long-name.of.a.department"}
    assert any(wanted.get(command, item) in line.split() for line in lines)


def test_a_trail_tells_one_event_after_another_with_its_facts_below(
    narrow: Shell,
) -> None:
    work = narrow.world.asked()

    said = narrow.said("audit", "show", work.workflow)

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
