"""Executing an approved action: claim, let its tool act once, record the outcome.

`execute` brings an operation as far as it goes now, whoever calls it and however often:
the request's own run, a run that goes on after another one died, or the supervisor.
"""

from collections.abc import Callable
from typing import cast

from prefect import Task
from prefect.context import FlowRunContext

from blocks.domain import domain_of
from blocks.lease import LeaseKeeper
from blocks.ledger import (
    audit,
    claims,
    effects,
    facts,
    items,
    outbox,
    sessions,
    unpromised,
    versions,
)
from blocks.ledger.claims import Claim, ClaimState
from blocks.ledger.database import Transaction
from blocks.ledger.effects import Result
from blocks.ledger.facts import Stored
from blocks.recovery import Point, reach
from policies import canonical
from policies.canonical import canonical_bytes
from policies.errors import Conflict, NotFound, PlacetError, Refused, Superseded
from policies.guard import Blocked
from policies.snapshot import ApprovalSnapshot
from policies.state import ExecutionResult, Step
from policies.steps import APPROVED
from policies.value import Json
from tasks import effects as acting
from tasks import reconciling
from tasks import work as working
from tasks.effects import Effect, Internal
from tasks.opening import owner, tools_of
from tasks.services import Services
from tasks.work import Work

_STEP: Step = "execute_action"


def execute(services: Services, work: Work, item: str) -> Work:
    """Execute an item's approved version at most once; a second call finds it."""
    claim = _hold(services, work, item)
    if claim is not None and claim.state == "claimed":
        reach(Point.RETRY_CLAIMED if claim.attempts else Point.CLAIMED)
        claim = _act(services, work, claim)
    if claim is not None and claim.state == "unknown" and _is_due(services, claim):
        reach(Point.OUTCOME_LOST)
        reconciling.look_up(services, work, claim)
        claim = _present(services, claim)
    if claim is None:
        return working.reload(services, work.held)
    return _note_execution(services, work, claim)


def fill_in(services: Services, work: Work) -> Work:
    """Note results that a process recorded and did not live to note in the state."""
    noted = {(done.operation, done.outcome) for done in work.state.execution_result}
    with services.ledger.read() as tx:
        found = [
            claim
            for item in items.of_workflow(tx, work.workflow)
            for claim in claims.of_item(tx, item.id)
        ]
    for claim in found:
        if (claim.key, claim.state) not in noted:
            work = _note_execution(services, work, claim)
    return work


def is_held_back(services: Services, item_id: str) -> bool:
    """Whether the guard would hold back again what it has held back; only looks."""
    with services.ledger.read() as tx:
        item = items.load(tx, item_id)
        session = sessions.load(tx, item.workflow)
        snapshot = versions.load(tx, item_id, item.version).snapshot
    if not item.held:
        return False
    domain = domain_of(services.domains, session.domain)
    stored = facts.read_stored(services.artifacts, domain.adapter, snapshot)
    with services.ledger.read() as tx:
        answer = facts.ask_guard(tx, session, item, snapshot, stored, domain)
    return isinstance(answer, Blocked) and answer.to is None


def state_of(services: Services, claim_id: str) -> ClaimState:
    """How far a claim has come."""
    with services.ledger.read() as tx:
        return claims.load(tx, claim_id).state


def _hold(services: Services, work: Work, item_id: str) -> Claim | None:
    """The claim on an item's operation as ours, or as it ended; None: look again."""
    domain = domain_of(services.domains, work.session.domain)
    with services.ledger.read() as tx:
        item = items.load(tx, item_id)
        snapshot = versions.load(tx, item_id, item.version).snapshot
        known = claims.find(tx, snapshot.scope, snapshot.key)
        owed = known is None or _owes(tx, known, snapshot)
    stored = facts.read_stored(services.artifacts, domain.adapter, snapshot)
    promised = promise(services, work, snapshot) if owed else None
    seconds = services.settings.lease_seconds
    with services.ledger.write() as tx:
        sessions.renew(tx, work.workflow, work.held.token, seconds)
        seen, item = item, items.load(tx, item_id, lock=True)
        if item.version != seen.version or item.state in APPROVED:
            # Withdrawn, edited or decided again meanwhile: that is looked at next.
            return None
        existing = claims.find(tx, snapshot.scope, snapshot.key)
        if existing is not None and _is_for(existing, item_id, snapshot):
            taken = _take(services, tx, work, existing, stored)
            if taken is None or not owed:
                return taken
            late = unpromised.make_good(tx, taken, stored, domain, promised)
            return taken if late is None else None
        made = claims.claim(
            tx,
            sessions.load(tx, work.workflow),
            item,
            stored,
            domain,
            owner=owner(),
            seconds=seconds,
            promised=promised,
        )
        return None if isinstance(made, claims.Refused) else made


def _owes(tx: Transaction, known: Claim, snapshot: ApprovalSnapshot) -> bool:
    """Whether it is still to be promised what a claim sends; see `unpromised`."""
    return known.state == "claimed" and not facts.is_kept(tx, snapshot)


def _is_for(claim: Claim, item: str, snapshot: ApprovalSnapshot) -> bool:
    """Whether a claim is this intent's; one that is not yet sent the guard looks at."""
    ours = claim.item == item and claim.state == "claimed"
    return ours or claim.digest == snapshot.intent_digest


def _take(
    services: Services, tx: Transaction, work: Work, old: Claim, stored: Stored
) -> Claim | None:
    """A claim that exists, taken over where its holder is gone."""
    domain = domain_of(services.domains, work.session.domain)
    seconds = services.settings.lease_seconds
    if old.state == "retry_ready":
        session = sessions.load(tx, work.workflow)
        again = claims.retry(
            tx, old, session, stored, domain, owner=owner(), seconds=seconds
        )
        return None if isinstance(again, claims.Refused) else again
    if old.state not in ("claimed", "dispatched"):
        return old
    if old.state == "claimed" and old.session_token == work.held.token:
        claims.renew(tx, old, seconds)
        return claims.load(tx, old.id)
    taken = claims.take_over(tx, old, owner(), seconds)
    if taken.state == "dispatched":
        why = "the process ended between the effect and its record"
        effects.finish(tx, taken, _lost(services, taken, why))
        return claims.load(tx, taken.id)
    return taken


def promise(
    services: Services, work: Work, snapshot: ApprovalSnapshot
) -> outbox.Outgoing | None:
    """What a claim on it promises a provider, made from what was approved."""
    effect: Effect = tools_of(services, work.session.domain).EFFECTS[snapshot.tool]
    try:
        data = services.artifacts.get(snapshot.payload.ref)
    except (NotFound, Conflict):
        # The guard says so in a moment, and nothing is promised.
        return None
    payload = cast("dict[str, Json]", canonical.read_json(data))
    return acting.promise(services, effect, payload, snapshot.key)


def _act(services: Services, work: Work, claim: Claim) -> Claim:
    """Let the tool act and record what it says; the claim as it stands then."""
    effect = reconciling.effect_of(services, work, claim)
    seconds = services.settings.lease_seconds

    def renew(tx: Transaction) -> None:
        claims.renew(tx, claim, seconds)

    with LeaseKeeper(services.ledger, renew, seconds):
        result = _effect(services, effect, claim)
    if result is None:
        return _present(services, claim)
    # An internal effect was recorded in its own transaction.
    if not isinstance(effect, Internal):
        with services.ledger.write() as tx:
            effects.finish(tx, claim, result)
            claim = claims.load(tx, claim.id)
    reach(Point.RECORDED)
    return _present(services, claim) if claim.state == "claimed" else claim


def _effect(services: Services, effect: Effect, claim: Claim) -> Result | None:
    """What the tool says; None where the guard refused at the last moment."""
    try:
        return _tool_of(effect)(services, claim.id, claim.token)
    except Refused as error:
        if error.code == "guard_refused":
            return None
        raise
    except Superseded as error:
        with services.ledger.write() as tx:
            effects.refuse_late(tx, claim, outcome="not sent", detail=error.message)
        raise
    except PlacetError:
        raise
    except Exception as error:
        if _present(services, claim).state != "dispatched":
            raise
        return _lost(services, claim, f"the tool ended with {type(error).__name__}")


def _tool_of(effect: Effect) -> Callable[[Services, str, int], Result]:
    """The tool as a task of our run; bare where there is no run to show it in."""
    tool = effect.tool
    if isinstance(tool, Task) and FlowRunContext.get() is None:
        return cast("Callable[[Services, str, int], Result]", tool.fn)
    return tool


def _lost(services: Services, claim: Claim, detail: str) -> Result:
    body: dict[str, Json] = {
        "operation": claim.key,
        "outcome": "unknown",
        "why": detail,
    }
    kept = services.artifacts.put(canonical_bytes(body), "execution")
    return Result(
        outcome="unknown", detail=detail, artifact=kept, provider_ref=claim.key
    )


def _is_due(services: Services, claim: Claim) -> bool:
    return claim.due_at is None or claim.due_at <= services.clock()


def _present(services: Services, claim: Claim) -> Claim:
    with services.ledger.read() as tx:
        return claims.load(tx, claim.id)


def _note_execution(services: Services, work: Work, claim: Claim) -> Work:
    with services.ledger.write() as tx:
        # Who was superseded notes nothing, and says so.
        sessions.require(tx, work.held)
        work = working.read(tx, work.held)
        row = effects.result_of(tx, claim.id)
        if row is None:
            return work
        done = ExecutionResult(
            item=claim.item,
            action=items.load(tx, claim.item).action,
            operation=claim.key,
            outcome=row["outcome"],
            detail=row["detail"],
            artifact=row["artifact"],
        )
        if done in work.state.execution_result:
            # Asked for again and not known yet: nothing was completed by that.
            return work
        audit.append(tx, work.workflow, "step_completed", step="execute_action")
        others = tuple(e for e in work.state.execution_result if e.item != claim.item)
        steps = tuple(dict.fromkeys((*work.state.completed_steps, _STEP)))
        work = working.save_in(
            tx, work, execution_result=(*others, done), completed_steps=steps
        )
    reach(Point.STATE_NOTED)
    return work
