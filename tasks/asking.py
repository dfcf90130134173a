"""From a plan's actions to items that people judge, and to new versions of them."""

from collections.abc import Callable
from typing import Any, TypeVar, cast

from blocks import packets
from blocks.domain import domain_of
from blocks.ledger import (
    endings,
    facts,
    items,
    proposals,
    rules,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.items import Item, NewItem
from blocks.ledger.proposals import Prepared
from blocks.ledger.versions import Version
from blocks.recovery import Point, reach
from policies.errors import Conflict, InvalidInput, NotFound
from policies.lifecycle import Event, State
from policies.plan import Action
from policies.policy import Policy
from policies.snapshot import EvidenceRef
from tasks import work as working
from tasks.opening import tools_of
from tasks.services import Services
from tasks.work import Made, Work

# How often facts may move between our look and our write before we give up.
_TRIES = 3
T = TypeVar("T")


def ask_all(services: Services, work: Work) -> Work:
    """Make every action of the plan an item, or renew the items that need it.

    Facts are read again first, and once more where they moved in that very moment.
    Where they no longer allow what was planned, the request is stopped with the reason.
    """
    try:
        made = _retried(lambda: _ask_from_present_facts(services, work))
    except (InvalidInput, NotFound) as error:
        return working.stop(services, work, "resolve_review", error.message)
    return working.complete(
        services, work, "resolve_review", made.artifacts, context=made.result
    )


def refresh_items(services: Services, work: Work) -> Work:
    """Give every open item a new version whose facts have moved since it was asked.

    A reviewer would otherwise be shown, and refused, what can no longer be approved.
    The same work comes back where nothing has moved.
    """
    moved = [i for i in _open_items(services, work) if _has_moved(services, work, i)]
    if not moved:
        return work
    try:
        return _retried(lambda: _refresh(services, work, moved))
    except (InvalidInput, NotFound) as error:
        for item in moved:
            _give_up(services, work, item, error.message)
        return working.reload(services, work.held)


def _retried(attempt: Callable[[], T]) -> T:
    for left in reversed(range(_TRIES)):
        try:
            return attempt()
        except Conflict as error:
            if error.code != "facts_moved" or not left:
                raise
    raise AssertionError("unreachable")


def _ask_from_present_facts(services: Services, work: Work) -> Made:
    made = _collect(services, work)
    now = {"state": work.state.model_copy(update={"context": made.result})}
    _ask_plan(services, work.model_copy(update=now))
    return made


def _refresh(services: Services, work: Work, moved: list[Item]) -> Work:
    made = _collect(services, work)
    with services.ledger.write() as tx:
        for artifact in made.artifacts:
            proposals.record_artifact(tx, artifact)
        present = sessions.load(tx, work.workflow).revision
        held = work.held.model_copy(update={"revision": present})
        work = working.save_in(tx, working.read(tx, held), context=made.result)
    reach(Point.FACTS_READ_AGAIN)
    for item in moved:
        ask_again(services, work, item, Event.EDIT)
    return work


def _ask_plan(services: Services, work: Work) -> None:
    assert work.state.agent_plan is not None
    with services.ledger.read() as tx:
        known = {i.action: i for i in items.of_workflow(tx, work.workflow)}
        policy = rules.in_force(tx)
    for position, action in enumerate(work.state.agent_plan.actions):
        item = known.get(action.id)
        if item is None:
            _ask_first(services, work, position, action, policy)
        elif item.state == State.REAPPROVAL_REQUIRED:
            ask_again(services, work, item, Event.NEW_VERSION)


def _collect(services: Services, work: Work) -> Made:
    made: Made = tools_of(services, work.session.domain).collect_context(services, work)
    return made


def _ask_first(
    services: Services, work: Work, position: int, action: Action, policy: Policy
) -> None:
    domain = domain_of(services.domains, work.session.domain)
    payload = domain.adapter.assemble(work.state, action)
    prepared = proposals.prepare(
        services.artifacts,
        domain.adapter,
        policy,
        action.tool,
        payload,
        action.confidence,
    )
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        policy = _same_policy(tx, policy)
        first = proposals.bind(
            tx,
            work.session,
            prepared,
            domain,
            policy,
            action=action.id,
            version=1,
            evidence=evidence_of(work),
            provenance=_provenance(work),
            made_by="agent",
        )
        new = _new_item(work, position, action, prepared, policy)
        item = items.ask(tx, new, first)
        asked = item.risk_level == prepared.risk.level and item.state == State.QUEUED
        if asked and _is_automatic(prepared, policy):
            why = ("low risk", *prepared.risk.reasons)
            verdicts.approve_by_policy(tx, item, why)
    reach(Point.ITEM_ASKED)


def ask_again(services: Services, work: Work, item: Item, event: Event) -> None:
    """A new version from present facts; what people have edited stays edited.

    Where the facts allow no valid version any more, the item is cancelled.
    """
    try:
        _ask_again(services, work, item, event)
    except InvalidInput as error:
        _give_up(services, work, item, error.message)


def _give_up(services: Services, work: Work, item: Item, why: str) -> None:
    """Cancel an item of which no valid version can be made, unless it was decided."""
    reason = f"no valid version can be made from present facts: {why}"
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        present = items.load(tx, item.id, lock=True)
        if (present.state, present.version) == (item.state, item.version):
            endings.cancel_one(tx, present, "system", reason)


def _ask_again(services: Services, work: Work, item: Item, event: Event) -> None:
    domain = domain_of(services.domains, work.session.domain)
    plan = work.state.agent_plan
    assert plan is not None
    action = next(a for a in plan.actions if a.id == item.action)
    with services.ledger.read() as tx:
        policy = rules.in_force(tx)
        before = versions.load(tx, item.id, item.version)
    tool = domain.adapter.tools[action.tool]
    fresh = domain.adapter.assemble(work.state, action).model_dump(mode="json")
    kept = _editable(services, before, tool.editable)
    payload = tool.input_model.model_validate({**fresh, **kept})
    prepared = proposals.prepare(
        services.artifacts,
        domain.adapter,
        policy,
        tool.name,
        payload,
        action.confidence,
    )
    with services.ledger.write() as tx:
        sessions.require(tx, work.held)
        present = items.load(tx, item.id, lock=True)
        if (present.state, present.version) != (item.state, item.version):
            # Somebody decided meanwhile: that stands, and is looked at next.
            return
        policy = _same_policy(tx, policy)
        # A person's edit has raised it, maybe: new facts do not talk it down.
        risk = verdicts.not_lower(present, prepared.risk)
        prepared = prepared.model_copy(update={"risk": risk})
        new = proposals.bind(
            tx,
            work.session,
            prepared,
            domain,
            policy,
            action=action.id,
            version=versions.next_number(tx, item.id),
            evidence=evidence_of(work),
            provenance=before.provenance,
            made_by="system",
            diff="made again from present facts",
        )
        items.add_version(tx, present, event, new, policy)
    reach(Point.ITEM_ASKED)


def _same_policy(tx: Transaction, judged_by: Policy) -> Policy:
    """The policy in force; `Conflict` (facts_moved) if another judged the risk."""
    policy = rules.in_force(tx)
    if policy.gate_version != judged_by.gate_version:
        raise Conflict("The policy has changed meanwhile.", code="facts_moved")
    return policy


def _open_items(services: Services, work: Work) -> tuple[Item, ...]:
    with services.ledger.read() as tx:
        found = items.of_workflow(tx, work.workflow)
    return tuple(item for item in found if item.state == State.WAITING_FOR_REVIEW)


def _has_moved(services: Services, work: Work, item: Item) -> bool:
    domain = domain_of(services.domains, work.session.domain)
    with services.ledger.read() as tx:
        snapshot = versions.load(tx, item.id, item.version).snapshot
    stored = facts.read_stored(services.artifacts, domain.adapter, snapshot)
    if stored.payload_hash != snapshot.payload.hash:
        # Nobody can be shown what to decide on; it must not hold up the others.
        _give_up(services, work, item, "its stored payload was altered: an alarm")
        return False
    with services.ledger.read() as tx:
        return facts.has_moved(tx, work.session, item, snapshot, stored, domain)


def _new_item(
    work: Work, position: int, action: Action, prepared: Prepared, policy: Policy
) -> NewItem:
    level = prepared.risk.level
    term = policy.terms[level]
    return NewItem(
        workflow=work.workflow,
        action=action.id,
        position=position,
        action_type=prepared.tool.name,
        tenant=work.session.tenant,
        requested_by=work.session.requested_by,
        risk=prepared.risk,
        gate=policy.gates[level],
        summary=action.rationale,
        evidence=evidence_of(work),
        permission=prepared.tool.permission,
        term_seconds=term.approval_term_seconds,
        decide_within_seconds=term.decide_within_seconds,
        gate_version=policy.gate_version,
        policy_version=policy.version,
        schema_version=prepared.tool.schema_version,
        rubric_version=policy.rubric_version,
    )


def _is_automatic(prepared: Prepared, policy: Policy) -> bool:
    return prepared.tool.automatic and policy.gates[prepared.risk.level].automatic


def _editable(
    services: Services, version: Version, names: tuple[str, ...]
) -> dict[str, Any]:
    present = packets.payload_of(services.artifacts, version)
    return {name: present[name] for name in names if name in present}


def evidence_of(work: Work) -> tuple[EvidenceRef, ...]:
    """The evidence that `collect_context` has left in the context."""
    rows = (work.state.context or {}).get("evidence") or []
    return tuple(EvidenceRef.model_validate(row) for row in cast("list[Any]", rows))


def _provenance(work: Work) -> str | None:
    return cast("str | None", (work.state.proposal or {}).get("provenance"))
