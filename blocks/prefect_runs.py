"""Prefect's side of a request: its flow run, started, woken and put back to work.

Prefect is imported only here and only when a run is touched; nothing in here is
evidence. Every answer is read back: a refused change comes as HTTP 200.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias
from uuid import UUID

from policies.errors import Conflict, PlacetError, Unavailable
from policies.value import Json, Value

DEPLOYMENT = "handle-request/default"


WokenState: TypeAlias = Literal["woken", "not waiting", "dead", "unreachable"]


class Woken(Value):
    """What became of waking a run: it never decides whether a verdict counts.

    `dead` means that no process works on the request, and none will by itself.
    """

    state: WokenState
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


def wake(flow_run_id: str, *, carried: bool) -> Woken:
    """Wake a run that waits, without a form's answer: it reads the ledger itself.

    Running while its pause is hot, Scheduled when it is suspended. `carried` says
    whether a process holds the request or the run is suspended: Prefect does not notice
    that the process of a paused run has died.
    """
    try:
        with _client() as client:
            state = client.read_flow_run(UUID(flow_run_id)).state
            name = state.name if state else "gone"
            if state is not None and state.is_paused():
                name = _unpause(client, flow_run_id, state)
            word = _what_became(state, carried)
            told = "no process works on it any more; " if word == "dead" else ""
            return Woken(state=word, detail=f"{told}the run is {name}")
    except PlacetError as error:
        return Woken(state="unreachable", detail=error.message)
    except Exception as error:
        return Woken(state="unreachable", detail=f"Prefect: {type(error).__name__}")


def _what_became(state: Any, carried: bool) -> WokenState:
    if state is None or state.is_final():
        return "dead"
    if not (carried or state.is_scheduled() or state.is_pending()):
        return "dead"
    return "woken" if state.is_paused() else "not waiting"


def _unpause(client: Any, flow_run_id: str, state: Any) -> str:
    """The name of the state after it."""
    from prefect.states import Running, Scheduled

    suspended = state.name == "Suspended"
    wanted: Any = Scheduled(name="Resuming") if suspended else Running()
    client.set_flow_run_state(UUID(flow_run_id), wanted, force=not suspended)
    return _state_name(client, flow_run_id)


def reschedule(flow_run_id: str) -> str:
    """Have a worker run this flow run again from the top; the state it is in now."""
    from prefect.states import Scheduled

    with _client() as client:
        wanted: Any = Scheduled(name="AwaitingRetry")
        client.set_flow_run_state(UUID(flow_run_id), wanted, force=True)
        return _state_name(client, flow_run_id)


def unreachable(url: str) -> Unavailable:
    """What is raised where the Prefect server does not answer."""
    return Unavailable(
        f"The Prefect server {url} does not answer.",
        code="prefect_unreachable",
        hint="Nothing was started. Check PREFECT_API_URL and the server.",
    )


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
            raise unreachable(url) from error
        yield client
