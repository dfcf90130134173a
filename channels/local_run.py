"""Carrying a request in this process, without a deployment and without a worker."""

import logging
import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager, suppress
from functools import partial
from typing import Any

from blocks import prefect_runs
from blocks.repeating import Repeating
from blocks.settings import Settings
from channels.local_server import LocalServer
from policies.errors import PlacetError, Superseded
from policies.value import Json

_LOOK_EVERY = 1.0


@contextmanager
def prefect_api(settings: Settings) -> Iterator[str]:
    """A Prefect server: the configured one, or one of our own while this lasts.

    Prefect would start a temporary one by itself, whose UI nobody can find and whose
    pauses nobody can answer.
    """
    configured = os.environ.get("PREFECT_API_URL")
    if configured:
        yield configured
        return
    with (
        LocalServer(settings.home / "prefect") as server,
        Repeating(partial(_keep_up, server), _LOOK_EVERY),
    ):
        # Before Prefect is imported: it reads its settings once.
        os.environ["PREFECT_API_URL"] = server.api_url
        try:
            yield server.api_url
        finally:
            del os.environ["PREFECT_API_URL"]


def _keep_up(server: LocalServer) -> bool:
    """Go on with a server of our own at the same address if another's has ended.

    Whoever started it ends it with its own request; ours still waits there.
    """
    # What cannot be started now is tried again in a moment.
    with suppress(PlacetError):
        server.keep_up()
    return True


def use_running_server(settings: Settings) -> None:
    """Where no server is configured, use the local one that runs on this home, if any.

    A request that is carried by another local process waits there.
    """
    if os.environ.get("PREFECT_API_URL"):
        return
    server = LocalServer(settings.home / "prefect")
    if server.find():
        os.environ["PREFECT_API_URL"] = server.api_url


def run_here(
    domain: str,
    request: dict[str, Json],
    request_id: str | None,
    started: Callable[[str], None],
) -> tuple[str, bool]:
    """Carry a request to its end; the run's last message, and whether it failed.

    `started` is told the flow run's id before anything is done.
    """
    _keep_logs_apart()
    import anyio
    from prefect.exceptions import TerminationSignal

    try:
        return anyio.run(_run_here, domain, request, request_id, started)
    except TerminationSignal as stop:
        # Prefect takes SIGTERM for itself while a run is at work.
        raise SystemExit(128 + stop.signal) from None
    finally:
        # While there is a server that takes them: it may be our own, and end now.
        for handler in logging.getLogger("prefect.flow_runs").handlers:
            handler.flush()


def _keep_logs_apart() -> None:
    """Prefect's log lines go to its server, not between our words; PLACET_DEBUG: both.

    Prefect gives the root logger no handler of its own where there is one already.
    """
    if os.environ.get("PLACET_DEBUG"):
        return
    for handler in logging.getLogger().handlers:
        handler.addFilter(_is_not_of_prefect)


def _is_not_of_prefect(record: logging.LogRecord) -> bool:
    return record.name.partition(".")[0] != "prefect"


async def _run_here(
    domain: str,
    request: dict[str, Json],
    request_id: str | None,
    started: Callable[[str], None],
) -> tuple[str, bool]:
    from httpx import HTTPError
    from prefect.client.orchestration import get_client
    from prefect.states import Pending

    from flows.handle_request import handle_request

    given: dict[str, Any] = {
        "domain": domain,
        "request": request,
        "request_id": request_id,
    }
    try:
        async with get_client() as client:
            run = await client.create_flow_run(
                handle_request, parameters=given, state=Pending()
            )
    except HTTPError as error:
        raise prefect_runs.unreachable(os.environ["PREFECT_API_URL"]) from error
    started(str(run.id))
    state = await _carry(run, given)
    return state.message or state.name, state.is_failed() or state.is_crashed()


async def _carry(run: Any, given: dict[str, Any]) -> Any:
    """The run's last state; `Superseded` if another process has taken over."""
    from prefect.exceptions import Abort
    from prefect.flow_engine import run_flow_async

    from flows.handle_request import handle_request

    try:
        return await run_flow_async(
            handle_request, flow_run=run, parameters=given, return_type="state"
        )
    except Abort as error:
        raise Superseded(str(error)) from error
