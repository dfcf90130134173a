"""The supervisor: it notices what nobody is waiting for.

Scheduled as `supervise/every-30s`, or run as a service by `placet supervise`. It can
be killed anywhere and run twice at once.
"""

from typing import Any

from prefect import flow
from prefect.client.schemas.objects import State
from prefect.states import Completed, Failed

from policies.errors import PlacetError
from tasks import supervising
from tasks.services import load_services


@flow(name="supervise", persist_result=False)
async def supervise() -> State[Any]:
    """One turn; it ends Failed where somebody must look, whatever else was done."""
    try:
        services = load_services()
    except PlacetError as error:
        return Failed(message=str(error))
    turn = supervising.take_turn(services)
    told = supervising.in_words(turn)
    return Failed(message=told) if turn.failed else Completed(message=told)
