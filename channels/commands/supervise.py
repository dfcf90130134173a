"""`placet supervise`: the supervisor as a service, or one turn of it."""

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from channels import output
from channels.commands.common import JsonFlag, service
from channels.stopping import ended_by_signals
from policies.errors import PlacetError

if TYPE_CHECKING:
    from tasks.supervising import Turn

_EVERY_SECONDS = 30.0


def supervise(
    *,
    once: Annotated[bool, Parameter(negative="", help="One turn, then end.")] = False,
    json: JsonFlag = False,
) -> int:
    """Notice what nobody waits for: dead processes, effects left, missed deadlines."""
    serving = service()
    if once:
        turn = serving.supervise()
        _tell(turn, json)
        return 1 if turn.failed else 0
    with ended_by_signals():
        while True:
            try:
                _tell(serving.supervise(), json)
            except PlacetError as error:
                # A server that does not answer now may answer in the next turn.
                output.warn(f"placet: {error}")
            time.sleep(_EVERY_SECONDS)


def _tell(turn: "Turn", json: bool) -> None:
    if json:
        output.document(turn)
        return
    for word, rows in (
        ("", turn.done),
        ("to do: ", turn.reported),
        ("failed: ", turn.failed),
    ):
        for row in rows:
            output.say(f"{word}{row.about}: {row.what}")
    if not (turn.done or turn.reported or turn.failed):
        output.say("Nothing was left undone.")
