"""Where flow runs are, many at once, for whoever looks after requests."""

from collections.abc import Iterable
from datetime import datetime
from typing import Any
from uuid import UUID

from blocks.prefect_runs import connect
from policies.attendance import Run, RunKind


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
                kind=_kind(row.state), name=row.state.name, since=row.state.timestamp
            )
    return found


def _kind(state: Any) -> RunKind:
    if state.is_cancelled() or state.is_cancelling():
        return "cancelled"
    if state.is_scheduled() or state.is_pending():
        return "coming"
    if state.is_paused():
        return "suspended" if state.name == "Suspended" else "paused"
    return "ended" if state.is_final() else "running"
