"""Going on after a round: its outcome takes the wait's slot, once."""

from blocks.domain import domain_of
from blocks.ledger import (
    facts,
    items,
    questions,
    resumes,
    sessions,
    verdicts,
    versions,
)
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Stored
from blocks.recovery import Point, reach
from policies.errors import Conflict
from policies.lifecycle import State
from policies.plan import ItemVerdict, PlanReviewResult
from tasks import work as working
from tasks.services import Services
from tasks.work import Work


def resume(services: Services, work: Work) -> Work | None:
    """Take the round's slot with its outcome and go on, once.

    None where something was decided while we looked: then the look is too old.
    """
    domain = domain_of(services.domains, work.session.domain)
    with services.ledger.read() as tx:
        approved = [
            (item, versions.load(tx, item.id, item.version).snapshot)
            for item in items.of_workflow(tx, work.workflow)
            if item.state == State.APPROVED
        ]
    stored: dict[str, Stored] = {
        resumes.seen_as(item): facts.read_stored(
            services.artifacts, domain.adapter, snapshot
        )
        for item, snapshot in approved
    }
    pending = work.session.pending
    assert pending is not None
    try:
        with services.ledger.write() as tx:
            questions.lapse(tx, work.workflow, also_untimed=True)
            session = sessions.load(tx, work.workflow)
            binding = resumes.claim_or_get(
                tx, work.held, session, pending, domain, stored
            )
    except Conflict as error:
        if error.code in ("facts_moved", "already_decided"):
            return None
        raise
    if isinstance(binding, resumes.SlotTaken):
        with services.ledger.read() as tx:
            if resumes.is_overtaken(tx, work.workflow, pending):
                # Withdrawn since the slot was bound: what is decided needs another one.
                return None
        raise Conflict(
            f"Round {binding.interrupt} was resumed with another outcome.",
            code="resume_conflict",
        )
    reach(Point.SLOT_BOUND)
    with services.ledger.write() as tx:
        result, words = _review_result(tx, work.workflow)
        state = work.state.model_copy(
            update={"plan_review_result": result, "review_decision": words}
        )
        held = resumes.consume(tx, work.held, binding, state)
        resumed = working.read(tx, held)
    reach(Point.SLOT_CONSUMED)
    return resumed


def _review_result(
    tx: Transaction, workflow: str
) -> tuple[PlanReviewResult | None, str | None]:
    """Every item's last verdict, as one result."""
    said, words = [], []
    for item in items.of_workflow(tx, workflow):
        row = verdicts.last_row(tx, item.id)
        if row is None or row.verdict not in ("approved", "rejected"):
            continue
        version = versions.load(tx, item.id, row.version)
        said.append(
            ItemVerdict(
                item=item.id,
                verdict="approve" if row.verdict == "approved" else "reject",
                version=row.version,
                snapshot=version.snapshot.digest,
                reason=row.reason,
            )
        )
        words.append(f"{item.action}: {row.verdict} v{row.version} by {row.reviewer}")
    result = PlanReviewResult(verdicts=tuple(said)) if said else None
    return result, "; ".join(words) or None
