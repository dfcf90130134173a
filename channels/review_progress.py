"""What becomes of a request once a reviewer has spoken, told as it happens."""

import time
from collections.abc import Callable

from blocks.ledger import items, questions, rounds, sessions
from blocks.ledger.sessions import Session
from blocks.prefect_runs import Woken
from channels import outcomes
from channels.review_terminal import Terminal
from channels.service import Service
from policies import lifecycle
from policies.errors import NotFound
from policies.value import Value
from tasks import unsettled

# A worker that has to start Python first needs about ten seconds.
FOLLOW_FOR = 30.0
_LOOK_EVERY = 0.1
# A verdict that comes while a run is on its way into its pause wakes nobody.
_WAKE_EVERY = 1.0


class Place(Value):
    """Where a request is: what a reader of its progress looks at."""

    session: Session
    open_items: int
    open_questions: int
    worked_on: bool
    """Whether a process holds it, or it is suspended and will be started again."""

    @property
    def interrupt(self) -> str | None:
        """The key of the round that waits, if any."""
        return self.session.pending.interrupt if self.session.pending else None


def place_of(service: Service, workflow: str) -> Place:
    """Where a request is now."""
    with service.services.ledger.read() as tx:
        session = sessions.load(tx, workflow)
        rows = items.of_workflow(tx, workflow)
        asked = [q for q in questions.pending(tx, workflow) if q.required]
        pause = rounds.last_pause(tx, workflow)
        live = session.lease_until is not None and session.lease_until > tx.now
    return Place(
        session=session,
        open_items=sum(item.state in lifecycle.OPEN for item in rows),
        open_questions=len(asked),
        worked_on=live or (pause is not None and pause.kind == "suspended"),
    )


def follow(
    service: Service, before: Place, run: Woken, terminal: Terminal, limit: float
) -> None:
    """Tell how a request goes on from `before`, for so many seconds at most."""
    workflow = before.session.workflow
    if run.state == "unreachable":
        terminal.say(f"It is recorded. The run could not be woken: {run.detail}")
        terminal.say(f"`placet resume {workflow}` puts it back to work.")
        return
    with terminal.busy("The run goes on…"):
        place = wait(service, workflow, lambda now: _stays(before, now), limit)
    _tell(service, before, place, terminal)


def wait(
    service: Service, workflow: str, until: Callable[[Place], bool], limit: float
) -> Place:
    """Keep a request awake until it is where we wait for it, or the time is up."""
    end = time.monotonic() + limit
    wake_at = time.monotonic() + _WAKE_EVERY
    while True:
        place = place_of(service, workflow)
        if until(place) or time.monotonic() > end:
            return place
        if time.monotonic() > wake_at:
            service.wake(workflow)
            wake_at = time.monotonic() + _WAKE_EVERY
        time.sleep(_LOOK_EVERY)


def _stays(before: Place, place: Place) -> bool:
    if not place.session.is_open or not place.worked_on:
        return True
    if place.interrupt is None:
        return False
    return place.interrupt != before.interrupt or _is_open(place)


def _is_open(place: Place) -> bool:
    return bool(place.open_items or place.open_questions)


def _tell(service: Service, before: Place, place: Place, terminal: Terminal) -> None:
    session = place.session
    if not session.is_open:
        style = "green" if session.status == "completed" else "bold"
        terminal.say(f"The request is {session.status}.", style)
        for line in _executions(service, session.workflow):
            terminal.say(line)
        for lost in unsettled.of_workflow(service.services, session.workflow):
            outcomes.tell(lost, terminal.say)
    elif not place.worked_on:
        terminal.say("No process works on this request now.")
        terminal.say(f"`placet resume {session.workflow}` puts it back to work.")
    elif _is_open(place):
        words = [f"{place.open_items} to decide"] * bool(place.open_items)
        words += [f"{place.open_questions} to answer"] * bool(place.open_questions)
        terminal.say(f"The request waits: {', '.join(words)}.")
    else:
        terminal.say("The run is still at work.")
        terminal.say(f"`placet status {session.workflow}` tells how it goes on.")


def _executions(service: Service, workflow: str) -> list[str]:
    try:
        path = service.path_of(workflow)
    except NotFound:
        return []
    return [
        f"{done['outcome']}: version {done['version']}, {done['provider_ref']}"
        for item in path["items"]
        for done in item["executions"]
        if done["outcome"] != "unknown"
    ]
