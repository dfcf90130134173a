"""The gate in every effect: what comes through it was approved and is still so.

A tool with an effect is given a claim's id and token, nothing else. Only the gate makes
the `Operation` that an external effect needs, after the guard has said yes in a
transaction; an operation gives its message out once. An internal effect happens inside
that transaction, together with its result.
"""

import time
from collections.abc import Callable, Mapping
from typing import NamedTuple, TypeAlias, cast

from blocks.artifacts import ArtifactStore
from blocks.domain import Domain, domain_of
from blocks.ledger import claims, effects, facts, outbox, sessions, versions
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger, Transaction
from blocks.ledger.effects import Outcome, Result
from blocks.ledger.facts import Stored
from blocks.ledger.outbox import Entry
from blocks.recovery import Point, reach
from policies import canonical
from policies.errors import Conflict, InvalidInput, NotFound, Refused, Superseded
from policies.snapshot import ApprovalSnapshot
from policies.value import Json

_SEAL = object()
# The clock that also counts the seconds in which the machine slept.
_AWAKE_OR_NOT = getattr(time, "CLOCK_BOOTTIME", time.CLOCK_MONOTONIC)

Apply: TypeAlias = Callable[[Transaction, str, dict[str, Json], str], dict[str, Json]]
"""An internal effect: an open transaction, tenant, payload and key; what came of it."""


def elapsed() -> float:
    """Seconds that pass for everybody, whether our process or machine runs or not."""
    return time.clock_gettime(_AWAKE_OR_NOT)


class Operation:
    """One external effect that may happen now. `key` names it at the provider.

    `message` is the ref of its bytes, `envelope` says to whom they go. `renew` keeps
    the claim's lease and tells until when.
    """

    def __init__(
        self,
        seal: object,
        claim: Claim,
        promised: Entry,
        body: bytes,
        until: float,
        renew: Callable[[], float],
    ) -> None:
        if seal is not _SEAL:
            raise Refused(
                "An operation comes from a claim, through the guard.",
                code="not_claimed",
            )
        self.key = claim.key
        self.claim = claim
        self.message = promised.message
        self.envelope = promised.envelope
        self._body: bytes | None = body
        self._until = until
        self._renew = renew

    def take_body(self) -> bytes:
        """The promised bytes; a second call raises: one operation, one send."""
        if self._body is None:
            raise Conflict(f"Operation {self.key} was used.", code="approval_spent")
        body, self._body = self._body, None
        return body

    def confirm(self) -> None:
        """`Superseded` where others may settle by now that nothing was sent.

        Within the lease nobody may. Past it, it depends on whether somebody has: our
        process may have stood still, or the server may have been slow to greet us.
        """
        if elapsed() >= self._until:
            self._until = self._renew()


class Gate(NamedTuple):
    """What the gate looks at: the ledger, the stored bytes, the domains' judgement."""

    ledger: Ledger
    artifacts: ArtifactStore
    domains: Mapping[str, Domain]
    lease_seconds: float


class _Passing(NamedTuple):
    """A claim on its way through: what was approved, and what lies in the store now."""

    claim: Claim
    domain: Domain
    snapshot: ApprovalSnapshot
    stored: Stored
    promised: Entry | None


def open_for(gate: Gate, claim_id: str, token: int, tool: str) -> Operation:
    """Ask the guard for the last time and mark the claim as dispatched.

    `Refused` (not_claimed) where there is no such claim for this tool and token;
    `Refused` (guard_refused) where the guard says no, which is recorded.
    """
    passing = _approach(gate, claim_id, token, tool)
    promised = passing.promised
    if promised is None:
        raise NotFound(f"Nothing was promised for claim {claim_id}.")
    # Read before the claim is marked: a store that does not answer sends nothing.
    body = gate.artifacts.get(promised.message)
    # From before the lease is read: who stands still after that is late.
    began = elapsed()
    with gate.ledger.write() as tx:
        until = began + _held_for(tx, claim_id)
        refused = _pass(tx, passing)
    _stop_if(refused)
    reach(Point.DISPATCHED)

    def renew() -> float:
        asked = elapsed()
        with gate.ledger.write() as tx:
            claims.renew(tx, passing.claim, gate.lease_seconds)
        return asked + gate.lease_seconds

    return Operation(_SEAL, passing.claim, promised, body, until, renew)


def carry_out(gate: Gate, claim_id: str, token: int, tool: str, apply: Apply) -> Result:
    """An internal effect: guard, precondition, mutation and result, or none of them."""
    passing = _approach(gate, claim_id, token, tool)
    payload = canonical.read_json(gate.artifacts.get(passing.snapshot.payload.ref))
    claim, result = passing.claim, None
    with gate.ledger.write() as tx:
        refused = _pass(tx, passing)
        if refused is None:
            tenant = passing.snapshot.intent.tenant
            given = cast("dict[str, Json]", payload)
            result = _applied(gate.artifacts, tx, claim, apply, tenant, given)
            effects.finish(tx, claim, result)
    _stop_if(refused)
    assert result is not None
    return result


def _approach(gate: Gate, claim_id: str, token: int, tool: str) -> _Passing:
    with gate.ledger.read() as tx:
        claim = _claim(tx, claim_id, token)
        session = sessions.load(tx, claim.workflow)
        snapshot = versions.load(tx, claim.item, claim.version).snapshot
        promised = outbox.find(tx, claim_id)
    domain = domain_of(gate.domains, session.domain)
    if snapshot.tool != tool:
        raise Refused(f"Claim {claim_id} is not for {tool}.", code="not_claimed")
    stored = facts.read_stored(gate.artifacts, domain.adapter, snapshot)
    return _Passing(claim, domain, snapshot, stored, promised)


def _held_for(tx: Transaction, claim_id: str) -> float:
    """For how many seconds nobody else may settle what became of it."""
    left = (claims.load(tx, claim_id).lease_until - tx.now).total_seconds()
    if left <= 0:
        raise Superseded(f"The lease of claim {claim_id} has run out.")
    return left


def _pass(tx: Transaction, passing: _Passing) -> claims.Refused | None:
    claim, stored, domain = passing.claim, passing.stored, passing.domain
    return effects.dispatch(
        tx, claim, passing.snapshot, stored, domain, passing.promised
    )


def _stop_if(refused: claims.Refused | None) -> None:
    if refused is not None:
        codes = ", ".join(reason.code for reason in refused.answer.reasons)
        raise Refused(f"The guard refused: {codes}.", code="guard_refused")


def _applied(
    artifacts: ArtifactStore,
    tx: Transaction,
    claim: Claim,
    apply: Apply,
    tenant: str,
    payload: dict[str, Json],
) -> Result:
    """What came of an internal effect; one that says no has changed nothing."""
    outcome: Outcome = "executed"
    detail = "done in the ledger's own transaction"
    try:
        with tx.connection.begin_nested():
            made = apply(tx, tenant, payload, claim.key)
    except (InvalidInput, Conflict, NotFound) as error:
        outcome, detail, made = "failed", error.message, {"code": error.code}
    body: dict[str, Json] = {"operation": claim.key, "outcome": outcome, "result": made}
    kept = artifacts.put(
        canonical.canonical_bytes(canonical.normalise(body)), "execution"
    )
    return Result(outcome=outcome, detail=detail, artifact=kept, provider_ref=claim.key)


def _claim(tx: Transaction, claim_id: str, token: int) -> Claim:
    try:
        claim = claims.load(tx, claim_id)
    except NotFound as error:
        raise Refused(
            "There is no claim for this effect: it can be reached only through the "
            "guard.",
            code="not_claimed",
        ) from error
    if claim.token != token or claim.state != "claimed":
        raise Superseded(f"Claim {claim_id} has moved on.")
    return claim
