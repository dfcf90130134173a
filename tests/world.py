"""A whole installation in a folder, for tests, which brings a request to any point.

It calls what the flow calls, in the same order, without Prefect around it: opening,
`decide`, the steps, the wait's forms, the desk.
"""

from pathlib import Path
from typing import Any, ClassVar

import pyotp

from blocks.desk import HandedIn, Outcome, Taken
from blocks.domain import Domain
from blocks.ledger import audit, claims, facts, items, people, rules, sessions, versions
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger
from blocks.ledger.items import Item
from blocks.ledger.people import CodeProof, Proof, TokenProof
from blocks.ledger.versions import Version
from blocks.support_email import store
from policies.access import Channel
from policies.decision import Block, CallTool, Complete, Decision, Fail
from policies.interaction import Interaction
from policies.lifecycle import OPEN
from policies.plan import ItemVerdict, VerdictWord
from policies.policy import Policy, Role
from policies.value import Json
from tasks import asking, deciding, executing, opening, steps, waiting
from tasks.services import Services
from tasks.waiting import PREFECT_FORM, Asking
from tasks.work import Work, reload
from tests.clock import Clock
from tests.installed import VAULT, Person, settings_of

FLOW_RUN = "7d8f1a52-5a0e-4c43-9a57-0d7f1c0e8f10"
TERMINAL = Channel(name="terminal", method="bearer token", signed_in=True)
SEND = "support_email.send"
CUSTOMERS: list[Json] = [
    {"id": "c-1", "name": "Grace Hopper", "email": "grace@example.com"},
    {"id": "c-2", "name": "Alan Turing", "email": "alan@example.com"},
]
TICKET: dict[str, Json] = {
    "id": "t-1",
    "customer": "c-1",
    "sender": "grace@example.com",
    "subject": "Where is my parcel?",
    "message": "Please track order 100234 for me.",
}


class World:
    """One ledger, one artifact store, one mail server's address, one clock.

    `domain_name` and `request` may be another domain's; `furnish` fills its tables.
    """

    domain_name = "support_email"
    request: ClassVar[dict[str, Json]] = {"ticket_id": "t-1"}
    permissions: tuple[str, ...] = (SEND,)
    deployed = False
    """Whether the run that carries its requests has a deployment."""

    def __init__(
        self, database_url: str, folder: Path, mail_port: int = 1, **settings: Any
    ) -> None:
        self.clock = Clock()
        self.folder = folder
        made = settings_of(database_url, folder, mail_port, **settings)
        self.services = Services(made, self.clock)
        self.services.vault = VAULT
        self.people: dict[str, Person] = {}
        self.furnish()
        for reviewer in ("ada", "bob"):
            self.add(reviewer, permissions=self.permissions)

    def furnish(self) -> None:
        """Fill the domain's tables."""
        self.load(customers=CUSTOMERS, tickets=[TICKET])

    @property
    def ledger(self) -> Ledger:
        """The ledger."""
        return self.services.ledger

    @property
    def domain(self) -> Domain:
        """The one domain."""
        return self.services.domains[self.domain_name]

    def close(self) -> None:
        """Let go of every connection."""
        self.ledger.engine.dispose()

    def another(self) -> Services:
        """The services of another process on the same installation."""
        made = Services(self.services.settings, self.clock)
        made.domains = self.services.domains
        made.ledger = self.ledger
        made.vault = VAULT
        return made

    def superseded(self, work: Work) -> Work:
        """The session under another process's lease; `work` is the old one's."""
        self.clock.move(self.services.settings.lease_seconds + 1)
        taken = opening.take_lease(self.another(), work.workflow, FLOW_RUN)
        assert taken is not None
        return taken

    # People and rules

    def add(
        self,
        reviewer: str,
        role: Role = "reviewer",
        *,
        tenant: str = "main",
        permissions: tuple[str, ...] = (SEND,),
    ) -> Person:
        """Make a reviewer, who keeps the secrets in `people`."""
        with self.ledger.write() as tx:
            _, told = people.add(
                tx,
                VAULT,
                reviewer=reviewer,
                tenant=tenant,
                role=role,
                permissions=permissions,
                actor="tests",
            )
        person = Person(id=reviewer, token=told.token, seed=told.seed)
        self.people[reviewer] = person
        return person

    def code(self, reviewer: str, steps: int = 0) -> str:
        """What the reviewer's authenticator shows now, or so many steps later."""
        at = people.step_at(self.clock.now) + steps
        return pyotp.TOTP(self.people[reviewer].seed).generate_otp(at)

    def set_policy(self, policy: Policy) -> None:
        """Put a policy in force."""
        with self.ledger.write() as tx:
            rules.put(tx, policy, "tests")

    def load(self, **records: list[Json]) -> None:
        """Put customers and tickets into the domain's tables."""
        with self.ledger.write() as tx:
            self.domain.store.load_records(tx, {**records})

    def add_ticket(self, ticket: str, **fields: Json) -> None:
        """Another ticket, like the first one but for these fields."""
        self.load(tickets=[{**TICKET, "id": ticket, **fields}])

    def edit_address(self, customer: str, address: str) -> None:
        """Let a customer have another address."""
        with self.ledger.write() as tx:
            store.change_address(tx, customer, address)

    # A request, point by point

    def opened(self, request_id: str = "request-1", **request: Json) -> Work:
        """A request under our lease, nothing done yet."""
        asked = {**self.request, "requested_by": "agent", **request}
        session = opening.open_session(
            self.services, self.domain_name, asked, request_id, flow_run_id=FLOW_RUN
        )
        work = opening.take_lease(
            self.services, session.workflow, FLOW_RUN, deployed=self.deployed
        )
        assert work is not None
        return work

    def advance(self, work: Work) -> tuple[Work, Decision | None]:
        """Run decisions as the loop does, up to a wait (the decision) or the end."""
        while work.session.is_open:
            decision = deciding.decide(self.services, work)
            if not isinstance(decision, CallTool | Complete | Fail | Block):
                return work, decision
            work = self.perform(work, decision)
        return work, None

    def perform(self, work: Work, decision: Decision) -> Work:
        """Run one step, as its task does."""
        if isinstance(decision, Complete | Fail | Block):
            return steps.close_request.fn(self.services, work, decision)
        assert isinstance(decision, CallTool)
        if decision.item is not None:
            return self.execute(work, decision.item)
        step: Any = getattr(steps, decision.tool)
        done: Work = step.fn(self.services, work)
        return done

    def execute(self, work: Work, item: str | None = None) -> Work:
        """Run the step that executes an item, by default the first one."""
        chosen = item or self.item(work).id
        return steps.execute_action.fn(self.services, work, chosen)

    def form(self, work: Work) -> tuple[Work, Asking | None]:
        """The next form of the wait that the loop has come to; None: it is over."""
        work, decision = self.advance(work)
        asked: tuple[Interaction, ...] = getattr(decision, "questions", ())
        return self.next_form(work, asked)

    def next_form(
        self, work: Work, asked: tuple[Interaction, ...] = ()
    ) -> tuple[Work, Asking | None]:
        """What the wait does each time it comes round."""
        return waiting.next_form(self.services, work, asked, FLOW_RUN, "long")

    def refreshed(self, work: Work) -> tuple[Work, Asking]:
        """The form again, after facts have moved under the reviewer."""
        renewed = asking.refresh_items(self.services, reload(self.services, work.held))
        work, shown = self.next_form(renewed)
        assert shown is not None
        return work, shown

    def asked(self, request_id: str = "request-1", **request: Json) -> Work:
        """A request that waits at its form."""
        work, shown = self.form(self.opened(request_id, **request))
        assert shown is not None
        return work

    def approved(self, request_id: str = "request-1", **request: Json) -> Work:
        """A request with all items approved, the flow not yet woken."""
        work = self.asked(request_id, **request)
        self.approve(work)
        return work

    def resumed(self, request_id: str = "request-1", **request: Json) -> Work:
        """A request that goes on with its approval; nothing claimed yet."""
        return self.resume(self.approved(request_id, **request))

    def claimed(
        self, request_id: str = "request-1", **request: Json
    ) -> tuple[Work, Claim]:
        """A request with the claim on its effect; nothing sent yet."""
        work = self.resumed(request_id, **request)
        claim = self.claim(work)
        assert isinstance(claim, Claim)
        return work, claim

    def resume(self, work: Work) -> Work:
        """What the flow does once the round is settled."""
        work, shown = self.next_form(reload(self.services, work.held))
        assert shown is None
        return work

    def claim(self, work: Work, owner: str = "tests") -> Claim | claims.Refused:
        """Claim the first item's effect, as the executing step does."""
        item, version = self.item(work), self.version(work)
        stored = facts.read_stored(
            self.services.artifacts, self.domain.adapter, version.snapshot
        )
        promised = executing.promise(self.services, work, version.snapshot)
        with self.ledger.write() as tx:
            locked = items.load(tx, item.id, lock=True)
            session = sessions.load(tx, work.workflow)
            return claims.claim(
                tx,
                session,
                locked,
                stored,
                self.domain,
                owner=owner,
                seconds=60,
                promised=promised,
            )

    # Verdicts

    def says(
        self,
        work: Work,
        verdict: VerdictWord,
        item: Item | None = None,
        **changes: Any,
    ) -> ItemVerdict:
        """A verdict on an item as it is now, or with these fields otherwise."""
        about = item or self.item(work)
        version = self.version(work, about)
        said: dict[str, Any] = {"item": about.id, "verdict": verdict}
        said["version"] = version.version
        said["snapshot"] = version.snapshot.digest
        said["reason"] = "" if verdict == "approve" else "because"
        return ItemVerdict.model_validate({**said, **changes})

    def hand_in(
        self,
        work: Work,
        *verdicts: ItemVerdict,
        by: str = "ada",
        proof: Proof | None = None,
        channel: Channel = TERMINAL,
        answers: dict[str, str] | None = None,
    ) -> Outcome:
        """Hand in at the desk, by default with the reviewer's token."""
        own = TokenProof(token=self.people[by].token if by in self.people else "none")
        handed = HandedIn(
            workflow=work.workflow,
            reviewer=by,
            proof=proof or own,
            channel=channel,
            verdicts=verdicts,
            answers=answers or {},
        )
        return self.services.desk.hand_in(handed)

    def by_code(self, work: Work, *verdicts: ItemVerdict, by: str = "ada") -> Outcome:
        """Hand in with a one-time code by the Prefect form's channel."""
        proof = CodeProof(code=self.code(by))
        return self.hand_in(work, *verdicts, by=by, proof=proof, channel=PREFECT_FORM)

    def approve(self, work: Work, by: str = "ada") -> Taken:
        """Approve everything that is open."""
        waiting = [item for item in self.items(work) if item.state in OPEN]
        said = [self.says(work, "approve", item) for item in waiting]
        outcome = self.hand_in(work, *said, by=by)
        assert isinstance(outcome, Taken), outcome
        return outcome

    def edit(self, work: Work, by: str = "ada", **fields: Json) -> Taken:
        """Edit the first item."""
        outcome = self.hand_in(work, self.says(work, "edit", edit=fields), by=by)
        assert isinstance(outcome, Taken), outcome
        return outcome

    # Looking

    def items(self, work: Work) -> tuple[Item, ...]:
        """The request's items as they stand."""
        with self.ledger.read() as tx:
            return items.of_workflow(tx, work.workflow)

    def item(self, work: Work) -> Item:
        """Its first item."""
        return self.items(work)[0]

    def version(self, work: Work, item: Item | None = None) -> Version:
        """The present version of an item, by default of the first one."""
        about = item or self.item(work)
        with self.ledger.read() as tx:
            return versions.load(tx, about.id, about.version)

    def trail(self, chain: str | Work) -> tuple[audit.Event, ...]:
        """A chain's events in order."""
        name = chain if isinstance(chain, str) else chain.workflow
        with self.ledger.read() as tx:
            return tuple(audit.events(tx, name))

    def told(self, chain: str | Work, event: str) -> list[dict[str, Json]]:
        """The facts of every event of that name."""
        return [e.facts for e in self.trail(chain) if e.event == event]
