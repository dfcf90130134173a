"""Whether a verdict can be taken: who says it, of what they saw, and is it still so.

Asked in the transaction that would record it, before anything is written.
"""

from collections.abc import Mapping
from datetime import timedelta

from blocks.domain import Domain
from blocks.ledger import facts, items, verdicts, versions
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Standing, Stored
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.ledger.verdicts import Acting, Judged, Refusal
from policies import access, canonical, guard, lifecycle
from policies import reason as reasons
from policies.guard import Executable, Reason, ReasonCode
from policies.lifecycle import Event, State
from policies.plan import ItemVerdict

AT_THE_DESK: Mapping[ReasonCode, str] = {
    "evidence_changed": "evidence_mismatch",
    "payload_version_mismatch": "stale_version",
    # One word of the contract for every part of the effective intent.
    "intent_mismatch": "intent_mismatch",
    "resource_version_changed": "intent_mismatch",
    "schema_version_changed": "intent_mismatch",
    "policy_version_changed": "intent_mismatch",
    "key_conflict": "idempotency_conflict",
    "key_expired": "operation_expired",
    "cancelled": "request_closed",
}
"""What the contract calls a reason of the guard; any other keeps its own name."""


def judge(
    tx: Transaction,
    session: Session,
    domain: Domain,
    acting: Acting,
    verdict: ItemVerdict,
    judged: Judged,
) -> Refusal | None:
    """Why this verdict cannot be taken now, or None. Changes nothing."""
    item = items.load(tx, verdict.item, lock=True)
    refusal = (
        _may(item, acting)
        or _is_open(tx, item, verdict)
        or _is_what_was_seen(tx, item, verdict)
        or _is_complete(item, verdict)
        or judged.invalid
    )
    if refusal is None and verdict.verdict == "approve":
        refusal = _twice(tx, item, acting)
    if refusal is None and verdict.verdict in ("approve", "edit"):
        # An edit keeps what it does not touch: that must still be true, too.
        return _still_true(tx, session, item, domain, acting, judged.stored)
    return refusal


def _may(item: Item, acting: Acting) -> Refusal | None:
    denied = access.may_decide(acting.who, item.gate) or access.may_use(
        acting.channel, item.gate
    )
    if denied is None:
        return None
    return Refusal(item=item.id, code=denied.code, message=denied.message)


def _is_open(tx: Transaction, item: Item, verdict: ItemVerdict) -> Refusal | None:
    if item.state == State.EXPIRED:
        return Refusal(
            item=item.id, code="item_expired", message="its time to be decided is over"
        )
    event = _event(verdict)
    if event in lifecycle.allowed_events(item.state):
        return None
    if item.state in (State.QUEUED, State.ASSIGNED) and event != Event.WITHDRAW:
        # Decided before its form was shown: `record` opens it for this reviewer.
        return None
    if item.state in lifecycle.OPEN:
        return _refusal(
            item, "illegal_transition", f"it is {item.state}: no {event} from there"
        )
    words = verdicts.last_word(tx, item.id)
    return Refusal(
        item=item.id,
        code="already_decided",
        message=f"it is {item.state} already ({words})",
        recorded=words,
    )


def _event(verdict: ItemVerdict) -> Event:
    words: dict[str, Event] = {
        "approve": Event.APPROVE,
        "reject": Event.REJECT,
        "edit": Event.EDIT,
        "withdraw": Event.WITHDRAW,
    }
    return words[verdict.verdict]


def _is_what_was_seen(
    tx: Transaction, item: Item, verdict: ItemVerdict
) -> Refusal | None:
    if verdict.version != item.version:
        return _refusal(
            item,
            "stale_version",
            f"version {verdict.version} is not asked; version {item.version} is",
        )
    seen = verdict.snapshot
    digest = versions.load(tx, item.id, item.version).snapshot.digest
    if seen in (digest, canonical.short(digest)):
        return None
    return _refusal(
        item,
        "snapshot_mismatch",
        f"it shows {canonical.short(digest)}, not {seen}: look at it again",
    )


def _is_complete(item: Item, verdict: ItemVerdict) -> Refusal | None:
    problem = reasons.problem_of(verdict.reason)
    if problem is not None:
        return _refusal(item, "invalid_reason", f"the reason {problem}")
    if verdict.verdict in ("reject", "withdraw") and not verdict.reason.strip():
        return _refusal(item, "reason_required", f"to {verdict.verdict} needs a reason")
    if verdict.verdict != "edit" and verdict.edit:
        return _refusal(
            item,
            "invalid_edit",
            f"fields were changed, but the verdict is {verdict.verdict}: choose edit, "
            "or leave the fields as they are",
        )
    return None


def _twice(tx: Transaction, item: Item, acting: Acting) -> Refusal | None:
    if acting.who.id not in facts.standing_of(tx, item).reviewers:
        return None
    return _refusal(item, "already_decided", f"{acting.who.id} has approved it already")


def _still_true(
    tx: Transaction,
    session: Session,
    item: Item,
    domain: Domain,
    acting: Acting,
    stored: Stored,
) -> Refusal | None:
    """Recompute and compare before a verdict counts, as if it stood already."""
    version = versions.load(tx, item.id, item.version)
    standing = facts.standing_of(tx, item)
    would_stand = Standing(
        reviewers=(*standing.reviewers, acting.who.id),
        expires_at=tx.now + timedelta(seconds=item.term_seconds),
    )
    answer = facts.ask_guard(
        tx, session, item, version.snapshot, stored, domain, would_stand
    )
    if isinstance(answer, Executable):
        return None
    found = [r for r in answer.reasons if r.code != "not_approved"]
    if not found:
        return None
    words = "; ".join(f"{r.code}: {r.detail}" for r in found)
    return _refusal(item, _contract_code(found), words)


def _contract_code(found: list[Reason]) -> str:
    """The gravest reason's: it decides what would follow, and so what is told."""
    gravest = guard.gravest(found).code
    return AT_THE_DESK.get(gravest, gravest)


def _refusal(item: Item, code: str, message: str) -> Refusal:
    return Refusal(item=item.id, code=code, message=message)
