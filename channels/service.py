"""What every way in can do: one object behind the command, and later the API and page.

No SQL and no rules here: scripts of the ledger and policies are asked, and what they
say is handed on.
"""

from typing import TYPE_CHECKING, Any

from blocks import packets, path, prefect_runs
from blocks.control import By
from blocks.desk import HandedIn, NotTaken, Taken
from blocks.domain import Loaded, domain_of
from blocks.ledger import (
    audit,
    freezes,
    items,
    people,
    questions,
    references,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.freezes import Freeze
from blocks.ledger.items import Item
from blocks.ledger.people import Proof, Secrets
from blocks.ledger.sessions import Session
from blocks.prefect_runs import FlowRun, Woken
from channels import going_on, refusals, starting, whereabouts
from channels.frozen import over_items
from channels.local_run import use_running_server
from channels.starting import Submitted
from policies import lifecycle
from policies.access import Channel, Reviewer
from policies.errors import Conflict, InvalidInput
from policies.interaction import Interaction
from policies.plan import ItemVerdict, PlanReviewResult, ReviewPacket
from policies.policy import RiskLevel, Role
from policies.state import OPEN_STATUS, SessionStatus
from policies.value import Json, Value
from tasks.domains import find_domain, known_permissions
from tasks.services import Services

if TYPE_CHECKING:
    from tasks.supervising import Turn

TERMINAL = Channel(name="terminal", method="bearer token", signed_in=True)


class Decided(Value):
    """A submission that was recorded, and whether its run was woken at once."""

    taken: Taken
    run: Woken


class Shown(Value):
    """An item as a reviewer may see it; `frozen` are the freezes that stand over it.

    `overdue` says that its time to be decided is over, whoever has noticed it.
    """

    item: Item
    overdue: bool
    decision_state: str
    packet: ReviewPacket
    verdicts: tuple[dict[str, Any], ...]
    frozen: tuple[Freeze, ...]


class Service:
    """The service; `services` are the process's parts."""

    def __init__(self, services: Services) -> None:
        self.services = services

    def queue(
        self, state: str | None = None, risk: RiskLevel | None = None
    ) -> tuple[Item, ...]:
        """What can be decided, or items in one state, in priority order."""
        with self.services.ledger.read() as tx:
            return items.in_order(tx, state, risk)

    def questions(self) -> tuple[tuple[str, Interaction], ...]:
        """Every question that waits for an answer, each with its workflow."""
        with self.services.ledger.read() as tx:
            return questions.of_tenant(tx, None)

    def freezes(self) -> tuple[Freeze, ...]:
        """Every freeze that stands, the oldest first."""
        with self.services.ledger.read() as tx:
            return freezes.standing(tx)

    def show(self, item_id: str, version: int | None = None) -> Shown:
        """An item with its redacted packet, at its present or an earlier version."""
        services = self.services
        with services.ledger.read() as tx:
            item = items.load(tx, item_id)
            if version is not None:
                versions.load(tx, item_id, version)
            rows = packets.read_rows(tx, item.workflow, (item_id,))
            said = verdicts.of_item(tx, item_id)
            standing = freezes.standing(tx)
            overdue = item.state in lifecycle.OPEN and item.deadline <= tx.now
        domain = domain_of(services.domains, rows.session.domain)
        chosen = {} if version is None else {item_id: version}
        return Shown(
            item=item,
            overdue=overdue,
            decision_state=lifecycle.decision_state(item.state),
            packet=packets.build(services.artifacts, domain, rows, chosen),
            verdicts=said,
            frozen=over_items(standing, (item,)),
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

    def submit(self, domain: str, request: Json, request_id: str | None) -> Submitted:
        """Start a request through its deployment; the same id, the same request."""
        return starting.submit(self.services, domain, request, request_id)

    def check(
        self, domain: str, request: Json, request_id: str | None
    ) -> dict[str, Json]:
        """A request with its defaults, if it may be started here under this id."""
        return starting.check(self.services, domain, request, request_id)

    def status_word(self, workflow: str) -> SessionStatus | None:
        """A request's status; None while it has not begun."""
        return starting.status_word(self.services, workflow)

    def status(self, workflow: str) -> dict[str, Any]:
        """Where a request is and what it waits for."""
        return whereabouts.status(self.services, workflow)

    def not_begun(self, workflow: str) -> FlowRun | None:
        """The run of a request that has not begun; None if it has."""
        return whereabouts.not_begun(self.services, workflow)

    def to_resume(self, workflow: str) -> Session:
        """A session that may be put back to work, or `Conflict` that says why not."""
        with self.services.ledger.read() as tx:
            session = sessions.load(tx, workflow)
            live = session.lease_until is not None and session.lease_until > tx.now
        if session.status not in OPEN_STATUS:
            raise Conflict(
                f"{workflow} is {session.status}: there is nothing to resume.",
                code="request_closed",
                hint=whereabouts.what_is_left(self.services, session),
            )
        if live:
            raise Conflict(
                f"{workflow} is being worked on by {session.lease_owner}.",
                code="lease_held",
                hint="If that process is dead, its lease runs out within "
                f"{self.services.settings.lease_seconds:g} seconds: try again then.",
            )
        return going_on.as_its_run_allows(self.services, session)

    def trail(self, reference: str) -> tuple[audit.Event, ...]:
        """The trail of a workflow, an item, or a sent message, by any of their ids."""
        with self.services.ledger.read() as tx:
            found = references.workflow_of(tx, reference)
            return tuple(audit.events(tx, found))

    def path_of(self, reference: str) -> dict[str, Any]:
        """From a sent message back to its facts, model inputs, reviewer and version."""
        with self.services.ledger.read() as tx:
            workflow = references.workflow_of(tx, reference)
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
        _check_permissions(permissions)
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

    def load_records(self, domain: str, records: Json, actor: str) -> Loaded:
        """Put a domain's records into its tables."""
        found = find_domain(domain)
        if not isinstance(records, dict):
            raise InvalidInput("Records are a JSON object.", code="invalid_records")
        with self.services.ledger.write() as tx:
            loaded = found.store.load_records(tx, records)
            names = (*loaded.new, *loaded.changed, *loaded.unchanged)
            if not names:
                raise InvalidInput("There are no records to load.", code="no_records")
            audit.append(
                tx,
                audit.ADMIN_CHAIN,
                "domain_records_loaded",
                domain=domain,
                actor=actor,
                records=names,
            )
        return loaded

    def settle(
        self, workflow: str, by: By, *, happened: bool, item: str | None = None
    ) -> tuple[str, Woken]:
        """Settle an unknown outcome; its item, and what becomes of its run."""
        settled = self.services.control.settle(
            workflow, by, happened=happened, item=item
        )
        return settled, going_on.go_on(self.services, workflow)

    def supervise(self) -> "Turn":
        """One turn of the supervisor, in this process."""
        from tasks import supervising

        use_running_server(self.services.settings)
        return supervising.take_turn(self.services)

    def wake(self, workflow: str) -> Woken:
        """Have the run that waits for this request look at the ledger."""
        with self.services.ledger.read() as tx:
            session = sessions.load(tx, workflow)
            live = session.lease_until is not None and session.lease_until > tx.now
        if session.flow_run_id is None or not session.is_open:
            return Woken(state="not waiting", detail=f"the request is {session.status}")
        if not session.deployed:
            use_running_server(self.services.settings)
        woken = prefect_runs.wake(session.flow_run_id, live=live)
        return woken if woken.state == "woken" else self._seen_by_itself(session, woken)

    def _seen_by_itself(self, before: Session, woken: Woken) -> Woken:
        """A run that looks at the ledger by itself may have gone on, or be about to."""
        with self.services.ledger.read() as tx:
            now = sessions.load(tx, before.workflow)
            live = now.lease_until is not None and now.lease_until > tx.now
        if not now.is_open:
            return Woken(state="not waiting", detail=f"the request is {now.status}")
        detail = f"{now.lease_owner or 'a worker'} works on it and looks by itself"
        if now.revision != before.revision:
            return Woken(state="not waiting", detail=detail)
        if live and woken.state == "unreachable":
            detail = f"{woken.detail.rstrip('.')}; {detail}"
            return woken.model_copy(update={"detail": detail})
        return woken

    def _hand_in(self, handed: HandedIn) -> Decided:
        outcome = self.services.desk.hand_in(handed)
        if isinstance(outcome, NotTaken):
            self.wake(handed.workflow)
            raise refusals.refused(outcome, handed.reviewer)
        return Decided(taken=outcome, run=self.wake(handed.workflow))


def _check_permissions(permissions: tuple[str, ...]) -> None:
    """A permission that no tool asks for lets nobody decide anything: a slip."""
    known = known_permissions()
    unknown = [name for name in permissions if name not in known]
    if unknown:
        raise InvalidInput(
            f"There is no permission {unknown[0]!r}.",
            code="unknown_permission",
            hint=f"Known: {', '.join(known)}.",
        )
