"""The six steps of a request, each a Prefect task.

A step is given the session under our lease and returns it as it left it. Everything a
step finds out is in the ledger before it returns, so that a run which dies is run
again from the top and goes on.
"""

from prefect import task
from prefect.cache_policies import NO_CACHE

from blocks.domain import domain_of
from blocks.ledger import audit, proposals, sessions
from blocks.recovery import Point, reach
from policies.decision import Block, Complete, Fail
from policies.errors import NotFound
from policies.state import SessionStatus
from tasks import asking, executing
from tasks import work as working
from tasks.opening import read_request, tools_of
from tasks.services import Services
from tasks.work import Made, Work

# Recovery is the ledger's, not Prefect's: a cached or retried step would be a second
# truth. Results stay here for the same reason.
_step = task(cache_policy=NO_CACHE, retries=0, persist_result=False)
_numbered_step = task(
    task_run_name="execute_action {item}",
    cache_policy=NO_CACHE,
    retries=0,
    persist_result=False,
)


@_step
def validate_request(services: Services, work: Work) -> Work:
    """Check the request against its domain's model and fill its defaults."""
    name, request = work.session.domain, work.state.request
    read = read_request(name, request, services.domains)
    return working.complete(
        services, work, "validate_request", request=read.model_dump(mode="json")
    )


@_step
def collect_context(services: Services, work: Work) -> Work:
    """Read the facts that a draft is made from, and keep them as evidence."""
    try:
        made = tools_of(services, work.session.domain).collect_context(services, work)
    except NotFound as error:
        return working.stop(services, work, "collect_context", error.message)
    return working.complete(
        services, work, "collect_context", made.artifacts, context=made.result
    )


@_step
def prepare_agent_work(services: Services, work: Work) -> Work:
    """Draft, check and revise until the proposal stands or a person must help."""
    adapter = domain_of(services.domains, work.session.domain).adapter
    tools = tools_of(services, work.session.domain)
    seen = working.read_view(services, work)
    while permitted := adapter.permitted_work(seen):
        name = permitted[0]
        made: Made = tools.WORK[name](services, work, seen)
        with services.ledger.write() as tx:
            for artifact in made.artifacts:
                proposals.record_artifact(tx, artifact)
            work = working.save_in(tx, work, proposal=made.result)
            audit.append(
                tx, work.workflow, "tool_called", tool=name, permitted=permitted
            )
        reach(Point.DRAFT_SAVED)
        seen = seen.model_copy(update={"state": work.state})
    plan = adapter.propose(seen)
    if plan is None:
        return work
    return working.complete(services, work, "prepare_agent_work", agent_plan=plan)


@_step
def resolve_review(services: Services, work: Work) -> Work:
    """Make every action an item to be judged; risk decides by whom.

    An item whose approval no longer covers it gets a new version, made from facts that
    are read again.
    """
    return asking.ask_all(services, work)


@_numbered_step
def execute_action(services: Services, work: Work, item: str) -> Work:
    """Claim an approved action, let its tool act once, and record what became of it."""
    return executing.execute(services, work, item)


@_step
def close_request(
    services: Services, work: Work, decision: Complete | Fail | Block
) -> Work:
    """End the session with what it came to."""
    status: SessionStatus = decision.outcome
    work = executing.fill_in(services, work)
    work = working.complete(services, work, "close_request")
    with services.ledger.write() as tx:
        held = sessions.close(tx, work.held, status, decision.reasons)
        closed = working.read(tx, held)
    reach(Point.REQUEST_CLOSED)
    return closed
