"""What the supervisor does in one turn: bring effects further, look after requests.

Bounded batches; one bad row never stops the rest; two turns at once do no harm, since
everything goes through the same leases and guarded writes as the requests' own runs.
"""

from collections.abc import Callable
from functools import partial

from prefect import task
from prefect.cache_policies import NO_CACHE
from prefect.context import FlowRunContext

from blocks import prefect_runs, prefect_states
from blocks.ledger import endings, items, sessions, tombstones, unattended
from blocks.ledger.sessions import Session
from blocks.ledger.unattended import LeftOver
from blocks.recovery import Point, reach
from policies import lifecycle
from policies.attendance import Run, Unattended, care_for
from policies.errors import PlacetError, Superseded
from policies.lifecycle import State
from policies.state import SessionStatus
from policies.value import Value
from tasks import executing, opening
from tasks.services import Services

BATCH = 100
_PUT_OFF_SECONDS = 60.0
_chore = task(cache_policy=NO_CACHE, retries=0, persist_result=False)


class Done(Value):
    """One thing that was done or is to be done: about what, and what in words."""

    about: str
    what: str


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
            with services.ledger.write() as tx:
                unattended.put_off(tx, left, _PUT_OFF_SECONDS)
    return turn


@_chore
def look_after_requests(services: Services) -> Turn:
    """Wake, restart or cancel requests that no process works on, or report them."""
    with services.ledger.read() as tx:
        found = unattended.requests(tx, BATCH)
    ids = [session.flow_run_id for session in found if session.flow_run_id]
    runs = prefect_states.read_many(ids, services.clock())
    turn = Turn()
    for session in found:
        run = runs.get(session.flow_run_id or "") or Run(
            kind="gone", name="never begun", since=session.opened_at
        )
        turn += _each(session.workflow, partial(_look_after, services, session, run))
        with services.ledger.write() as tx:
            unattended.looked_at(tx, session.workflow)
    return turn


@_chore
def bury_keys(services: Services) -> Turn:
    """Replace claims that are past their retention by tombstones."""
    keep = opening.retention_of(services)
    with services.ledger.write() as tx:
        buried = tombstones.bury(tx, tx.now - keep, BATCH)
    done = Done(about="keys", what=f"{buried} past their retention")
    return Turn(done=(done,) if buried else ())


# Requests first: one that was cancelled must not have its effect tried again.
_CHORES = (look_after_requests, recover_effects, bury_keys)


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
        what = f"{type(error).__name__}: {error}"
        return Turn(failed=(Done(about=about, what=what),))


def _recover(services: Services, left: LeftOver) -> Turn:
    """Bring one effect as far as it goes, under the request's own lease."""
    if executing.is_held_back(services, left.item):
        with services.ledger.write() as tx:
            unattended.put_off(tx, left, _PUT_OFF_SECONDS)
        return Turn()
    work = opening.take_lease(services, left.workflow, None)
    if work is None:
        return Turn()
    try:
        with opening.keep_lease(services, work):
            executing.execute(services, work, left.item)
        state = executing.state_of(services, left.claim)
    finally:
        opening.give_lease_back(services, work)
    return Turn(done=(Done(about=left.claim, what=f"the effect is {state}"),))


def _look_after(services: Services, session: Session, run: Run) -> Turn:
    with services.ledger.read() as tx:
        told = unattended.need(tx, session)
    match care_for(told, run, services.clock()):
        case "nothing":
            return Turn()
        case "report":
            what = (
                f"no process works on it and it has no deployment; go on with: placet "
                f"resume {session.workflow}"
            )
            return Turn(reported=(Done(about=session.workflow, what=what),))
        case "wake":
            woken = prefect_runs.wake(_run_of(session), live=False)
            return _told(session, f"woken: {woken.detail}")
        case "cancel":
            return _cancel(services, session)
        case "restart":
            return _restart(services, session, told, run)


def _restart(services: Services, session: Session, told: Unattended, run: Run) -> Turn:
    with services.ledger.write() as tx:
        if not unattended.note_restart(tx, session, told):
            return Turn()
    reach(Point.RESTART_COUNTED)
    now = prefect_runs.reschedule(_run_of(session))
    return _told(session, f"put back to work: its run was {run.name}, now {now}")


def _cancel(services: Services, session: Session) -> Turn:
    """The run was cancelled in Prefect: so is all that it asked for and is not done.

    An effect that is under way is brought to its end first.
    """
    work = opening.take_lease(services, session.workflow, None)
    if work is None:
        return Turn()
    why = "its run was cancelled"
    try:
        with services.ledger.write() as tx:
            endings.cancel(tx, work.workflow, "supervisor", why)
            states = {item.state for item in items.of_workflow(tx, work.workflow)}
            if states - lifecycle.FINAL:
                return Turn()
            ended = _ended(states)
            sessions.close(tx, work.held, ended, (why,))
    finally:
        opening.give_lease_back(services, work)
    return _told(session, f"ended as {ended}, for its run was cancelled")


def _ended(states: set[State]) -> SessionStatus:
    """How a request ends whose run was cancelled: what was done stays done."""
    if State.EXECUTED in states:
        return "completed"
    return "failed" if State.FAILED in states else "cancelled"


def _run_of(session: Session) -> str:
    assert session.flow_run_id is not None
    return session.flow_run_id


def _told(session: Session, what: str) -> Turn:
    return Turn(done=(Done(about=session.workflow, what=what),))
