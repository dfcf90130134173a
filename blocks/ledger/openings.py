"""Opening a request's session: the same id is the same request."""

from sqlalchemy import insert

from blocks.ledger import audit, sessions
from blocks.ledger.database import Transaction
from blocks.ledger.sessions import Session, workflow_id
from blocks.ledger.tables import DomainSession, WorkflowSession
from policies import canonical
from policies.errors import Conflict
from policies.state import RequestState
from policies.value import Json, Value


class Opening(Value):
    """What a session is opened with."""

    request_id: str
    domain: str
    tenant: str
    requested_by: str
    environment: str
    request: dict[str, Json]
    flow_run_id: str | None = None
    deployed: bool = False


def open_or_get(tx: Transaction, opening: Opening) -> Session:
    """The request's session, made if it is new.

    `Conflict` (idempotency_conflict) if the id was used for another request.
    """
    workflow = workflow_id(opening.request_id)
    asked = _hash_request(opening.domain, opening.request)
    made = sessions.find(tx, workflow) is None and _insert(tx, workflow, asked, opening)
    row = sessions.find(tx, workflow)
    if not made and row is not None and row.request_hash != asked:
        raise _other_request(opening.request_id)
    session = sessions.load(tx, workflow)
    if session.environment != opening.environment:
        raise Conflict(
            f"{workflow} belongs to the environment {session.environment}.",
            code="idempotency_conflict",
            hint=f"This process works in {opening.environment} (PLACET_ENVIRONMENT).",
        )
    return session


def check_same(
    tx: Transaction, request_id: str, domain: str, request: dict[str, Json]
) -> None:
    """`Conflict` (idempotency_conflict) if the id was used for another request."""
    row = sessions.find(tx, workflow_id(request_id))
    if row is not None and row.request_hash != _hash_request(domain, request):
        raise _other_request(request_id)


def _other_request(request_id: str) -> Conflict:
    return Conflict(
        f"Request id {request_id!r} was used for another request.",
        code="idempotency_conflict",
        hint="Use a new id, or send exactly the same request again.",
    )


def _hash_request(domain: str, request: dict[str, Json]) -> str:
    body: Json = {"domain": domain, "request": request}
    return canonical.digest(
        "request", canonical.canonical_bytes(canonical.normalise(body))
    )


def _insert(tx: Transaction, workflow: str, asked: str, opening: Opening) -> bool:
    new = {
        **opening.model_dump(exclude={"request"}),
        "id": workflow,
        "request_hash": asked,
        "status": "running",
        "opened_at": tx.now,
    }
    if not tx.inserted(WorkflowSession, new):
        return False
    state = RequestState(request=opening.request).model_dump(mode="json")
    tx.run(insert(DomainSession), {"workflow": workflow, "state": state})
    audit.append(
        tx,
        workflow,
        "request_opened",
        request_id=opening.request_id,
        request_hash=asked,
        domain=opening.domain,
        tenant=opening.tenant,
        actor=opening.requested_by,
    )
    return True
