"""The demo's last words are true, whatever became of its request."""

from __future__ import annotations

import io
from typing import get_args

import pytest
from rich.console import Console

from channels.demo_mailbox import Mailbox
from channels.demo_result import Ending, decision_of, ending_of, tell
from channels.demo_screen import Screen
from channels.service import Service
from policies.state import OPEN_STATUS, SessionStatus
from tests.world import World

ENDS = sorted(set(get_args(SessionStatus)) - set(OPEN_STATUS))


@pytest.fixture
def dialect() -> str:
    """The words are the same on every database."""
    return "sqlite"


def told(world: World, ending: Ending) -> str:
    """What the demo prints at its end."""
    out = io.StringIO()
    tell(ending, Screen(Console(file=out)), Service(world.services), world.folder)
    return out.getvalue()


def ended(world: World, status: str) -> Ending:
    """The end of a request of which nothing is known to have been sent."""
    work = world.asked()
    service, mailbox = Service(world.services), Mailbox(world.folder)
    ending = ending_of(service, work.workflow, mailbox)
    return ending.model_copy(update={"status": status, "closing": ("because",)})


@pytest.mark.parametrize("status", ENDS)
def test_every_end_has_words_of_its_own(status: str, world: World) -> None:
    said = told(world, ended(world, status))

    carried_out = decision_of(status) == "made and carried out"
    assert carried_out == (status == "completed")
    assert ("Nothing was sent." in said) == (status != "unknown")
    assert (f"The request is {status}: because." in said) == (status != "completed")
