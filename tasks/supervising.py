"""What the supervisor does in one turn: bring effects further, look after requests.

Bounded batches; one bad row never stops the rest; two turns at once do no harm, since
everything goes through the same leases and guarded writes as the requests' own runs.
"""

from collections.abc import Callable
from contextlib import suppress
from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from blocks import prefect_runs, prefect_states
from blocks.ledger import claims, sessions, tombstones, unattended
from blocks.ledger.sessions import Session
from blocks.ledger.unattended import LeftOver
from blocks.recovery import Point, reach
from policies.attendance import Run, Unattended, care_for, may_act_for
from policies.errors import PlacetError, Superseded, Unavailable
from policies.value import Value
from tasks import (
    cancelling,
    executing,
    late_answers,
    opening,
    reconciling,
    unsettled,
)
from tasks.services import Services
from tasks.unsettled import Outcome
from tasks.work import Work

BATCH = 100
_PUT_OFF_SECONDS = 60.0
_chore = task(cache_policy=NO_CACHE, retries=0, persist_result=False)


class Done(Value):
    """One thing that was done or is to be done: about what, and what in words."""

    about: str
    what: str
    outcome: Outcome | None = None
    """The outcome that a person must settle, where it is about one."""


class Turn(Value):
    """What one turn came to; `failed` could not be brought further this time."""

    done: tuple[Done, ...] = ()
    reported: tuple[Done, ...] = ()
    failed: tuple[Done, ...] = ()

    def __add__(self, other: "Turn") -> "Turn":
        return Turn(
            done=self.done + other.done,
            reported=self.reported + other.reported,
            failed=self.failed + other.failed,
        )


def in_words(turn: Turn) -> str:
    """A turn on one line for whoever looks at its run."""
    parts = (("done", turn.done), ("to do", turn.reported), ("failed", turn.failed))
    told = (
        f"{word}: " + "; ".join(f"{one.about}: {one.what}" for one in rows)
        for word, rows in parts
        if rows
    )
    return ". ".join(told) or "Nothing was left undone."


@_chore
def recover_effects(services: Services) -> Turn:
    """Send what was claimed and left, ask for what is not known, retry what is due."""
    with services.ledger.read() as tx:
        found = unattended.effects(tx, BATCH)
    turn = Turn()
    for left in found:
        turn += _each(left.claim, partial(_recover, services, left))
        if turn.failed and turn.failed[-1].about == left.claim:
            _put_off(services, left)
    return turn


@_chore
def look_after_requests(services: Services) -> Turn:
    """Wake, restart or cancel requests that no process works on, or report them.

    Without an answer from Prefect those are left as they are that need one.
    """
    with services.ledger.read() as tx:
        found = unattended.requests(tx, BATCH)
    runs, turn = _read_runs(services, found)
    for session in found:
        run = runs.get(session.flow_run_id or "") or Run(
            kind="gone", name="never begun", since=session.opened_at
        )
        turn += _each(session.workflow, partial(_look_after, services, session, run))
        turn += _each(session.workflow, partial(_note_look, services, session))
    return turn


def _note_look(services: Services, session: Session) -> Turn:
    with services.ledger.write() as tx:
        unattended.looked_at(tx, session.workflow)
    return Turn()


def _read_runs(
    services: Services, found: tuple[Session, ...]
) -> tuple[dict[str, Run], Turn]:
    """Where their runs are; a failure where that cannot be told and matters."""
    ids = [session.flow_run_id for session in found if session.flow_run_id]
    try:
        return prefect_states.read_many(ids, services.clock()), Turn()
    except PlacetError as error:
        unread = prefect_states.not_known(error, services.clock())
        matters = any(session.deployed for session in found)
        told = (Done(about="look_after_requests", what=str(error)),) if matters else ()
        return dict.fromkeys(ids, unread), Turn(failed=told)


@_chore
def read_late_answers(services: Services) -> Turn:
    """Record what was clicked on forms of requests that have ended meanwhile."""
    with services.ledger.read() as tx:
        found = unattended.unread_forms(tx, BATCH)
    runs: dict[str, Run] = {}
    # A request without a deployment may have had a server that ended with it.
    with suppress(Unavailable):
        runs = prefect_states.read_many({run for _, run in found}, services.clock())
    known = [
        workflow for workflow, run in found if run in runs and runs[run].kind != "gone"
    ]
    turn = Turn()
    for workflow in dict.fromkeys(known):
        turn += _each(workflow, partial(_read_late, services, workflow))
    return turn


def _read_late(services: Services, workflow: str) -> Turn:
    number = late_answers.read_left(services, workflow)
    done = Done(about=workflow, what=f"{number} late answers recorded")
    return Turn(done=(done,) if number else ())


@_chore
def bury_keys(services: Services) -> Turn:
    """Replace claims that are past their retention by tombstones."""
    keep = opening.retention_of(services)
    with services.ledger.write() as tx:
        buried = tombstones.bury(tx, tx.now - keep, BATCH)
    done = Done(about="keys", what=f"{buried} past their retention")
    return Turn(done=(done,) if buried else ())


@_chore
def report_outcomes(services: Services) -> Turn:
    """Name what only a person can settle, and how, in each turn until it is."""
    return Turn(
        reported=tuple(
            Done(
                about=lost.workflow_id,
                what=f"{unsettled.in_words(lost)}; {unsettled.what_to_do(lost)}",
                outcome=lost,
            )
            for lost in unsettled.for_people(services)[:BATCH]
        )
    )


# Requests first: one that was cancelled must not have its effect tried again.
_CHORES = (
    look_after_requests,
    recover_effects,
    read_late_answers,
    report_outcomes,
    bury_keys,
)


def take_turn(services: Services) -> Turn:
    """A whole turn; a chore that fails does not keep the next one from its turn.

    Within a flow run each chore is a task of it.
    """
    turn = Turn()
    for chore in _CHORES:
        do = chore if FlowRunContext.get() is not None else chore.fn
        turn += _each(chore.name, partial(do, services))
    return turn


def _each(about: str, do: Callable[[], Turn]) -> Turn:
    """One row's turn; whatever it ends with, the next one has its own."""
    try:
        return do()
    except Superseded:
        return Turn()
    except PlacetError as error:
        return Turn(failed=(Done(about=about, what=str(error)),))
    except Exception as error:
        what = f"{type(error).__name__}: {' '.join(str(error).split())}"
        return Turn(failed=(Done(about=about, what=what),))


def _recover(services: Services, left: LeftOver) -> Turn:
    """Bring one effect as far as it goes, under the request's own lease.

    Nothing is sent or tried again before it is known that its run was not cancelled.
    """
    with services.ledger.read() as tx:
        session = sessions.load(tx, left.workflow)
    run = prefect_states.read_one(session.flow_run_id, services.clock())
    leave = may_act_for(session.deployed, run)
    if leave == "go on":
        return _bring_further(services, left)
    if executing.state_of(services, left.claim) not in ("claimed", "retry_ready"):
        return _under_lease(services, left, _find_out)
    if leave == "cancel":
        return _cancel(services, left.workflow)
    return _not_now(services, left, run)


def _not_now(services: Services, left: LeftOver, run: Run) -> Turn:
    _put_off(services, left)
    what = f"not sent: whether its run was cancelled is not known ({run.name})"
    if run.kind == "gone":
        what = f"{what}; go on with: placet resume {left.workflow}"
    return Turn(reported=(Done(about=left.claim, what=what),))


def _put_off(services: Services, left: LeftOver) -> None:
    with services.ledger.write() as tx:
        unattended.put_off(tx, left, _PUT_OFF_SECONDS)


def _bring_further(services: Services, left: LeftOver) -> Turn:
    if executing.is_held_back(services, left.item):
        _put_off(services, left)
        return Turn()
    return _under_lease(services, left, executing.execute)


def _find_out(services: Services, work: Work, item: str) -> None:
    """Ask what became of what was sent; this sends nothing."""
    with services.ledger.read() as tx:
        claim = claims.of_item(tx, item)[-1]
    if claim.state == "dispatched":
        executing.execute(services, work, item)
    elif claim.state == "unknown":
        reconciling.look_up(services, work, claim)


def _under_lease(
    services: Services, left: LeftOver, do: Callable[[Services, Work, str], object]
) -> Turn:
    work = opening.take_lease(services, left.workflow, None)
    if work is None:
        return Turn()
    try:
        with opening.keep_lease(services, work):
            do(services, work, left.item)
        state = executing.state_of(services, left.claim)
    finally:
        opening.give_lease_back(services, work)
    if state == "unknown":
        # Nothing was done; what a person must know of it is reported.
        return Turn()
    return Turn(done=(Done(about=left.claim, what=f"the effect is {state}"),))


def _look_after(services: Services, session: Session, run: Run) -> Turn:
    with services.ledger.read() as tx:
        told = unattended.need(tx, session)
    match care_for(told, run, services.clock()):
        case "nothing":
            return Turn()
        case "report":
            gone = session.deployed and run.kind == "gone"
            why = "Prefect has no run of it" if gone else "it has no deployment"
            what = (
                f"no process works on it and {why}; go on with: placet resume "
                f"{session.workflow}"
            )
            return Turn(reported=(Done(about=session.workflow, what=what),))
        case "wake":
            woken = prefect_runs.wake(_run_of(session), live=False)
            return _told(session, f"woken: {woken.detail}")
        case "cancel":
            return _cancel(services, session.workflow)
        case "restart":
            return _restart(services, session, told, run)


def _restart(services: Services, session: Session, told: Unattended, run: Run) -> Turn:
    with services.ledger.write() as tx:
        if not unattended.note_restart(tx, session, told):
            return Turn()
    reach(Point.RESTART_COUNTED)
    now = prefect_runs.put_back(session.workflow, _run_of(session))
    return _told(session, f"put back to work: its run was {run.name}, now {now}")


def _cancel(services: Services, workflow: str) -> Turn:
    """The run was cancelled in Prefect: so is all that it asked for and is not done."""
    ended = cancelling.cancel_unattended(services, workflow, "supervisor")
    if ended is None:
        return Turn()
    what = f"ended as {ended}, for its run was cancelled"
    return Turn(done=(Done(about=workflow, what=what),))


def _run_of(session: Session) -> str:
    assert session.flow_run_id is not None
    return session.flow_run_id


def _told(session: Session, what: str) -> Turn:
    return Turn(done=(Done(about=session.workflow, what=what),))
