"""Verdicts: who may say what about which version, and what follows from it.

`record` takes all verdicts of one submission, or none. A refusal changes no item; it is
kept as an event, and so is a wrong code, which is why it is an answer and not an error:
the caller's transaction must be committed either way.
"""

import uuid
from datetime import timedelta
from typing import Any, Literal

from sqlalchemy import Row, bindparam, insert, select

from blocks.domain import Domain
from blocks.ledger import audit, facts, items, proposals, rules, versions
from blocks.ledger.database import Transaction
from blocks.ledger.facts import Stored
from blocks.ledger.items import Item
from blocks.ledger.proposals import Prepared
from blocks.ledger.sessions import Session
from blocks.ledger.tables import Verdict
from policies import access, risk
from policies.access import Channel, Reviewer
from policies.lifecycle import Event, State
from policies.plan import ItemVerdict
from policies.policy import Role
from policies.risk import Risk
from policies.value import Value

_INSERT = insert(Verdict)
_OF_ITEM = (
    select(Verdict).where(Verdict.item == bindparam("item")).order_by(Verdict.seq)
)
_LAST = (
    select(Verdict)
    .where(Verdict.item == bindparam("item"))
    .order_by(Verdict.seq.desc())
    .limit(1)
)
_LAST_APPROVAL = (
    select(Verdict.decision_id)
    .where(
        Verdict.item == bindparam("item"),
        Verdict.version == bindparam("version"),
        Verdict.verdict == "approved",
    )
    .order_by(Verdict.seq.desc())
    .limit(1)
)


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
    """The edited payload, checked; stored before the verdict is recorded."""
    invalid: Refusal | None = None
    """Why there is none; told only to who may decide on what is still asked."""


class Acting(Value):
    """Who hands in verdicts, and by which way."""

    who: Reviewer
    channel: Channel


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
        opened = {"seen_by": [acting.who.id], **_by(item, acting)}
        item = items.assign_and_open(tx, item, opened)
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
    tx: Transaction,
    said: ItemVerdict,
    actor: str,
    role: Role | None,
    channel: Channel,
    refusal: Refusal,
) -> None:
    """Keep a refused attempt: who tried what, by which way, and why not.

    Whoever has not proved to be `actor` has no role. The payload is the one spoken of,
    or where there is no such version the one that is asked.
    """
    item = items.load(tx, said.item)
    items.note(tx, item, "refused", actor, channel.name, refusal.code)
    number = said.version if 0 < said.version <= item.version else item.version
    audit.append(
        tx,
        item.workflow,
        "verdict_refused",
        actor=actor,
        role=role,
        verdict=said.verdict,
        asked_version=item.version,
        channel=channel.name,
        method=channel.method,
        code=refusal.code,
        reason=refusal.message,
        conflict_of_interest=refusal.code == "conflict_of_interest",
        **items.facts(item, versions.load(tx, item.id, number)),
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
    return tx.one(_LAST, {"item": item})


def approval(tx: Transaction, item: Item) -> dict[str, Any]:
    """What an audit event says of the approval of an item's present version.

    Of a quorum it is the last verdict's id, and the term of whichever ends first.
    """
    row = tx.one(_LAST_APPROVAL, {"item": item.id, "version": item.version})
    if row is None:
        return {}
    return {"decision_id": row.decision_id, "verdict_expires_at": item.expires_at}


def of_item(tx: Transaction, item: str) -> tuple[dict[str, Any], ...]:
    """All verdicts on an item, the first one first."""
    return tuple(row._asdict() for row in tx.all(_OF_ITEM, {"item": item}))


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
    # What held this approval back does not hold back the next one.
    moved = items.move(tx, item, Event.WITHDRAW, expires_at=None, held=())
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
    before = versions.load(tx, item.id, item.version)
    new = proposals.bind(
        tx,
        session,
        prepared,
        domain,
        policy,
        action=item.action,
        version=versions.next_number(tx, item.id),
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


def _is_own(item: Item, acting: Acting) -> bool:
    return access.is_own_request(acting.who.id, item.requested_by)


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
        _INSERT,
        {
            "decision_id": decision,
            "item": item.id,
            "version": item.version,
            "verdict": word,
            "reviewer": acting.who.id,
            "role": acting.who.role,
            "on_behalf_of": None,
            "conflict_of_interest": _is_own(item, acting),
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
    audit.append(
        tx,
        item.workflow,
        event,
        verdict_expires_at=expires_at,
        **_said(item, acting, decision, reason),
        **items.present_facts(tx, item),
    )


def _said(item: Item, acting: Acting, decision: str, reason: str) -> dict[str, Any]:
    """How and why somebody decided, for an audit event."""
    by = _by(item, acting)
    return {**by, "decision_id": decision, "reason": reason.strip()}


def _by(item: Item, acting: Acting) -> dict[str, Any]:
    """Who does something with an item, and by which way, for an audit event."""
    return {
        "actor": acting.who.id,
        "role": acting.who.role,
        "conflict_of_interest": _is_own(item, acting),
        "method": acting.channel.method,
        "channel": acting.channel.name,
    }


def _recorded(item: Item, decision: str, word: str) -> Recorded:
    return Recorded(
        item=item.id,
        decision_id=decision,
        verdict=word,
        state=item.state,
        version=item.version,
    )
