"""`placet supervise`: the supervisor as a service, or one turn of it."""

import time
from typing import TYPE_CHECKING, Annotated

from cyclopts import Parameter

from channels import outcomes, output
from channels.commands.common import JsonFlag, service
from channels.stopping import ended_by_signals
from policies.errors import PlacetError
from tasks import unsettled

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
            except Exception as error:
                # What fails now may not fail in the next turn; a service goes on.
                output.warn(f"placet: {_in_one_line(error)}")
            time.sleep(_EVERY_SECONDS)


def _in_one_line(error: Exception) -> str:
    told = " ".join(str(error).split())
    return told if isinstance(error, PlacetError) else f"{type(error).__name__}: {told}"


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
            if row.outcome is None:
                output.say(f"{word}{row.about}: {row.what}")
            else:
                output.say(f"{word}{row.about}: {unsettled.in_words(row.outcome)}.")
                outcomes.tell_commands(row.outcome)
    if not (turn.done or turn.reported or turn.failed):
        output.say("Nothing was left undone.")
