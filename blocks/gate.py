"""The gate in every effect: what comes through it was approved and is still so.

A tool with an effect is given a claim's id and token, nothing else. Only `pass_gate`
makes the `Operation` that it needs, after the guard has said yes in a transaction; an
operation gives its payload out once.
"""

from collections.abc import Mapping
from datetime import datetime
from typing import cast

from blocks.artifacts import ArtifactStore
from blocks.domain import Domain, domain_of
from blocks.ledger import claims, facts, sessions, versions
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger, Transaction
from policies import canonical
from policies.errors import Conflict, NotFound, Refused, Superseded
from policies.value import Json

_SEAL = object()


class Operation:
    """One effect that may happen now. `key` names it at the provider."""

    def __init__(
        self, seal: object, claim: Claim, tool: str, payload: dict[str, Json]
    ) -> None:
        if seal is not _SEAL:
            raise Refused(
                "An operation comes from a claim, through the guard.",
                code="not_claimed",
            )
        self.key = claim.key
        self.tool = tool
        self.claimed_at: datetime = claim.claimed_at
        self._payload: dict[str, Json] | None = payload

    def take_payload(self) -> dict[str, Json]:
        """The approved payload; a second call raises: one operation, one effect."""
        if self._payload is None:
            raise Conflict(f"Operation {self.key} was used.", code="approval_spent")
        payload, self._payload = self._payload, None
        return payload


def pass_gate(
    ledger: Ledger,
    artifacts: ArtifactStore,
    domains: Mapping[str, Domain],
    claim_id: str,
    token: int,
    tool: str,
) -> Operation:
    """Ask the guard for the last time and mark the claim as dispatched.

    `Refused` (not_claimed) where there is no such claim for this tool and token;
    `Refused` (guard_refused) where the guard says no, which is recorded.
    """
    with ledger.read() as tx:
        claim = _claim(tx, claim_id, token)
        session = sessions.load(tx, claim.workflow)
        version = versions.load(tx, claim.item, claim.version)
    domain = domain_of(domains, session.domain)
    snapshot = version.snapshot
    if snapshot.tool != tool:
        raise Refused(f"Claim {claim_id} is not for {tool}.", code="not_claimed")
    stored = facts.read_stored(artifacts, domain.adapter, snapshot)
    with ledger.write() as tx:
        session = sessions.load(tx, claim.workflow)
        refused = claims.dispatch(tx, claim, session, stored, domain)
    if refused is not None:
        codes = ", ".join(reason.code for reason in refused.answer.reasons)
        raise Refused(f"The guard refused: {codes}.", code="guard_refused")
    # The guard has just compared the hash of these very bytes with the approved one.
    payload = canonical.read_json(artifacts.get(snapshot.payload.ref))
    return Operation(_SEAL, claim, tool, cast("dict[str, Json]", payload))


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
