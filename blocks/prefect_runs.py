"""Prefect's side of a request: its flow run, started, woken and put back to work.

Prefect is imported only here and only when a run is touched; nothing in here is
evidence. Every answer is read back: a refused change comes as HTTP 200.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any, Literal, TypeAlias
from uuid import UUID

from blocks.ledger.sessions import workflow_id
from policies.errors import Conflict, PlacetError, Unavailable
from policies.value import Json, Value

DEPLOYMENT = "handle-request/default"
_FLOW = DEPLOYMENT.partition("/")[0]
# Ten pages of what is not completed: whoever asks about a run asks soon.
_PAGE, _PAGES = 200, 10


WokenState: TypeAlias = Literal[
    "woken", "not waiting", "dead", "unreachable", "cancelled"
]


class Woken(Value):
    """What became of waking a run: it never decides whether a verdict counts.

    `dead` means that no process works on the request, and none will by itself;
    `cancelled`, that nothing more will be done for it.
    """

    state: WokenState
    detail: str


class FlowRun(Value):
    """A flow run as Prefect knows it; `message` is what its state says, in one line."""

    id: str
    state: str
    message: str
    is_over: bool
    is_running: bool
    is_cancelled: bool
    waits_for_worker: bool
    deployed: bool
    parameters: dict[str, Any]

    @property
    def request_id(self) -> str:
        """The id of the request that it carries."""
        return self.parameters.get("request_id") or self.id

    @property
    def why(self) -> str:
        """Its state, with what the state says."""
        return f"{self.state}: {self.message}" if self.message else self.state


def start(domain: str, request: dict[str, Json], request_id: str | None) -> FlowRun:
    """Create a run of the deployment. The same request id, the same run.

    `Conflict` (idempotency_conflict) if that run was made for another request: Prefect
    itself would answer with the earlier run and say nothing.
    """
    with connect() as client:
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
        return _seen(run)


def find_run(workflow: str) -> FlowRun | None:
    """The newest run of this request that is not completed, or None.

    Asked where the ledger knows no such request: its run has not begun, or has ended
    before it could.
    """
    from prefect.client.schemas.sorting import FlowRunSort

    with connect() as client:
        for page in range(_PAGES):
            found = client.read_flow_runs(
                **_not_completed(),
                sort=FlowRunSort.EXPECTED_START_TIME_DESC,
                limit=_PAGE,
                offset=page * _PAGE,
            )
            for run in map(_seen, found):
                if workflow_id(run.request_id) == workflow:
                    return run
            if len(found) < _PAGE:
                return None
    return None


def read_run(flow_run_id: str) -> FlowRun | None:
    """A run by its id; None where Prefect does not know it."""
    from prefect.exceptions import ObjectNotFound

    with connect() as client:
        try:
            return _seen(client.read_flow_run(UUID(flow_run_id)))
        except ObjectNotFound:
            return None


def wake(flow_run_id: str, *, live: bool) -> Woken:
    """Wake a run that waits, without a form's answer: it reads the ledger itself.

    Running while its pause is hot, Scheduled when it is suspended. `live` says whether
    a process holds the request: Prefect does not notice that the process of a run has
    died, be it paused or, after a suspension, Running again.
    """
    try:
        with connect() as client:
            was = now = client.read_flow_run(UUID(flow_run_id)).state
            if was is not None and was.is_paused():
                now = _unpause(client, flow_run_id, was)
            word = _what_became(was, now, live)
            told = "no process works on it any more; " if word == "dead" else ""
            name = now.name if now else "gone"
            return Woken(state=word, detail=f"{told}the run is {name}")
    except PlacetError as error:
        return Woken(state="unreachable", detail=error.message)
    except Exception as error:
        return Woken(state="unreachable", detail=f"Prefect: {type(error).__name__}")


def _not_completed() -> dict[str, Any]:
    from prefect.client.schemas.filters import (
        FlowFilter,
        FlowFilterName,
        FlowRunFilter,
        FlowRunFilterState,
        FlowRunFilterStateType,
    )
    from prefect.client.schemas.objects import StateType

    types: list[StateType] = [k for k in StateType if k != StateType.COMPLETED]
    state = FlowRunFilterState(type=FlowRunFilterStateType(any_=types))
    return {
        "flow_filter": FlowFilter(name=FlowFilterName(any_=[_FLOW])),
        "flow_run_filter": FlowRunFilter(state=state),
    }


def _seen(run: Any) -> FlowRun:
    state = run.state
    return FlowRun(
        id=str(run.id),
        state=state.name if state else "without a state",
        message=_in_one_line(state.message or "") if state else "",
        is_over=state is not None and state.is_final(),
        is_running=state is not None and state.is_running(),
        is_cancelled=state is not None
        and (state.is_cancelled() or state.is_cancelling()),
        waits_for_worker=state is not None and _waits_for_worker(state),
        deployed=run.deployment_id is not None,
        parameters=run.parameters,
    )


def _in_one_line(message: str) -> str:
    """Of a message that quotes a stack trace, its head and the error at its end."""
    lines = [" ".join(line.split()) for line in message.splitlines() if line.strip()]
    if any(line.startswith("Traceback ") for line in lines):
        lines = [lines[0], lines[-1]] if len(lines) > 1 else lines
    return " ".join(lines)


def _what_became(was: Any, now: Any, live: bool) -> WokenState:
    """By the state before and the one that is there after it, whatever was answered."""
    if now is None or now.is_final():
        return "dead"
    left = was.is_paused() and not now.is_paused()
    # A worker makes these a process; any other state needs one that is there.
    if not (live or _waits_for_worker(now) or (left and _suspended(was))):
        return "dead"
    return "woken" if left else "not waiting"


def _waits_for_worker(state: Any) -> bool:
    return bool(state.is_scheduled() or state.is_pending())


def _suspended(state: Any) -> bool:
    return bool(state.is_paused() and state.name == "Suspended")


def _unpause(client: Any, flow_run_id: str, state: Any) -> Any:
    """The state after it, which Prefect may have refused to change."""
    from prefect.states import Running, Scheduled

    suspended = _suspended(state)
    wanted: Any = Scheduled(name="Resuming") if suspended else Running()
    client.set_flow_run_state(UUID(flow_run_id), wanted, force=not suspended)
    return client.read_flow_run(UUID(flow_run_id)).state


def put_back(workflow: str, flow_run_id: str) -> str:
    """Have a worker go on with a request in this flow run; the state it is in now.

    `Conflict` (run_cancelled) if it was cancelled: what was called off stays so.
    `Unavailable` (not_deployed) for one that no worker would ever take.
    """
    run = read_run(flow_run_id)
    if run is not None and run.is_cancelled:
        raise called_off(workflow)
    if run is None or not run.deployed:
        raise Unavailable(
            f"The run of {workflow} has no deployment: no worker would take it.",
            code="not_deployed",
            hint=f"Carry it on here: placet resume {workflow}",
        )
    return reschedule(flow_run_id)


def called_off(workflow: str) -> Conflict:
    """What is said to whoever wants to go on with a request that was cancelled."""
    return Conflict(
        f"The run of {workflow} was cancelled in Prefect: it is not gone on with.",
        code="run_cancelled",
        hint="Submit it anew, under a new request id. `placet supervise --once` ends "
        "this one.",
    )


def reschedule(flow_run_id: str) -> str:
    """Have a worker run this flow run from the top, whatever it is; its state now.

    For a request that has begun see `put_back`.
    """
    from prefect.states import Scheduled

    with connect() as client:
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


def _failed(url: str, error: Exception) -> Unavailable:
    response = getattr(error, "response", None)
    said = type(error).__name__ if response is None else f"HTTP {response.status_code}"
    return Unavailable(
        f"The Prefect server {url} failed to answer a call: {said}.",
        code="prefect_unreachable",
        hint="Look at the server and its log, then do it again.",
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


def server_url() -> str:
    """The configured server's; without one Prefect would start one of its own."""
    from prefect.settings import PREFECT_API_URL

    url: str | None = PREFECT_API_URL.value()
    if not url:
        raise Unavailable(
            "No Prefect server is configured.",
            code="no_prefect_server",
            hint="Set PREFECT_API_URL, or submit with --local.",
        )
    return url


@contextmanager
def connect() -> Iterator[Any]:
    """A synchronous client for the configured server; never one that starts its own."""
    import httpx
    from prefect.client.orchestration import get_client

    url = server_url()
    with get_client(sync_client=True) as client:
        try:
            client.hello().raise_for_status()
        except httpx.HTTPError as error:
            raise unreachable(url) from error
        try:
            yield client
        except httpx.HTTPError as error:
            # Prefect tells a status that it did not expect by one of these, too.
            raise _failed(url, error) from error
