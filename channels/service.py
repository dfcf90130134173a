"""What every way in can do: one object behind the command, and later the API and page.

No SQL and no rules here: scripts of the ledger and policies are asked, and what they
say is handed on.
"""

from typing import Any

from blocks import packets, path, prefect_runs
from blocks.desk import HandedIn, NotTaken, Outcome, Taken
from blocks.ledger import (
    audit,
    effects,
    items,
    people,
    questions,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.items import Item
from blocks.ledger.people import Proof, Secrets, TokenProof
from blocks.ledger.rounds import last_pause
from blocks.ledger.sessions import Session
from blocks.prefect_runs import Woken
from channels.local_run import use_running_server
from policies import lifecycle
from policies.access import Channel, Reviewer
from policies.errors import Conflict, InvalidInput, PlacetError, Refused
from policies.plan import ItemVerdict, PlanReviewResult, ReviewPacket
from policies.policy import RiskLevel, Role
from policies.state import OPEN_STATUS
from policies.value import Json, Value
from tasks import opening
from tasks.domains import find_domain
from tasks.services import Services

TERMINAL = Channel(name="terminal", method="bearer token", signed_in=True)
_CONFLICTS = frozenset({"already_decided", "illegal_transition", "already_answered"})
_INPUT = frozenset(
    {"reason_required", "invalid_reason", "invalid_edit", "invalid_answer"}
    | {"nothing_decided"}
)


class Decided(Value):
    """A submission that was recorded, and whether its run was woken at once."""

    taken: Taken
    run: Woken


class Shown(Value):
    """An item as a reviewer may see it."""

    item: Item
    decision_state: str
    packet: ReviewPacket
    verdicts: tuple[dict[str, Any], ...]


class Service:
    """The service; `services` are the process's parts."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def queue(
        self, state: str | None = None, risk: RiskLevel | None = None
    ) -> tuple[Item, ...]:
        """Open items, or those in one state, in priority order."""
        with self.services.ledger.read() as tx:
            return items.in_order(tx, state, risk)

    def show(self, item_id: str, version: int | None = None) -> Shown:
        """An item with its redacted packet, at its present or an earlier version."""
        services = self.services
        with services.ledger.read() as tx:
            item = items.load(tx, item_id)
            if version is not None:
                versions.load(tx, item_id, version)
            rows = packets.read_rows(tx, item.workflow, (item_id,))
            said = verdicts.of_item(tx, item_id)
        domain = services.domains[rows.session.domain]
        chosen = {} if version is None else {item_id: version}
        return Shown(
            item=item,
            decision_state=lifecycle.decision_state(item.state),
            packet=packets.build(services.artifacts, domain, rows, chosen),
            verdicts=said,
        )

    def decide(
        self, reviewer: str, proof: Proof, verdict: ItemVerdict, channel: Channel
    ) -> Decided:
        """Record one verdict and wake the run; raises what the contract names."""
        with self.services.ledger.read() as tx:
            workflow = items.load(tx, verdict.item).workflow
        return self._hand_in(
            HandedIn(
                workflow=workflow,
                reviewer=reviewer,
                proof=proof,
                channel=channel,
                verdicts=(verdict,),
            )
        )

    def decide_plan(
        self,
        workflow: str,
        reviewer: str,
        proof: Proof,
        result: PlanReviewResult,
        channel: Channel,
    ) -> Decided:
        """Record a verdict for every open item of a round: all of them, or none."""
        with self.services.ledger.read() as tx:
            sessions.load(tx, workflow)
            waiting = {
                item.id
                for item in items.of_workflow(tx, workflow)
                if item.state in lifecycle.OPEN
            }
        named = [verdict.item for verdict in result.verdicts]
        if set(named) != waiting or len(named) != len(waiting):
            raise InvalidInput(
                f"A plan review names every open item once: "
                f"{', '.join(sorted(waiting)) or 'none is open'}.",
                code="incomplete_review",
            )
        return self._hand_in(
            HandedIn(
                workflow=workflow,
                reviewer=reviewer,
                proof=proof,
                channel=channel,
                verdicts=result.verdicts,
            )
        )

    def answer(
        self,
        workflow: str,
        question: str,
        value: str,
        reviewer: str,
        proof: Proof,
        channel: Channel,
    ) -> Decided:
        """Answer a question and wake the run."""
        with self.services.ledger.read() as tx:
            questions.load(tx, workflow, question)
        return self._hand_in(
            HandedIn(
                workflow=workflow,
                reviewer=reviewer,
                proof=proof,
                channel=channel,
                answers={question: value},
            )
        )

    def submit(
        self, domain: str, request: Json, request_id: str | None
    ) -> tuple[str, str]:
        """Start a request through its deployment: workflow id and flow run id.

        The request is checked first, so that what cannot run is never started.
        """
        read = opening.read_request(domain, request)
        body = read.model_dump(mode="json")
        if request_id is not None:
            opening.check_request_id(request_id)
            with self.services.ledger.read() as tx:
                sessions.check_same(tx, request_id, domain, body)
        _ = self.services.ledger
        run = prefect_runs.start(domain, body, request_id)
        return sessions.workflow_id(request_id or run), run

    def status(self, workflow: str) -> dict[str, Any]:
        """Where a request is and what it waits for."""
        with self.services.ledger.read() as tx:
            session = sessions.load(tx, workflow)
            rows = items.of_workflow(tx, workflow)
            open_questions = questions.pending(tx, workflow)
            pause = last_pause(tx, workflow)
            state = sessions.load_state(tx, workflow)
            live = session.lease_until is not None and session.lease_until > tx.now
        return {
            "workflow_id": session.workflow,
            "request_id": session.request_id,
            "domain": session.domain,
            "tenant": session.tenant,
            "status": session.status,
            "checkpoint": session.pending.checkpoint if session.pending else None,
            "interrupt": session.pending.interrupt if session.pending else None,
            "flow_run_id": session.flow_run_id,
            "process": session.lease_owner if live else None,
            "pause": pause.kind if pause and session.pending else None,
            "completed_steps": list(state.completed_steps),
            "items": [_item_line(item) for item in rows],
            "questions": [q.model_dump(mode="json") for q in open_questions],
            "executions": [e.model_dump(mode="json") for e in state.execution_result],
            "closing": list(session.closing),
        }

    def to_resume(self, workflow: str) -> Session:
        """A session that may be put back to work, or `Conflict` that says why not."""
        with self.services.ledger.read() as tx:
            session = sessions.load(tx, workflow)
            live = session.lease_until is not None and session.lease_until > tx.now
        if session.status not in OPEN_STATUS:
            raise Conflict(
                f"{workflow} is {session.status}: there is nothing to resume.",
                code="request_closed",
            )
        if live:
            raise Conflict(
                f"{workflow} is being worked on by {session.lease_owner}.",
                code="lease_held",
                hint="If that process is dead, its lease runs out within "
                f"{self.services.settings.lease_seconds:g} seconds: try again then.",
            )
        return session

    def trail(self, workflow: str) -> tuple[audit.Event, ...]:
        """The trail of a workflow, an item, or a sent message, by any of their ids."""
        with self.services.ledger.read() as tx:
            found = self._workflow_of(tx, workflow)
            return tuple(audit.events(tx, found))

    def path_of(self, reference: str) -> dict[str, Any]:
        """From a sent message back to its facts, model inputs, reviewer and version."""
        with self.services.ledger.read() as tx:
            workflow = self._workflow_of(tx, reference)
            session = sessions.load(tx, workflow)
            rows = path.read_rows(tx, workflow)
        return path.build(self.services.artifacts, session, rows)

    def verify(self) -> tuple[int, audit.Fault | None]:
        """Whether every trail is as it was written."""
        with self.services.ledger.read() as tx:
            return audit.verify(tx)

    def add_reviewer(
        self,
        reviewer: str,
        role: Role,
        tenant: str,
        permissions: tuple[str, ...],
        actor: str,
    ) -> tuple[Reviewer, Secrets]:
        """Make a reviewer; token and seed are told once."""
        with self.services.ledger.write() as tx:
            return people.add(
                tx,
                self.services.vault,
                reviewer=reviewer,
                tenant=tenant,
                role=role,
                permissions=permissions,
                actor=actor,
            )

    def load_records(self, domain: str, records: Json, actor: str) -> tuple[str, ...]:
        """Put a domain's records into its tables."""
        found = find_domain(domain)
        if not isinstance(records, dict):
            raise InvalidInput("Records are a JSON object.", code="invalid_records")
        with self.services.ledger.write() as tx:
            loaded = tuple(found.store.load_records(tx, records))
            audit.append(
                tx,
                audit.ADMIN_CHAIN,
                "domain_records_loaded",
                domain=domain,
                actor=actor,
                records=loaded,
            )
        return loaded

    def wake(self, workflow: str) -> Woken:
        """Have the run that waits for this request look at the ledger."""
        with self.services.ledger.read() as tx:
            session = sessions.load(tx, workflow)
            pause = last_pause(tx, workflow)
            live = session.lease_until is not None and session.lease_until > tx.now
        if session.flow_run_id is None or not session.is_open:
            return Woken(state="not waiting", detail=f"the request is {session.status}")
        if not session.deployed:
            use_running_server(self.services.settings)
        suspended = pause is not None and pause.kind == "suspended"
        return prefect_runs.wake(session.flow_run_id, carried=live or suspended)

    def _workflow_of(self, tx: Any, reference: str) -> str:
        if reference.startswith("<") or "@" in reference:
            wrapped = f"<{reference.strip('<>')}>"
            return effects.workflow_of_provider_ref(tx, wrapped)
        if reference.startswith("it-"):
            return items.load(tx, reference).workflow
        return sessions.load(tx, reference).workflow

    def _hand_in(self, handed: HandedIn) -> Decided:
        outcome = self.services.desk.hand_in(handed)
        if isinstance(outcome, NotTaken):
            self.wake(handed.workflow)
            raise _refusal(outcome)
        return Decided(taken=outcome, run=self.wake(handed.workflow))


def token_proof(token: str | None) -> TokenProof:
    """The proof of a bearer token, or `InvalidInput` where there is none."""
    if not token:
        raise InvalidInput(
            "No token was given.",
            code="token_missing",
            hint="Set PLACET_TOKEN to the token you got when you were added.",
        )
    return TokenProof(token=token)


def _refusal(outcome: Outcome) -> PlacetError:
    """A refused submission as the error that the contract names."""
    assert isinstance(outcome, NotTaken)
    first = outcome.refusals[0]
    words = "; ".join(f"{r.item}: {r.message}" for r in outcome.refusals)
    told = [refusal.model_dump(mode="json") for refusal in outcome.refusals]
    if first.code in _CONFLICTS:
        return Conflict(words, code=first.code, refusals=told)
    if first.code in _INPUT:
        return InvalidInput(words, code=first.code, refusals=told)
    return Refused(words, code=first.code, refusals=told)


def _item_line(item: Item) -> dict[str, Any]:
    return {
        "item": item.id,
        "action": item.action,
        "action_type": item.action_type,
        "state": item.state,
        "decision_state": lifecycle.decision_state(item.state),
        "version": item.version,
        "risk": item.risk_level,
        "deadline": audit.stamp(item.deadline),
        "expires_at": audit.stamp(item.expires_at) if item.expires_at else None,
        "held": list(item.held),
    }
