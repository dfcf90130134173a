"""`placet freeze`, `unfreeze`, `freezes`, and where somebody asks why it waits."""

from datetime import UTC, datetime
from typing import Any

import pytest

from tests.acceptance.shell import Shell
from tests.integration.test_control import freeze
from tests.world import World

TOLD = "every effect of tenant main is frozen since "
BY = "by ada: an incident."


@pytest.fixture
def shell(world: World) -> Shell:
    """The command, on the world's installation, by the clock of both."""
    world.clock.set(datetime.now(UTC))
    return Shell(world)


def frozen_in(document: Any) -> list[tuple[str, str, str, str | None]]:
    return [
        (one["tenant"], one["actor"], one["reason"], one["tool"])
        for one in document["frozen"]
    ]


STANDS = [("main", "ada", "an incident", None)]


def test_what_is_frozen_says_so_wherever_it_is_told(shell: Shell) -> None:
    """X9: by whom, why, which scope and since when."""
    work = shell.world.asked()
    freeze(shell.world)
    item = shell.world.item(work).id
    for command in (["status", work.workflow], ["show", item], ["queue"]):
        said = " ".join(shell.said(*command).split())
        assert TOLD in said and BY in said, command
        assert frozen_in(shell.document(*command)) == STANDS


def test_what_is_not_in_the_scope_says_nothing_of_it(shell: Shell) -> None:
    work = shell.world.asked()
    scope = {"tenant": "main", "tool": "support_email.send_acknowledgement"}
    shell.said(*_options("freeze", **scope), by="ada")
    for command in (["status", work.workflow], ["queue"]):
        assert "frozen" not in shell.said(*command)
        assert shell.document(*command)["frozen"] == []


def test_the_freezes_that_stand_are_listed(shell: Shell) -> None:
    """X9"""
    assert shell.said("freezes") == "Nothing is frozen.\n"
    freeze(shell.world)
    said = shell.said("freezes")
    assert said.startswith(TOLD) and said.endswith(f"{BY}\n")
    (one,) = shell.document("freezes")["freezes"]
    assert (one["tenant"], one["tool"], one["actor"]) == ("main", None, "ada")


@pytest.mark.parametrize(
    ("given", "code"),
    [
        ({"tool": "support_email.send_repyl"}, "unknown_tool"),
        ({"tenant": "mian"}, "unknown_tenant"),
        ({"tenant": ""}, "unknown_tenant"),
        ({"reason": "x" * 4001}, "invalid_reason"),
    ],
)
def test_a_slip_in_a_scope_is_wrong_input(
    shell: Shell, given: dict[str, str], code: str
) -> None:
    """X9"""
    for word in ("freeze", "unfreeze"):
        assert shell.refused(*_options(word, **given), by="ada") == (2, code)


def test_an_approval_of_what_is_frozen_is_refused_by_that_name(shell: Shell) -> None:
    """X9"""
    work = shell.world.asked()
    freeze(shell.world)
    answer = shell.verdict(work, "approve")
    assert answer.code == 3
    assert TOLD in answer.err and BY in answer.err
    answer = shell.verdict(work, "approve", "--json")
    assert answer.document["error"]["code"] == "frozen"


def test_the_same_reversal_twice_is_a_conflict(shell: Shell) -> None:
    work = shell.world.execute(shell.world.resumed())
    command = ["rolled-back", work.workflow, "--by", "ticket 7", "--as", "ada"]
    command += ["--reason", "wrong customer"]
    shell.said(*command, by="ada")
    assert shell.refused(*command, by="ada") == (5, "already_so")


def _options(word: str, **given: str) -> list[str]:
    options = {"reason": "an incident", "as": "ada", **given}
    return [
        word,
        *(part for name, value in options.items() for part in (f"--{name}", value)),
    ]


def test_the_path_names_who_noted_a_reversal_and_why(shell: Shell) -> None:
    """R2"""
    work = shell.world.execute(shell.world.resumed())
    command = ["rolled-back", work.workflow, "--by", "ticket 7", "--as", "ada"]
    shell.said(*command, "--reason", "wrong customer", by="ada")
    told = shell.said("audit", "show", work.workflow)
    assert "reversed v1 by ada" in told
    assert "by ticket 7" in told and "reason: wrong customer" in told
