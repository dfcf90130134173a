"""Rounds: what a workflow waits for now, and whether it still waits.

A round ends when all of its items are final and its required questions answered, or
when what is asked has changed; then the next one is opened under another key.
"""

from datetime import datetime
from typing import Any, Literal, TypeAlias

from sqlalchemy import select, update

from blocks.artifacts import StoredArtifact
from blocks.ledger import (
    audit,
    items,
    proposals,
    questions,
    resumes,
    sessions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item
from blocks.ledger.sessions import Held, Pending, Session
from blocks.ledger.tables import Pause, WorkflowSession
from policies import lifecycle
from policies.interaction import Interaction
from policies.value import Value

Standing: TypeAlias = Literal["open", "settled", "changed"]
PauseKind: TypeAlias = Literal["hot", "suspended", "long"]


class PauseRow(Value):
    """One pause of a flow run and what became of its form."""

    key: str
    flow_run_id: str
    kind: PauseKind
    state: str


def open_round(
    tx: Transaction,
    held: Held,
    asked: tuple[Interaction, ...],
    packet: StoredArtifact,
) -> tuple[Held, Pending]:
    """Show every open item and put the questions, as one round under a new key.

    `packet` is what is shown, as it is kept.
    """
    proposals.record_artifact(tx, packet)
    session = sessions.load(tx, held.workflow)
    number = session.round + 1
    for question in asked:
        questions.put(tx, held.workflow, number, question)
    shown = [
        items.assign_and_open(tx, item, _shown(item))
        for item in items.of_workflow(tx, held.workflow)
        if item.state in lifecycle.OPEN
    ]
    pending = Pending(
        interrupt=f"r{number}",
        checkpoint=held.revision + 1,
        items=tuple((item.id, item.version) for item in shown),
        questions=tuple(q.id for q in questions.pending(tx, held.workflow)),
    )
    moved = sessions.write(
        tx,
        held,
        round=number,
        status="waiting",
        pending=pending.model_dump(mode="json"),
    )
    for item in shown:
        audit.append(
            tx,
            held.workflow,
            "approval_requested",
            interrupt=pending.interrupt,
            packet=packet.ref,
            deadline=item.deadline,
            **items.present_facts(tx, item),
        )
    return moved, pending


def _shown(item: Item) -> dict[str, Any]:
    """What there is to tell of an item on a form: Prefect knows no readers."""
    to = item.assignee or item.role
    on = "prefect form"
    return {"actor": "system", "shown_on": on, "shown_to": to, "seen_by": []}


def deadlines_shown(tx: Transaction, workflow: str) -> dict[tuple[str, int], datetime]:
    """Until when each version of each item, as it was last shown, was to be decided."""
    asked = (e for e in audit.events(tx, workflow) if e.event == "approval_requested")
    return {
        (str(e.facts["item"]), int(str(e.facts["payload_version"]))): (
            datetime.fromisoformat(str(e.facts["deadline"]))
        )
        for e in asked
        if "deadline" in e.facts
    }


def standing(tx: Transaction, session: Session) -> Standing:
    """Whether the pending round still waits."""
    pending = session.pending
    if pending is None or resumes.is_overtaken(tx, session.workflow, pending):
        return "changed"
    present = {item.id: item for item in items.of_workflow(tx, session.workflow)}
    asked = dict(pending.items)
    for item in present.values():
        if item.state in lifecycle.OPEN and asked.get(item.id) != item.version:
            return "changed"
    open_items = any(present[i].state in lifecycle.OPEN for i in asked)
    waiting = [
        q
        for q in questions.pending(tx, session.workflow)
        if q.id in pending.questions and _holds_up(q, pending)
    ]
    return "open" if open_items or waiting else "settled"


def set_next_form(
    tx: Transaction, workflow: str, *, notice: str = "", editing: str | None = None
) -> None:
    """What the next form of this round shows: why the last answer was not accepted,
    or the fields of the item that is to be edited.
    """
    session = sessions.load(tx, workflow)
    if session.pending is None:
        return
    next_form = {"notice": notice, "editing": editing}
    noted = session.pending.model_copy(update=next_form)
    of = update(WorkflowSession).where(
        WorkflowSession.id == workflow, WorkflowSession.revision == session.revision
    )
    tx.run(of.values(pending=noted.model_dump(mode="json")))


def start_pause(
    tx: Transaction, held: Held, flow_run_id: str, kind: PauseKind
) -> PauseRow:
    """Write a pause down before it happens; its key is new, lower-case and dashed.

    Prefect keeps a form under its key, and a key with other characters loses it; a key
    that has fired once answers at once, so each pause has its own.
    """
    sessions.require(tx, held)
    session = sessions.load(tx, held.workflow)
    rows = tx.all(select(Pause.key).where(Pause.workflow == held.workflow))
    key = f"r{session.round}-t{held.token}-n{len(rows) + 1}"
    row = {
        "workflow": held.workflow,
        "key": key,
        "flow_run_id": flow_run_id,
        "round": session.round,
        "kind": kind,
        "state": "asked",
        "notice": session.pending.notice if session.pending else "",
        "asked_at": tx.now,
    }
    tx.inserted(Pause, row)
    return PauseRow(key=key, flow_run_id=flow_run_id, kind=kind, state="asked")


def unread_pauses(tx: Transaction, workflow: str) -> tuple[PauseRow, ...]:
    """Pauses whose form may have been answered without the ledger knowing."""
    query = (
        select(Pause)
        .where(Pause.workflow == workflow, Pause.state == "asked")
        .order_by(Pause.asked_at)
    )
    return tuple(_pause(row) for row in tx.all(query))


def last_pause(tx: Transaction, workflow: str) -> PauseRow | None:
    """The newest pause of a workflow, if it ever paused."""
    query = select(Pause).where(Pause.workflow == workflow)
    row = tx.run(query.order_by(Pause.asked_at.desc()).limit(1)).first()
    return None if row is None else _pause(row)


def end_pause(tx: Transaction, workflow: str, key: str) -> None:
    """A pause that is over: its answer was taken, or there was none."""
    of = update(Pause).where(Pause.workflow == workflow, Pause.key == key)
    tx.run(of.values(state="over"))


def _holds_up(question: Interaction, pending: Pending) -> bool:
    """Beside items an optional question never holds up the round; alone it does."""
    return question.required or not pending.items


def _pause(row: object) -> PauseRow:
    values = row._asdict()  # type: ignore[attr-defined]
    return PauseRow.model_validate({n: values[n] for n in PauseRow.model_fields})
