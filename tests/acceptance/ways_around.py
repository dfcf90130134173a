"""Ways to an effect that pass the guard by, each one tried: `python -m` this module.

It is given what stands in for a claim. It prints a line for each way: its name, and
the error that it ended with.
"""

from __future__ import annotations

import asyncio
import sys
from collections.abc import Callable
from functools import partial
from typing import Any

from prefect import flow

from flows.handle_request import handle_request
from policies.errors import PlacetError
from tasks.services import load_services
from tasks.support_email.tools import send_reply

REQUEST = {"ticket_id": "around"}


@flow
def another_flow(claim: str) -> Any:
    return send_reply(load_services(), claim, 1)


@flow
def submits_it(claim: str) -> Any:
    return send_reply.submit(load_services(), claim, 1).result()


@flow
def with_a_subflow(claim: str) -> Any:
    return another_flow(claim)


def task_alone(claim: str) -> Any:
    return send_reply(load_services(), claim, 1)


def script(claim: str) -> Any:
    return send_reply.fn(load_services(), claim, 1)


def tries_again(claim: str) -> Any:
    return send_reply.with_options(retries=1)(load_services(), claim, 1)


@flow
async def above_the_loop(request_id: str) -> Any:
    state = await handle_request(
        "support_email", REQUEST, request_id, return_state=True
    )
    raise PlacetError(str(state.message), code=state.name)


WAYS: dict[str, Callable[[str], Any]] = {
    "called by a script": script,
    "a task without a flow": task_alone,
    "a task of another flow": another_flow,
    "submitted by another flow": submits_it,
    "a task of a subflow": with_a_subflow,
    "tried again": tries_again,
}
BELOW = "the loop below another flow"


def outcome(way: Callable[[], Any]) -> str:
    """The error that a way ends with: its class and its code."""
    try:
        return f"no error: {way()!r}"
    except PlacetError as error:
        return f"{type(error).__name__} {error.code}: {error.message}"


def main(claim: str) -> None:
    """Try all of them."""
    for name, way in WAYS.items():
        print(f"{name} -> {outcome(partial(way, claim))}", flush=True)
    below = outcome(lambda: asyncio.run(above_the_loop("below")))
    print(f"{BELOW} -> {below}", flush=True)


if __name__ == "__main__":
    main(sys.argv[1])
