"""What people do about effects beside verdicts: settle, note a reversal, freeze.

Each act is one transaction with its proof; who may do it is `policies.access`. A
refused attempt changes nothing and is recorded.
"""

from collections.abc import Iterator
from contextlib import contextmanager
from typing import Any

from blocks.artifacts import ArtifactStore
from blocks.ledger import (
    audit,
    claims,
    effects,
    freezes,
    items,
    people,
    sessions,
)
from blocks.ledger.claims import Claim
from blocks.ledger.database import Ledger, Transaction
from blocks.ledger.effects import Found
from blocks.ledger.freezes import Scope
from blocks.ledger.items import Item
from blocks.ledger.people import Proof
from blocks.recovery import Point, reach
from blocks.vault import Vault
from policies import access, canonical
from policies.access import Channel, Denied, Reviewer
from policies.errors import Conflict, InvalidInput, NotFound, Refused
from policies.lifecycle import Event, State
from policies.value import Json, Value


class By(Value):
    """Who acts, with which proof, by which way, and why."""

    reviewer: str
    proof: Proof
    channel: Channel
    reason: str


class Control:
    """The acts; one object per process, over its ledger."""

    def __init__(self, ledger: Ledger, artifacts: ArtifactStore, vault: Vault) -> None:
        self._ledger = ledger
        self._artifacts = artifacts
        self._vault = vault

    def settle(
        self, workflow: str, by: By, *, happened: bool, item: str | None = None
    ) -> str:
        """Settle an unknown outcome that no provider can tell; the item settled.

        `InvalidInput` (ambiguous_item) where several are unknown and none is named,
        `Conflict` (nothing_unknown) where none is.
        """
        _require_reason(by)
        with self._ledger.read() as tx:
            claim = _unknown(tx, workflow, item)
        said: dict[str, Json] = {
            "operation": claim.key,
            "happened": happened,
            "reviewer": by.reviewer,
            "reason": by.reason,
        }
        kept = self._artifacts.put(canonical.canonical_bytes(said), "execution")
        with self._acting(by) as (tx, who):
            about = items.load(tx, claim.item)
            _require(access.may_decide(who, about.gate))
            found = Found(
                happened=happened,
                detail=by.reason,
                artifact=kept,
                provider_ref=_known_ref(tx, claim),
                by=_facts(by, who),
            )
            if not effects.reconcile(tx, claim, found):
                raise Conflict("It was settled meanwhile.", code="nothing_unknown")
        reach(Point.RECONCILED)
        return claim.item

    def roll_back(
        self, workflow: str, by: By, reference: str, item: str | None = None
    ) -> str:
        """Record that an executed action was reversed by the operation `reference`.

        It never executes anything. `Conflict` (nothing_executed) where nothing was.
        """
        _require_reason(by)
        if not reference.strip():
            raise InvalidInput(
                "Name the operation that reversed it.", code="reference_required"
            )
        with self._acting(by) as (tx, who):
            about = _executed(tx, workflow, item)
            _require(access.may_decide(who, about.gate))
            items.move(tx, about, Event.ROLL_BACK)
            facts = items.present_facts(tx, about)
            told = {"rollback_reference": reference, **_facts(by, who)}
            audit.append(tx, workflow, "rolled_back", **{**facts, **told})
        return about.id

    def freeze(self, scope: Scope, by: By, *, frozen: bool) -> None:
        """Stop every effect in a scope, or let them go on."""
        _require_reason(by)
        with self._acting(by) as (tx, who):
            _require(access.may_freeze(who, scope.tenant, lifting=not frozen))
            if frozen == _stands(tx, scope):
                word = "frozen already" if frozen else "not frozen"
                raise Conflict(f"This scope is {word}.", code="already_so")
            freezes.put(tx, scope, frozen=frozen, actor=who.id, reason=by.reason)

    @contextmanager
    def _acting(self, by: By) -> Iterator[tuple[Transaction, Reviewer]]:
        """One transaction for the proof and the act."""
        denied: Denied | None = None
        with self._ledger.write() as tx:
            who = people.prove(tx, self._vault, by.reviewer, by.proof)
            if isinstance(who, Denied):
                # Committed: wrong proofs must count.
                denied = who
            else:
                yield tx, who
        if denied is not None:
            _require(denied)


def _require_reason(by: By) -> None:
    if not by.reason.strip():
        raise InvalidInput(
            "A reason is required.", code="reason_required", hint="Give it by --reason."
        )


def _require(denied: Denied | None) -> None:
    if denied is not None:
        raise Refused(f"{denied.message}.", code=denied.code)


def _unknown(tx: Transaction, workflow: str, item: str | None) -> Claim:
    sessions.load(tx, workflow)
    found = [
        i for i in _named(tx, workflow, item) if i.state == State.EXECUTION_UNKNOWN
    ]
    if not found:
        raise Conflict(
            f"No outcome of {workflow} is unknown.",
            code="nothing_unknown",
            hint=f"`placet status {workflow}` tells where it is.",
        )
    return claims.of_item(tx, _only(found).id)[-1]


def _executed(tx: Transaction, workflow: str, item: str | None) -> Item:
    sessions.load(tx, workflow)
    found = [i for i in _named(tx, workflow, item) if i.state == State.EXECUTED]
    if not found:
        raise Conflict(f"Nothing of {workflow} was executed.", code="nothing_executed")
    return items.load(tx, _only(found).id, lock=True)


def _named(tx: Transaction, workflow: str, item: str | None) -> list[Item]:
    found = items.of_workflow(tx, workflow)
    if item is None:
        return list(found)
    named = [one for one in found if one.id == item]
    if not named:
        raise NotFound(f"Workflow {workflow} has no item {item}.")
    return named


def _only(found: list[Item]) -> Item:
    if len(found) > 1:
        raise InvalidInput(
            "Several items qualify.",
            code="ambiguous_item",
            hint=f"Name one by --item: {', '.join(i.id for i in found)}.",
        )
    return found[0]


def _known_ref(tx: Transaction, claim: Claim) -> str:
    """The provider's own name for it, as it was told when the outcome was lost."""
    row = effects.result_of(tx, claim.id)
    return claim.key if row is None else str(row["provider_ref"])


def _facts(by: By, who: Reviewer) -> dict[str, Any]:
    return {
        "actor": who.id,
        "role": who.role,
        "method": by.channel.method,
        "channel": by.channel.name,
        "reason": by.reason,
    }


def _stands(tx: Transaction, scope: Scope) -> bool:
    return any(
        (one.tenant, one.tool) == (scope.tenant, scope.tool)
        for one in freezes.standing(tx)
    )
