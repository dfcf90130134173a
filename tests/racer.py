"""A process that reaches for claims at the same time as others like it.

It imports no more than it needs: eight of them start for one test.
"""

import multiprocessing
from collections.abc import Sequence
from datetime import datetime
from multiprocessing.synchronize import Barrier
from typing import Any, NamedTuple

from blocks import gate
from blocks.artifacts import ArtifactStore
from blocks.gate import Gate
from blocks.ledger import claims, facts, items, sessions, versions
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger, open_ledger
from blocks.ledger.outbox import Outgoing
from policies.errors import Superseded
from policies.value import Json
from tasks.domains import DOMAINS

ENVELOPE: dict[str, Json] = {
    "sender": "desk@placet.test",
    "recipient": "grace@example.com",
    "message_id": "<racer@placet.test>",
}


class Installation(NamedTuple):
    """Where everything is, and which moment it is there."""

    database: str
    artifacts: str
    now: datetime


class Got(NamedTuple):
    """The claim that a process came by, and whether it passed the gate."""

    claim: str
    token: int
    passed: bool


def race(installation: Installation, workflows: Sequence[str], number: int) -> Any:
    """Let so many processes reach for each workflow's claim; what each one got."""
    context = multiprocessing.get_context("forkserver")
    context.set_forkserver_preload([__name__])
    line, found = context.Barrier(number), context.SimpleQueue()
    racers = [
        context.Process(target=_run, args=(installation, workflows, line, found))
        for _ in range(number)
    ]
    for racer in racers:
        racer.start()
    got = [found.get() for _ in racers]
    for racer in racers:
        racer.join()
        racer.close()
    found.close()
    return got


def reach(ledger: Ledger, artifacts: ArtifactStore, workflow: str, owner: str) -> Claim:
    """Claim the first item of a workflow, as the executing step does."""
    domain = DOMAINS["support_email"]
    with ledger.read() as tx:
        item = items.of_workflow(tx, workflow)[0]
        snapshot = versions.load(tx, item.id, item.version).snapshot
    stored = facts.read_stored(artifacts, domain.adapter, snapshot)
    message = artifacts.put(b"Subject: x\r\n\r\n", "execution", "message/rfc822")
    promised = Outgoing(message=message, envelope=ENVELOPE)
    with ledger.write() as tx:
        session = sessions.load(tx, workflow)
        claim = claims.claim(
            tx,
            session,
            item,
            stored,
            domain,
            owner=owner,
            seconds=60,
            promised=promised,
        )
    assert isinstance(claim, Claim), claim
    return claim


def _run(
    installation: Installation, workflows: Sequence[str], line: Barrier, found: Any
) -> None:
    ledger = open_ledger(installation.database, lambda: installation.now)
    artifacts = ArtifactStore(installation.artifacts)
    try:
        found.put([_one(ledger, artifacts, workflow, line) for workflow in workflows])
    except BaseException as error:
        line.abort()
        found.put(repr(error))
    ledger.engine.dispose()


def _one(ledger: Ledger, artifacts: ArtifactStore, workflow: str, line: Barrier) -> Got:
    line.wait()
    claim = reach(ledger, artifacts, workflow, "racer")
    tool = "support_email.send_reply"
    try:
        held = Gate(ledger, artifacts, DOMAINS, 60)
        gate.open_for(held, claim.id, claim.token, tool)
    except Superseded:
        return Got(claim.id, claim.token, passed=False)
    return Got(claim.id, claim.token, passed=True)
