"""Questions to people: put once, answered once, or lapsed when their time is up."""

from datetime import datetime

from sqlalchemy import select, update

from blocks.ledger import audit
from blocks.ledger.database import Transaction
from blocks.ledger.tables import Question, WorkflowSession
from blocks.ledger.verdicts import Acting
from policies import canonical, interaction
from policies.errors import Conflict, NotFound
from policies.interaction import Interaction
from policies.state import OPEN_STATUS, Answered
from policies.value import Value


class Asked(Value):
    """A question as it stands."""

    question: Interaction
    round: int
    asked_at: datetime
    state: str
    answer: str | None
    answered_by: str | None


def put(tx: Transaction, workflow: str, round_number: int, asked: Interaction) -> None:
    """Put a question; one that was put before stays as it is."""
    row = {
        "workflow": workflow,
        "id": asked.id,
        "round": round_number,
        "question": asked.model_dump(mode="json"),
        "state": "pending",
        "asked_at": tx.now,
    }
    if tx.inserted(Question, row):
        audit.append(
            tx,
            workflow,
            "interaction_asked",
            interaction=asked.id,
            type=asked.type,
            target=asked.target,
            required=asked.required,
        )


def of_workflow(tx: Transaction, workflow: str) -> tuple[Asked, ...]:
    """All questions of a workflow, in the order in which they were put."""
    query = select(Question).where(Question.workflow == workflow)
    rows = tx.all(query.order_by(Question.round, Question.asked_at, Question.id))
    return tuple(
        Asked(
            question=Interaction.model_validate(row.question),
            round=row.round,
            asked_at=row.asked_at,
            state=row.state,
            answer=row.answer,
            answered_by=row.answered_by,
        )
        for row in rows
    )


def settled(tx: Transaction, workflow: str) -> tuple[Answered, ...]:
    """The questions that are no longer pending, with their answers."""
    return tuple(
        Answered(question=asked.question, answer=asked.answer)
        for asked in of_workflow(tx, workflow)
        if asked.state != "pending"
    )


def pending(tx: Transaction, workflow: str) -> tuple[Interaction, ...]:
    """The questions that wait for an answer."""
    return tuple(
        asked.question
        for asked in of_workflow(tx, workflow)
        if asked.state == "pending"
    )


def of_tenant(
    tx: Transaction, tenant: str | None
) -> tuple[tuple[str, Interaction], ...]:
    """Questions that wait for an answer, each with its workflow; None: all tenants'."""
    query = (
        select(Question.workflow, Question.question)
        .join(WorkflowSession, WorkflowSession.id == Question.workflow)
        .where(
            WorkflowSession.status.in_(OPEN_STATUS),
            Question.state == "pending",
        )
        .order_by(Question.asked_at, Question.id)
    )
    if tenant is not None:
        query = query.where(WorkflowSession.tenant == tenant)
    return tuple(
        (row.workflow, Interaction.model_validate(row.question))
        for row in tx.all(query)
    )


def load(tx: Transaction, workflow: str, question: str) -> Asked:
    """One question, or `NotFound`."""
    for asked in of_workflow(tx, workflow):
        if asked.question.id == question:
            return asked
    raise NotFound(f"Workflow {workflow} has put no question {question!r}.")


def lock(tx: Transaction, workflow: str, named: tuple[str, ...]) -> None:
    """Keep others from answering these questions until the transaction ends."""
    if tx.locks_rows and named:
        query = select(Question.id).where(
            Question.workflow == workflow, Question.id.in_(named)
        )
        tx.all(query.order_by(Question.id).with_for_update())


def answer(
    tx: Transaction, workflow: str, question: str, value: str | None, acting: Acting
) -> None:
    """Record an accepted answer, None where nothing is given; it ends the question.

    `Conflict` (already_answered) if it has ended before.
    """
    by, channel = acting.who, acting.channel
    values = {"answer": value, "answered_by": by.id, "channel": channel.name}
    if not _settle(tx, workflow, question, "answered", values):
        raise Conflict(
            f"Question {question} was answered already.", code="already_answered"
        )
    audit.append(
        tx,
        workflow,
        "interaction_answered",
        interaction=question,
        answer_digest=value and canonical.digest("evidence", value.encode()),
        actor=by.id,
        role=by.role,
        method=channel.method,
        channel=channel.name,
    )


def lapse(tx: Transaction, workflow: str, *, also_untimed: bool = False) -> None:
    """Let optional questions go whose time is up, or all with `also_untimed`."""
    query = select(Question).where(
        Question.workflow == workflow, Question.state == "pending"
    )
    for row in tx.all(query):
        asked = Interaction.model_validate(row.question)
        ends = interaction.lapses_at(asked, row.asked_at)
        over = ends is not None and tx.now >= ends
        may_lapse = not asked.required and (over or also_untimed)
        if may_lapse and _settle(tx, workflow, asked.id, "lapsed", {}):
            audit.append(tx, workflow, "interaction_lapsed", interaction=asked.id)


def _settle(
    tx: Transaction,
    workflow: str,
    question: str,
    state: str,
    values: dict[str, str | None],
) -> bool:
    waiting = update(Question).where(
        Question.workflow == workflow,
        Question.id == question,
        Question.state == "pending",
    )
    return tx.wrote(waiting.values(state=state, answered_at=tx.now, **values))
