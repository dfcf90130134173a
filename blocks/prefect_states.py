"""Where flow runs are, for whoever looks after requests or acts for one."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from blocks.prefect_runs import connect
from policies.attendance import Run, RunKind
from policies.errors import PlacetError


def read_many(flow_run_ids: Iterable[str], now: datetime) -> dict[str, Run]:
    """Each run as Prefect has it; one that Prefect does not know is `gone`."""
    from prefect.client.schemas.filters import FlowRunFilter, FlowRunFilterId

    wanted = [UUID(run_id) for run_id in flow_run_ids]
    found = {str(run_id): Run(kind="gone", name="gone", since=now) for run_id in wanted}
    if not wanted:
        return {}
    with connect() as client:
        rows = client.read_flow_runs(
            flow_run_filter=FlowRunFilter(id=FlowRunFilterId(any_=wanted)),
            limit=len(wanted),
        )
    for row in rows:
        if row.state is not None:
            found[str(row.id)] = Run(
                kind=_kind(row.state),
                name=row.state.name,
                since=row.state.timestamp,
                deployed=row.deployment_id is not None,
            )
    return found


def read_one(flow_run_id: str | None, now: datetime) -> Run:
    """One run, or that it is `gone` or `not known`; never raises for a server."""
    if flow_run_id is None:
        return Run(kind="gone", name="never begun", since=now)
    try:
        return read_many([flow_run_id], now)[flow_run_id]
    except PlacetError as error:
        return not_known(error, now)


def not_known(error: PlacetError, now: datetime) -> Run:
    """What is said of a run while its server does not answer."""
    return Run(kind="not known", name=error.message, since=now)


def _kind(state: Any) -> RunKind:
    if state.is_cancelled() or state.is_cancelling():
        return "cancelled"
    if state.is_scheduled():
        return "coming"
    if state.is_pending():
        return "taken"
    if state.is_paused():
        return "suspended" if state.name == "Suspended" else "paused"
    return "ended" if state.is_final() else "running"
