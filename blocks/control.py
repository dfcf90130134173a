"""What people do about effects beside verdicts: settle, note a reversal, freeze.

Each act is one transaction with its proof; who may do it is `policies.access`. A
refused attempt changes nothing and is recorded, with its code.
"""

from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Literal, NamedTuple

from blocks.artifacts import ArtifactStore
from blocks.domain import Domain
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
from policies import reason as reasons
from policies.access import Channel, Denied, Reviewer
from policies.errors import Conflict, InvalidInput, NotFound, Refused
from policies.lifecycle import Event, State
from policies.value import Json, Value
from policies.visible import make_visible

# Whoever is not known may have typed anything.
_SHOWN_OF_A_NAME = 100


class By(Value):
    """Who acts, with which proof, by which way, and why."""

    reviewer: str
    proof: Proof
    channel: Channel
    reason: str


class _Attempt(NamedTuple):
    """What is tried, as the trail tells it where it is refused: in which chain."""

    chain: str
    refused: Literal["settle_refused", "roll_back_refused", "freeze_refused"]
    facts: dict[str, Any]


class Control:
    """The acts; one object per process, over its ledger."""

    def __init__(
        self,
        ledger: Ledger,
        artifacts: ArtifactStore,
        vault: Vault,
        domains: Mapping[str, Domain],
    ) -> None:
        self._ledger = ledger
        self._artifacts = artifacts
        self._vault = vault
        self._domains = domains

    def settle(
        self, workflow: str, by: By, *, happened: bool, item: str | None = None
    ) -> str:
        """Settle an unknown outcome that no provider can tell; the item settled.

        `InvalidInput` (ambiguous_item) where several are unknown and none is named,
        `Conflict` (nothing_unknown) where none is.
        """
        _check_reason(by)
        with self._ledger.read() as tx:
            claim = _unknown(tx, workflow, item)
        said: dict[str, Json] = {
            "operation": claim.key,
            "happened": happened,
            "reviewer": by.reviewer,
            "reason": by.reason,
        }
        kept = self._artifacts.put(canonical.canonical_bytes(said), "execution")
        tried = {"item": claim.item, "happened": happened}
        attempt = _Attempt(workflow, "settle_refused", tried)
        with self._acting(by, attempt) as (tx, who):
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

        It never executes anything. `Conflict` (nothing_executed) where nothing was, and
        (already_so) where this operation is recorded; another one is a second reversal.
        """
        _check_reason(by)
        reference = _checked_reference(reference)
        attempt = _Attempt(workflow, "roll_back_refused", {"item": item})
        with self._ledger.read() as tx:
            sessions.load(tx, workflow)
        with self._acting(by, attempt) as (tx, who):
            about = _executed(tx, workflow, item)
            _require(access.may_decide(who, about.gate))
            if reference in _reversals(tx, about):
                raise Conflict(
                    f"{about.id} is recorded as reversed by {reference} already.",
                    code="already_so",
                )
            items.move(tx, about, Event.ROLL_BACK)
            facts = items.present_facts(tx, about)
            told = {"rollback_reference": reference, **_facts(by, who)}
            audit.append(tx, workflow, "rolled_back", **{**facts, **told})
        return about.id

    def freeze(self, scope: Scope, by: By, *, frozen: bool) -> None:
        """Stop every effect in a scope, or let them go on.

        `InvalidInput` (unknown_tool, unknown_tenant) where nothing could be stopped by
        it; `Conflict` (already_so) where the scope is frozen already, or is not.
        """
        _check_reason(by)
        attempt = _Attempt(
            audit.ADMIN_CHAIN,
            "freeze_refused",
            {
                "tenant": _shown(scope.tenant),
                "tool": _shown(scope.tool),
                "asked": "freeze" if frozen else "unfreeze",
            },
        )
        with self._acting(by, attempt) as (tx, who):
            _require(access.may_freeze(who, scope.tenant, lifting=not frozen))
            stands = _stands(tx, scope)
            if not stands:
                # One that stands can be lifted, also when its tool is gone.
                self._check_known(tx, scope)
            if frozen == stands:
                word = "frozen already" if frozen else "not frozen"
                raise Conflict(f"This scope is {word}.", code="already_so")
            freezes.put(tx, scope, frozen=frozen, actor=who.id, reason=by.reason)

    def _check_known(self, tx: Transaction, scope: Scope) -> None:
        """A slip in a name would stop nothing, and look as if it did."""
        tools = sorted(
            name for domain in self._domains.values() for name in domain.adapter.tools
        )
        if scope.tool is not None and scope.tool not in tools:
            raise InvalidInput(
                f"There is no tool {_shown(scope.tool)!r}.",
                code="unknown_tool",
                hint=f"Known: {', '.join(tools)}.",
            )
        tenants = freezes.known_tenants(tx)
        if scope.tenant is not None and scope.tenant not in tenants:
            raise InvalidInput(
                f"There is no tenant {_shown(scope.tenant)!r}: nobody reviews for it, "
                "and nothing was asked for it.",
                code="unknown_tenant",
                hint=f"Known: {', '.join(tenants)}.",
            )

    @contextmanager
    def _acting(
        self, by: By, attempt: _Attempt
    ) -> Iterator[tuple[Transaction, Reviewer]]:
        """One transaction for the proof and the act; a refused attempt is recorded."""
        try:
            with self._ledger.write() as tx:
                who = people.prove(tx, self._vault, by.reviewer, by.proof)
                if not isinstance(who, Denied):
                    yield tx, who
            # Committed before it is told: wrong proofs must count.
            if isinstance(who, Denied):
                _require(who)
        except (Refused, Conflict, InvalidInput, NotFound) as error:
            self._note_refused(by, attempt, error.code)
            raise

    def _note_refused(self, by: By, attempt: _Attempt, code: str) -> None:
        with self._ledger.write() as tx:
            audit.append(
                tx,
                attempt.chain,
                attempt.refused,
                actor=_shown(by.reviewer),
                method=by.channel.method,
                channel=by.channel.name,
                code=code,
                **attempt.facts,
            )


def _check_reason(by: By) -> None:
    if not by.reason.strip():
        raise InvalidInput(
            "A reason is required.", code="reason_required", hint="Give it by --reason."
        )
    problem = reasons.problem_of(by.reason)
    if problem is not None:
        raise InvalidInput(f"The reason {problem}.", code="invalid_reason")


def _checked_reference(reference: str) -> str:
    if not reference.strip():
        raise InvalidInput(
            "Name the operation that reversed it.", code="reference_required"
        )
    problem = reasons.problem_of(reference, reasons.MAX_REFERENCE)
    if problem is not None:
        raise InvalidInput(f"The reference {problem}.", code="invalid_reference")
    return reference.strip()


def _shown(name: str | None) -> str | None:
    return None if name is None else make_visible(name[:_SHOWN_OF_A_NAME])


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
    found = [i for i in _named(tx, workflow, item) if i.state == State.EXECUTED]
    if not found:
        raise Conflict(f"Nothing of {workflow} was executed.", code="nothing_executed")
    return items.load(tx, _only(found).id, lock=True)


def _reversals(tx: Transaction, item: Item) -> set[Json]:
    """The operations that are recorded as having reversed an item, under its lock."""
    return {
        event.facts["rollback_reference"]
        for event in audit.events(tx, item.workflow)
        if event.event == "rolled_back" and event.facts["item"] == item.id
    }


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
