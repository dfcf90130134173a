"""`placet review`: item by item, here in the terminal."""

import os
import sys
from typing import Annotated

from cyclopts import Parameter
from rich.console import Console

from blocks.ledger import people
from blocks.ledger.people import Proof
from channels import naming, output
from channels.commands.common import JsonFlag, service
from channels.refusals import token_proof, turned_away
from channels.review import Review
from channels.review_terminal import Terminal
from channels.service import Service
from policies.access import Denied, Reviewer
from policies.errors import InvalidInput


def review(
    item: str | None = None,
    *,
    reviewer: Annotated[str | None, Parameter(name="--as")] = None,
    json: JsonFlag = False,
) -> None:
    """Review what waits for you: shows each packet, takes a verdict on each.

    Parameters
    ----------
    item
        Only this item; without it, everything that you may decide, in priority order.
    reviewer
        Your reviewer id; your token is PLACET_TOKEN. Asked for where it is missing.
    """
    serving = service()
    # With --json the conversation is no part of the answer.
    terminal = Terminal(Console(highlight=False, stderr=json))
    who, proof = _introduce(serving, terminal, reviewer)
    sitting = Review(serving, who, proof, terminal)
    try:
        if item is not None:
            sitting.one(naming.item(serving.services, item))
        elif not sitting.everything():
            terminal.say("Nothing waits for you.")
    except EOFError:
        terminal.say("The input ended: nothing more was decided.")
    if json:
        answered = sitting.questions.answered
        output.document({"recorded": sitting.recorded, "answered": answered})


def _introduce(
    serving: Service, terminal: Terminal, reviewer: str | None
) -> tuple[Reviewer, Proof]:
    """Who this is, and their proof, which is checked before anything is shown."""
    token = os.environ.get("PLACET_TOKEN")
    if sys.stdin.isatty():
        reviewer = reviewer or terminal.ask("Your reviewer id:")
        token = token or terminal.ask_secret("Your token (it is not shown):")
    if not reviewer:
        raise InvalidInput("Say who you are: --as REVIEWER.", code="reviewer_missing")
    proof = token_proof(token)
    services = serving.services
    with services.ledger.write() as tx:
        who = people.prove(tx, services.vault, reviewer, proof)
    if isinstance(who, Denied):
        raise turned_away(reviewer, who)
    return who, proof
