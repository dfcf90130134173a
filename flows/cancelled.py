"""A run that was cancelled in Prefect: who carries it stops, and wakes it no more."""

import asyncio
from collections.abc import Callable, Coroutine, Iterator
from contextlib import contextmanager
from typing import Any
from uuid import UUID

import anyio
from httpx import HTTPError
from prefect.client.utilities import get_or_create_client
from prefect.exceptions import ObjectNotFound

_LOOK_EVERY = 5.0
Watch = Callable[[], Coroutine[Any, Any, None]]


class RunCancelled(Exception):
    """The run that carries this request, or the one that did before, was cancelled."""

    def __init__(self, run: UUID) -> None:
        super().__init__(f"run {run} was cancelled")
        self.run = run


async def stop_if_cancelled(run: UUID) -> None:
    """`RunCancelled` if Prefect says so; a server that does not answer says nothing."""
    if await is_cancelled(run):
        raise RunCancelled(run)


async def is_cancelled(run: UUID) -> bool:
    """Whether this run was cancelled, as far as Prefect tells."""
    client, _ = get_or_create_client()
    try:
        state = (await client.read_flow_run(run)).state
    except (HTTPError, ObjectNotFound):
        return False
    return state is not None and (state.is_cancelled() or state.is_cancelling())


@contextmanager
def waiting_in(run: UUID, watch: Watch) -> Iterator[None]:
    """Watch while we wait; `RunCancelled` ends the wait, which would not notice it.

    Prefect's own pause looks for nothing but Running.
    """
    with anyio.CancelScope() as scope:
        tasks = [asyncio.create_task(watch()), asyncio.create_task(_look(run, scope))]
        try:
            yield
        finally:
            for task in tasks:
                task.cancel()
    if scope.cancelled_caught:
        raise RunCancelled(run)


async def _look(run: UUID, scope: anyio.CancelScope) -> None:
    while True:
        await asyncio.sleep(_LOOK_EVERY)
        if await is_cancelled(run):
            scope.cancel()
