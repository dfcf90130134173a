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
from tasks.supervising import Turn


@flow(name="supervise", persist_result=False)
async def supervise() -> State[Any]:
    """One turn: effects first, since a request goes on with their outcome."""
    try:
        services = load_services()
        turn = Turn()
        for chore in (
            supervising.recover_effects,
            supervising.look_after_requests,
            supervising.bury_keys,
        ):
            turn += chore(services)
    except PlacetError as error:
        return Failed(name="Failed", message=str(error))
    return Completed(message=supervising.in_words(turn))
