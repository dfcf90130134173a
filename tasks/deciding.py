"""What is done next: policy permits, rules or the workflow model choose among that."""

from blocks.choosing import Choice
from blocks.domain import domain_of
from blocks.generation import Generation, provenance_of
from blocks.ledger import audit, endings, proposals, sessions
from blocks.recovery import Point, reach
from policies import steps
from policies.canonical import canonicalise
from policies.decision import Decision, choice_name
from policies.errors import PlacetError
from policies.state import View
from tasks.services import Services
from tasks.work import Work, view


def decide(services: Services, work: Work) -> Decision:
    """The next decision, recorded with its reasons before it is performed."""
    decision = _decide(services, work)
    reach(Point.DECISION_RECORDED)
    return decision


def _decide(services: Services, work: Work) -> Decision:
    adapter = domain_of(services.domains, work.session.domain).adapter
    with services.ledger.write() as tx:
        seen = view(tx, work, endings.expire_overdue(tx, work.workflow))
        permitted = steps.permitted(seen, adapter)
        if len(permitted) == 1 or services.workflow_model is None:
            sessions.record_decision(tx, work.held, permitted[0], chosen_by="rules")
            return permitted[0]
    decision, chosen_by = _choose(services, work, seen, permitted)
    with services.ledger.write() as tx:
        sessions.record_decision(tx, work.held, decision, chosen_by=chosen_by)
    return decision


def _choose(
    services: Services, work: Work, seen: View, permitted: tuple[Decision, ...]
) -> tuple[Decision, str]:
    """Ask the workflow model; what it says outside the permitted set is refused."""
    by_name = {choice_name(decision): decision for decision in permitted}
    options = tuple(
        Choice(name=name, meaning="; ".join(decision.reasons))
        for name, decision in by_name.items()
    )
    assert services.workflow_model is not None
    try:
        chosen = services.workflow_model.choose(options, _brief(seen))
    except PlacetError as error:
        _refuse_choice(services, work, "no usable answer", error.message)
        return permitted[0], "rules"
    _keep_provenance(services, work, chosen.generation)
    if chosen.choice not in by_name:
        _refuse_choice(services, work, chosen.choice, "it is not permitted now")
        return permitted[0], "rules"
    return by_name[chosen.choice], "workflow model"


def _brief(seen: View) -> str:
    done = ", ".join(seen.state.completed_steps) or "nothing"
    return f"Done so far: {done}. Items: {len(seen.items)}."


def _refuse_choice(services: Services, work: Work, choice: str, reason: str) -> None:
    with services.ledger.write() as tx:
        audit.append(
            tx, work.workflow, "choice_refused", choice=choice[:200], reason=reason
        )


def _keep_provenance(services: Services, work: Work, generation: Generation) -> None:
    made = provenance_of(
        generation,
        services.artifacts,
        tool_versions={},
        schema_versions={},
        retrieval_refs=(),
    )
    kept = services.artifacts.put(canonicalise(made), "provenance")
    with services.ledger.write() as tx:
        proposals.record_artifact(tx, kept)
        audit.append(tx, work.workflow, "choice_made", provenance=kept.ref)
