"""Answers to forms, as Prefect keeps them: read, and deleted once they are recorded."""

from datetime import datetime
from typing import NamedTuple
from uuid import UUID

from blocks.ledger.rounds import PauseRow
from blocks.prefect_runs import connect
from policies.value import Json


class FormAnswer(NamedTuple):
    """What was sent to a form, and when."""

    values: dict[str, Json]
    sent_at: datetime


def response_key(pause: PauseRow) -> str:
    """Prefect's name for the answer to a pause's form."""
    state = "suspended" if pause.kind == "suspended" else "paused"
    return f"{state}-{pause.key}-response"


def read_last(pause: PauseRow) -> FormAnswer | None:
    """The answer to a form to which nothing can be sent any more; None without one.

    A run that still shows the form is told to be running, so that Prefect refuses what
    comes later. `LookupError` where Prefect does not have the run.
    """
    from prefect.exceptions import ObjectNotFound
    from prefect.states import Running

    run, key = UUID(pause.flow_run_id), response_key(pause)
    with connect() as client:
        try:
            state = client.read_flow_run(run).state
        except ObjectNotFound as error:
            raise LookupError(pause.flow_run_id) from error
        if state is not None and state.is_paused():
            client.set_flow_run_state(run, Running(), force=True)
        rows = client.filter_flow_run_input(
            run, key_prefix=key, limit=1, exclude_keys=set()
        )
    found = rows[0].decoded_value if rows and rows[0].key == key else None
    return FormAnswer(found, rows[0].created) if isinstance(found, dict) else None


def forget(pause: PauseRow) -> None:
    """Delete an answer that is recorded: it holds a code."""
    with connect() as client:
        client.delete_flow_run_input(UUID(pause.flow_run_id), response_key(pause))
