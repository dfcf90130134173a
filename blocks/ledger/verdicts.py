"""Verdicts: who may say what about which version, and what follows from it.

`record` takes all verdicts of one submission, or none. A refusal changes no item; it is
kept as an event, and so is a wrong code, which is why it is an answer and not an error:
the caller's transaction must be committed either way.
"""

import uuid
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import Row, insert, select

from blocks.domain import Domain
from blocks.ledger import audit, facts, items, proposals, rules
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Standing, Stored
from blocks.ledger.items import Item
from blocks.ledger.proposals import Prepared
from blocks.ledger.sessions import Session
from blocks.ledger.tables import Verdict
from policies import access, canonical, lifecycle, risk
from policies.access import Channel, Reviewer
from policies.guard import Executable, Reason
from policies.lifecycle import Event, State
from policies.plan import ItemVerdict
from policies.risk import Risk
from policies.value import Value
from policies.visible import is_storable

MAX_REASON = 4_000


class Recorded(Value):
    """A verdict that is on record."""

    item: str
    decision_id: str
    verdict: str
    state: State
    version: int


class Refusal(Value):
    """Why a verdict was not taken; `code` is the contract's word."""

    item: str
    code: str
    message: str
    recorded: str | None = None
    """What was decided before, where that is the reason."""


class Judged(Value):
    """What a verdict on an item needs beside the ledger's own rows."""

    stored: Stored
    prepared: Prepared | None = None
    """The edited payload, stored and checked."""
    invalid: Refusal | None = None
    """Why there is none; told only to who may decide on what is still asked."""


class Acting(Value):
    """Who hands in verdicts, and by which way."""

    who: Reviewer
    channel: Channel


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


def record(
    tx: Transaction,
    session: Session,
    domain: Domain,
    acting: Acting,
    verdict: ItemVerdict,
    judged: Judged,
) -> Recorded:
    """Write a verdict that `judge` has let through, in the same transaction."""
    item = items.load(tx, verdict.item, lock=True)
    if item.state in (State.QUEUED, State.ASSIGNED):
        item = items.assign_and_open(tx, item, acting.who.id)
    match verdict.verdict:
        case "approve":
            return _approve(tx, item, acting, verdict)
        case "reject":
            return _reject(tx, item, acting, verdict)
        case "withdraw":
            return _withdraw(tx, item, acting, verdict)
        case "edit":
            return _edit(tx, session, item, domain, acting, verdict, judged)


def refuse(
    tx: Transaction, item: Item, actor: str, channel: Channel, refusal: Refusal
) -> None:
    """Keep a refused attempt: who tried what, by which way, and why not."""
    items.note(tx, item, "refused", actor, channel.name, refusal.code)
    audit.append(
        tx,
        item.workflow,
        "verdict_refused",
        item=item.id,
        actor=actor,
        channel=channel.name,
        method=channel.method,
        code=refusal.code,
        reason=refusal.message,
        conflict_of_interest=refusal.code == "conflict_of_interest",
    )


def approve_by_policy(tx: Transaction, item: Item, reasons: tuple[str, ...]) -> Item:
    """The automatic review of a low-risk item: the same records as a person's."""
    expires = tx.now + timedelta(seconds=item.term_seconds)
    channel = Channel(name="automatic", method="policy", signed_in=True)
    who = Reviewer(
        id=facts.POLICY_REVIEWER,
        tenant=item.tenant,
        role="reviewer",
        permissions=(item.permission,),
    )
    words = "; ".join(reasons)
    acting = Acting(who=who, channel=channel)
    decision = _write(tx, item, acting, "approved", words, expires)
    moved = items.move(tx, item, Event.POLICY_APPROVE, expires_at=expires)
    _audit(tx, moved, acting, "approved", decision, words, expires)
    return moved


def last_word(tx: Transaction, item: str) -> str | None:
    """The last recorded verdict on an item, in words."""
    row = last_row(tx, item)
    return row and f"{row.verdict} v{row.version} by {row.reviewer}"


def last_row(tx: Transaction, item: str) -> Row[Any] | None:
    """The last recorded verdict on an item, or None."""
    query = select(Verdict).where(Verdict.item == item).order_by(Verdict.seq.desc())
    return tx.run(query.limit(1)).first()


def of_item(tx: Transaction, item: str) -> tuple[dict[str, Any], ...]:
    """All verdicts on an item, the first one first."""
    query = select(Verdict).where(Verdict.item == item).order_by(Verdict.seq)
    return tuple(row._asdict() for row in tx.all(query))


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
    words = last_word(tx, item.id)
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
            f"version {verdict.version} is no longer asked; version {item.version} is",
        )
    seen = verdict.snapshot
    digest = items.version_of(tx, item.id, item.version).snapshot.digest
    if seen in (digest, canonical.short(digest)):
        return None
    return _refusal(
        item, "snapshot_mismatch", f"it shows {canonical.short(digest)}, not {seen}"
    )


def _is_complete(item: Item, verdict: ItemVerdict) -> Refusal | None:
    if len(verdict.reason) > MAX_REASON:
        return _refusal(
            item, "invalid_reason", f"the reason is longer than {MAX_REASON} characters"
        )
    if not is_storable(verdict.reason):
        return _refusal(
            item, "invalid_reason", "the reason holds what is no text: NUL, or the like"
        )
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
    version = items.version_of(tx, item.id, item.version)
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
    reasons = [r for r in answer.reasons if r.code != "not_approved"]
    if not reasons:
        return None
    words = "; ".join(f"{r.code}: {r.detail}" for r in reasons)
    return _refusal(item, _contract_code(reasons), words)


def _contract_code(reasons: list[Reason]) -> str:
    codes = {reason.code for reason in reasons}
    if codes <= {"evidence_changed"}:
        return "evidence_mismatch"
    if codes & {"payload_version_mismatch"}:
        return "stale_version"
    return "intent_mismatch"


def _approve(
    tx: Transaction, item: Item, acting: Acting, verdict: ItemVerdict
) -> Recorded:
    expires = tx.now + timedelta(seconds=item.term_seconds)
    decision = _write(tx, item, acting, "approved", verdict.reason, expires)
    standing = facts.standing_of(tx, item)
    full = len(standing.reviewers) >= item.required_verdicts
    event = Event.APPROVE if full else Event.APPROVE_COUNTED
    moved = items.move(tx, item, event, expires_at=standing.expires_at)
    name: Literal["approved", "approve_requested"] = (
        "approved" if full else "approve_requested"
    )
    _audit(tx, moved, acting, name, decision, verdict.reason, standing.expires_at)
    return _recorded(moved, decision, "approved")


def _reject(
    tx: Transaction, item: Item, acting: Acting, verdict: ItemVerdict
) -> Recorded:
    decision = _write(tx, item, acting, "rejected", verdict.reason, None)
    moved = items.move(tx, item, Event.REJECT)
    _audit(tx, moved, acting, "rejected", decision, verdict.reason, None)
    return _recorded(moved, decision, "rejected")


def _withdraw(
    tx: Transaction, item: Item, acting: Acting, verdict: ItemVerdict
) -> Recorded:
    decision = _write(tx, item, acting, "withdrawn", verdict.reason, None)
    moved = items.move(tx, item, Event.WITHDRAW, expires_at=None)
    _audit(tx, moved, acting, "withdrawn", decision, verdict.reason, None)
    return _recorded(moved, decision, "withdrawn")


def _edit(
    tx: Transaction,
    session: Session,
    item: Item,
    domain: Domain,
    acting: Acting,
    verdict: ItemVerdict,
    judged: Judged,
) -> Recorded:
    assert judged.prepared is not None
    level = not_lower(item, judged.prepared.risk)
    prepared = judged.prepared.model_copy(update={"risk": level})
    policy = rules.in_force(tx)
    before = items.version_of(tx, item.id, item.version)
    new = proposals.bind(
        tx,
        session,
        prepared,
        domain,
        policy,
        action=item.action,
        version=items.next_version(tx, item),
        evidence=before.snapshot.evidence,
        provenance=before.provenance,
        made_by=acting.who.id,
        diff=f"edited in {', '.join(sorted(verdict.edit or {}))}",
    )
    decision = _write(tx, item, acting, "edited", verdict.reason, None)
    told = _said(item, acting, decision, verdict.reason)
    moved = items.add_version(tx, item, Event.EDIT, new, policy, **told)
    return _recorded(moved, decision, "edited")


def not_lower(item: Item, found: Risk) -> Risk:
    """An edit can raise an item's risk; it never talks it down."""
    if risk.at_least(found.level, item.risk_level):
        return found
    return Risk(level=item.risk_level, reasons=item.risk_reasons)


def _write(
    tx: Transaction,
    item: Item,
    acting: Acting,
    word: str,
    reason: str,
    expires_at: Any,
) -> str:
    decision = f"d-{uuid.uuid4().hex[:16]}"
    tx.run(
        insert(Verdict),
        {
            "decision_id": decision,
            "item": item.id,
            "version": item.version,
            "verdict": word,
            "reviewer": acting.who.id,
            "role": acting.who.role,
            "on_behalf_of": None,
            "conflict_of_interest": acting.who.id == item.requested_by,
            "method": acting.channel.method,
            "channel": acting.channel.name,
            "reason": reason.strip(),
            "policy_version": item.policy_version,
            "rubric_version": item.rubric_version,
            "expires_at": expires_at,
            "at": tx.now,
        },
    )
    return decision


def _audit(
    tx: Transaction,
    item: Item,
    acting: Acting,
    event: Literal["approved", "approve_requested", "rejected", "withdrawn"],
    decision: str,
    reason: str,
    expires_at: Any,
) -> None:
    version = items.version_of(tx, item.id, item.version)
    audit.append(
        tx,
        item.workflow,
        event,
        item=item.id,
        action=item.action,
        actor=acting.who.id,
        verdict_expires_at=expires_at,
        policy_version=item.policy_version,
        schema_version=item.schema_version,
        rubric_version=item.rubric_version,
        **_said(item, acting, decision, reason),
        **items.version_facts(version),
    )


def _said(item: Item, acting: Acting, decision: str, reason: str) -> dict[str, Any]:
    """How and why somebody decided, for an audit event."""
    return {
        "decision_id": decision,
        "role": acting.who.role,
        "conflict_of_interest": acting.who.id == item.requested_by,
        "method": acting.channel.method,
        "channel": acting.channel.name,
        "reason": reason.strip(),
    }


def _refusal(item: Item, code: str, message: str) -> Refusal:
    return Refusal(item=item.id, code=code, message=message)


def _recorded(item: Item, decision: str, word: str) -> Recorded:
    return Recorded(
        item=item.id,
        decision_id=decision,
        verdict=word,
        state=item.state,
        version=item.version,
    )
