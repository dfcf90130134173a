"""The Workflow Loop: it runs decisions and knows nothing of what they mean.

All state is in the ledger. A run that dies anywhere is run again from the top, by
anybody, and goes on where the ledger says.
"""

from typing import Any
from uuid import UUID

import anyio
from prefect import flow
from prefect.client.schemas.objects import State
from prefect.context import FlowRunContext
from prefect.exceptions import Abort
from prefect.states import Completed, Failed

from blocks.ledger.sessions import Session
from flows.cancelled import RunCancelled, stop_if_cancelled
from flows.wait import FlowRun, wait_for, wait_until_changed
from policies.decision import (
    Ask,
    Block,
    CallTool,
    Complete,
    Fail,
    RequestApproval,
    Wait,
)
from policies.errors import PlacetError, Superseded
from tasks import cancelling, deciding, late_answers, opening, steps
from tasks import work as working
from tasks.services import Services, load_services
from tasks.work import Work

_POLL_LEASE = 0.5


@flow(name="handle-request", flow_run_name="{domain}", persist_result=False)
async def handle_request(
    domain: str, request: dict[str, Any], request_id: str | None = None
) -> State[Any]:
    """Carry one request from its opening to its end.

    `request` is the domain's request as JSON; without `request_id` every run is a new
    request. Ends Completed with the outcome as its name, or Failed where an execution
    failed or its outcome is not known.
    """
    run = _this_run()
    try:
        services = load_services()
        session = opening.open_session(
            services,
            domain,
            request,
            request_id or str(run.id),
            flow_run_id=str(run.id),
            deployed=run.deployed,
        )
        return await _work(services, session, run)
    except Superseded as error:
        raise Abort(error.message) from error
    except PlacetError as error:
        return Failed(name="Failed", message=str(error))


async def _work(services: Services, session: Session, run: FlowRun) -> State[Any]:
    work = await _take_lease(services, session, run)
    if work is None:
        return Completed(
            name="AlreadyRunning",
            message=f"{session.workflow} is worked on by another run.",
        )
    try:
        with opening.keep_lease(services, work):
            await _stop_if_taken_back(session, run)
            work = await _loop(services, work, run)
    except RunCancelled as stop:
        return _end_cancelled(services, work, run, stop)
    finally:
        # A suspended wait holds no lease, and who goes on after a stopped process need
        # not wait until its lease runs out.
        opening.give_lease_back(services, work)
    return _end(work.session)


async def _stop_if_taken_back(before: Session, run: FlowRun) -> None:
    """A request whose former run was cancelled is not gone on with in another one."""
    if before.flow_run_id not in (None, str(run.id)):
        await stop_if_cancelled(UUID(before.flow_run_id))


def _end_cancelled(
    services: Services, work: Work, run: FlowRun, stop: RunCancelled
) -> State[Any]:
    """Nothing more is done for it; an effect under way is the supervisor's to end."""
    ended = cancelling.cancel(services, work, "system")
    if stop.run == run.id:
        raise Abort(f"{work.workflow}: {cancelling.WHY} in Prefect.")
    if ended is None:
        words = "an effect is under way, then the supervisor ends it"
        return Failed(message=f"{work.workflow}: {cancelling.WHY}; {words}.")
    return _end(working.reload(services, work.held).session)


async def _loop(services: Services, work: Work, run: FlowRun) -> Work:
    while work.session.is_open:
        decision = deciding.decide(services, work)
        match decision:
            case CallTool():
                if decision.item is not None:
                    await stop_if_cancelled(run.id)
                work = _call_tool(services, work, decision)
            case Ask():
                work = await wait_for(services, work, decision.questions, run)
            case RequestApproval():
                work = await wait_for(services, work, decision.questions, run)
            case Wait():
                work = await wait_until_changed(services, work, decision, run)
            case Complete() | Fail() | Block():
                # What was clicked and not read is a part of its trail, or changes it.
                if late_answers.read_left(services, work.workflow):
                    continue
                work = steps.close_request(services, work, decision)
    return work


def _call_tool(services: Services, work: Work, decision: CallTool) -> Work:
    if decision.item is not None:
        return steps.execute_action(services, work, decision.item)
    step = {
        "validate_request": steps.validate_request,
        "collect_context": steps.collect_context,
        "prepare_agent_work": steps.prepare_agent_work,
        "resolve_review": steps.resolve_review,
    }[decision.tool]
    return step(services, work)


async def _take_lease(
    services: Services, session: Session, run: FlowRun
) -> Work | None:
    """The lease; a dead holder's runs out while we wait, a live one's does not."""
    with anyio.move_on_after(services.settings.lease_seconds * 1.5):
        while True:
            work = opening.take_lease(
                services, session.workflow, str(run.id), deployed=run.deployed
            )
            if work is not None:
                return work
            await anyio.sleep(_POLL_LEASE)
    if session.flow_run_id == str(run.id):
        raise Superseded("An earlier attempt of this run is still at work.")
    return None


def _this_run() -> FlowRun:
    context = FlowRunContext.get()
    assert context is not None and context.flow_run is not None
    found = context.flow_run
    if found.parent_task_run_id is not None:
        raise PlacetError(
            "handle-request cannot run inside another flow: Prefect could not suspend "
            "it. Run its deployment instead.",
            code="subflow",
        )
    return FlowRun(id=found.id, deployed=found.deployment_id is not None)


def _end(session: Session) -> State[Any]:
    name = session.status.capitalize()
    message = f"{session.workflow}: {session.status}. " + "; ".join(session.closing)
    if session.status in ("failed", "unknown"):
        return Failed(name=name, message=message)
    return Completed(name=name, message=message)
