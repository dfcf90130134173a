"""Executing an approved action: claim, let its tool act once, record the outcome."""

from typing import cast

from blocks.domain import domain_of
from blocks.ledger import audit, claims, facts, items, sessions, versions
from blocks.ledger.claims import Claim, Result
from policies.canonical import canonical_bytes
from policies.errors import PlacetError, Refused
from policies.state import ExecutionResult, Step
from policies.steps import APPROVED
from policies.value import Json
from tasks import work as working
from tasks.opening import owner, tools_of
from tasks.services import Services
from tasks.work import Work

_STEP: Step = "execute_action"


def execute(services: Services, work: Work, item: str) -> Work:
    """Execute an item's approved version at most once; a second call finds it."""
    claim = _claim(services, work, item)
    if claim is None:
        return working.reload(services, work.held)
    if claim.state in ("claimed", "dispatched"):
        _act(services, work, claim)
    return _note_execution(services, work, claim)


def _claim(services: Services, work: Work, item_id: str) -> Claim | None:
    domain = domain_of(services.domains, work.session.domain)
    seconds = services.settings.lease_seconds
    with services.ledger.read() as tx:
        item = items.load(tx, item_id)
        version = versions.load(tx, item_id, item.version)
    stored = facts.read_stored(services.artifacts, domain.adapter, version.snapshot)
    with services.ledger.write() as tx:
        sessions.renew(tx, work.workflow, work.held.token, seconds)
        seen, item = item, items.load(tx, item_id, lock=True)
        if item.version != seen.version or item.state in APPROVED:
            # Withdrawn, edited or decided again meanwhile: that is looked at next.
            return None
        snapshot = versions.load(tx, item_id, item.version).snapshot
        existing = claims.find(tx, snapshot.scope, snapshot.key)
        if existing is not None and existing.state == "claimed":
            # Whoever claimed it has lost the session's lease to us: it is fenced off.
            return claims.take_over(tx, existing, owner(), seconds)
        session = sessions.load(tx, work.workflow)
        claim = claims.claim(
            tx, session, item, stored, domain, owner=owner(), seconds=seconds
        )
        return None if isinstance(claim, claims.Refused) else claim


def _act(services: Services, work: Work, claim: Claim) -> None:
    result = _effect(services, work, claim)
    if result is None:
        return
    with services.ledger.write() as tx:
        claims.finish(tx, claim, result)


def _effect(services: Services, work: Work, claim: Claim) -> Result | None:
    """What the tool says; None where the guard refused at the last moment."""
    if claim.state == "dispatched":
        return _lost(
            services, claim, "the process ended between the effect and its record"
        )
    tools = tools_of(services, work.session.domain)
    with services.ledger.read() as tx:
        tool = versions.load(tx, claim.item, claim.version).snapshot.tool
    try:
        return cast(Result, tools.EFFECTS[tool](services, claim.id, claim.token))
    except Refused as error:
        if error.code == "guard_refused":
            return None
        raise
    except PlacetError:
        raise
    except Exception as error:
        with services.ledger.read() as tx:
            if claims.load(tx, claim.id).state != "dispatched":
                raise
        return _lost(services, claim, f"the tool ended with {type(error).__name__}")


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


def fill_in(services: Services, work: Work) -> Work:
    """Note results that a process recorded and did not live to note in the state."""
    noted = {done.operation for done in work.state.execution_result}
    with services.ledger.read() as tx:
        found = [
            claim
            for item in items.of_workflow(tx, work.workflow)
            for claim in claims.of_item(tx, item.id)
        ]
    for claim in found:
        if claim.key not in noted:
            work = _note_execution(services, work, claim)
    return work


def _note_execution(services: Services, work: Work, claim: Claim) -> Work:
    with services.ledger.write() as tx:
        work = working.read(tx, work.held)
        row = claims.execution_of(tx, claim.id)
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
        audit.append(tx, work.workflow, "step_completed", step="execute_action")
        others = tuple(e for e in work.state.execution_result if e.item != claim.item)
        steps = tuple(dict.fromkeys((*work.state.completed_steps, _STEP)))
        return working.save_in(
            tx, work, execution_result=(*others, done), completed_steps=steps
        )
