"""What must be done for a request that no process works on, by where its run is.

Prefect does not notice that a process has died, fails pauses that are still wanted,
and knows nothing of deadlines; so whoever looks after requests compares the ledger
with the run's state and does one thing, or nothing.
"""

from datetime import datetime, timedelta
from typing import Literal, TypeAlias

from policies.value import Value

Care: TypeAlias = Literal["nothing", "wake", "restart", "cancel", "report"]
Leave: TypeAlias = Literal["go on", "cancel", "not now"]
RunKind: TypeAlias = Literal[
    "coming",
    "taken",
    "suspended",
    "running",
    "paused",
    "ended",
    "cancelled",
    "gone",
    "not known",
]

_STARTING = timedelta(seconds=20)
"""By then a worker's process holds the lease; if not, two of them do no harm."""
_TAKEN = timedelta(minutes=1)
"""A worker that has taken a run starts it by then; one that died never does."""
_FIRST_WAIT = timedelta(seconds=30)
_LONGEST_WAIT = timedelta(hours=1)


class Run(Value):
    """A flow run as Prefect has it: where it is, and since when.

    `coming` waits for a worker; one that is `taken` has its worker, and is not begun.
    `gone` is a run that Prefect does not have; `not known`, that it did not answer.
    `deployed` says whether a worker can run it again.
    """

    kind: RunKind
    name: str
    since: datetime
    deployed: bool = True


class Unattended(Value):
    """A request without a live lease.

    `owed` says that something was recorded which its run has not taken up, or that a
    deadline has passed. `restarts` counts those since it last made progress.
    """

    deployed: bool
    owed: bool
    restarts: int = 0
    restarted_at: datetime | None = None


def care_for(request: Unattended, run: Run, now: datetime) -> Care:
    """The one thing to do for a request now."""
    match run.kind:
        case "cancelled":
            return "cancel"
        case "coming":
            return "nothing"
        case "gone":
            return "report"
        case "not known":
            return "nothing" if request.deployed else "report"
        case "suspended":
            return "wake" if request.owed else "nothing"
        case "running" if now - run.since < _STARTING:
            return "nothing"
        case "taken" if now - run.since < _TAKEN:
            return "nothing"
        case _:
            return _bring_back(request, run, now)


def may_act_for(deployed: bool, run: Run) -> Leave:
    """Whether something may be sent for a request: not once its run was cancelled.

    What Prefect does not tell of a deployed run may be just that. A request without a
    deployment depends on no server that stays.
    """
    if run.kind == "cancelled":
        return "cancel"
    untold = run.kind in ("gone", "not known")
    return "not now" if deployed and untold else "go on"


def _bring_back(request: Unattended, run: Run, now: datetime) -> Care:
    """Restart it, later and later while that does not help."""
    if not (request.deployed and run.deployed):
        return "report"
    if request.restarted_at is None:
        return "restart"
    wait = min(_LONGEST_WAIT, _FIRST_WAIT * 2 ** min(request.restarts, 10))
    return "restart" if now - request.restarted_at >= wait else "nothing"
