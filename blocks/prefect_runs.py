"""Prefect's side of a request: its flow run, started, woken and put back to work.

Prefect is imported only here and only when a run is touched; nothing in here is
evidence. Every answer is read back: a refused change comes as HTTP 200.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal
from uuid import UUID

from policies.errors import Conflict, PlacetError, Unavailable
from policies.value import Json, Value

DEPLOYMENT = "handle-request/default"


class Woken(Value):
    """What became of waking a run: it never decides whether a verdict counts."""

    state: Literal["woken", "not waiting", "unreachable"]
    detail: str


def start(domain: str, request: dict[str, Json], request_id: str | None) -> str:
    """Create a run of the deployment; its id. The same request id, the same run.

    `Conflict` (idempotency_conflict) if that run was made for another request: Prefect
    itself would answer with the earlier run and say nothing.
    """
    with _client() as client:
        deployment = _deployment(client)
        parameters = {"domain": domain, "request": request, "request_id": request_id}
        run = client.create_flow_run_from_deployment(
            deployment.id, parameters=parameters, idempotency_key=request_id
        )
        if run.parameters != parameters:
            raise Conflict(
                f"Request id {request_id!r} was used for another request.",
                code="idempotency_conflict",
                hint="Use a new id, or send exactly the same request again.",
            )
        return str(run.id)


def wake(flow_run_id: str) -> Woken:
    """Wake a run that waits, without a form's answer: it reads the ledger itself.

    Running while its pause is hot, Scheduled when it is suspended.
    """
    from prefect.states import Running, Scheduled

    try:
        with _client() as client:
            state = client.read_flow_run(UUID(flow_run_id)).state
            if state is None or not state.is_paused():
                word = state.name if state else "gone"
                return Woken(state="not waiting", detail=f"the run is {word}")
            suspended = state.name == "Suspended"
            wanted: Any = Scheduled(name="Resuming") if suspended else Running()
            client.set_flow_run_state(UUID(flow_run_id), wanted, force=not suspended)
            return Woken(state="woken", detail=_state_name(client, flow_run_id))
    except PlacetError as error:
        return Woken(state="unreachable", detail=error.message)
    except Exception as error:
        return Woken(state="unreachable", detail=f"Prefect: {type(error).__name__}")


def reschedule(flow_run_id: str) -> str:
    """Have a worker run this flow run again from the top; the state it is in now."""
    from prefect.states import Scheduled

    with _client() as client:
        wanted: Any = Scheduled(name="AwaitingRetry")
        client.set_flow_run_state(UUID(flow_run_id), wanted, force=True)
        return _state_name(client, flow_run_id)


def _state_name(client: Any, flow_run_id: str) -> str:
    state = client.read_flow_run(UUID(flow_run_id)).state
    return state.name if state else "unknown"


def _deployment(client: Any) -> Any:
    from prefect.exceptions import ObjectNotFound

    try:
        return client.read_deployment_by_name(DEPLOYMENT)
    except ObjectNotFound as error:
        raise Unavailable(
            f"Prefect has no deployment {DEPLOYMENT}.",
            code="not_deployed",
            hint="Run `prefect --no-prompt deploy --all`, or submit with --local.",
        ) from error


@contextmanager
def _client() -> Iterator[Any]:
    """A synchronous client for the configured server; never one that starts its own."""
    import httpx
    from prefect.client.orchestration import get_client
    from prefect.settings import PREFECT_API_URL

    url = PREFECT_API_URL.value()
    if not url:
        raise Unavailable(
            "No Prefect server is configured.",
            code="no_prefect_server",
            hint="Set PREFECT_API_URL, or submit with --local.",
        )
    with get_client(sync_client=True) as client:
        try:
            client.hello().raise_for_status()
        except httpx.HTTPError as error:
            raise Unavailable(
                f"The Prefect server {url} does not answer.",
                code="prefect_unreachable",
                hint="Nothing was started. Check PREFECT_API_URL and the server.",
            ) from error
        yield client
