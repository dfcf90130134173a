"""The present, read again, as the guard wants it.

Stored bytes are read and hashed before a transaction (`read_stored`); what can move is
read inside it (`gather`).
"""

from datetime import datetime

from sqlalchemy import bindparam, literal, select, union_all

from blocks.artifacts import ArtifactStore
from blocks.domain import Domain
from blocks.ledger import freezes, people, reservations, rules
from blocks.ledger.database import Transaction
from blocks.ledger.effect_tables import ExecutionClaim, KeyTombstone, OutboxRow
from blocks.ledger.items import Item
from blocks.ledger.sessions import Session
from blocks.ledger.tables import PayloadVersion, Verdict
from policies import access, canonical, guard, idempotency
from policies.adapter import Adapter, Target
from policies.errors import NotFound, PlacetError
from policies.guard import Facts, GuardAnswer, ReapprovalRequired
from policies.intent import EffectiveIntent
from policies.lifecycle import OPEN, State
from policies.policy import Policy
from policies.snapshot import ApprovalSnapshot, EvidenceRef
from policies.value import Value

POLICY_REVIEWER = "policy"
"""The reviewer's name in the verdicts of the automatic review."""

_SPENT = select(ExecutionClaim.key).where(
    ExecutionClaim.item == bindparam("item"),
    ExecutionClaim.version == bindparam("version"),
    ExecutionClaim.key != bindparam("key"),
)
# A tombstone first: a buried key is never bound again, whatever else there is.
_BOUND = union_all(
    select(KeyTombstone.digest, literal(True).label("buried")).where(
        KeyTombstone.scope == bindparam("scope"), KeyTombstone.key == bindparam("key")
    ),
    select(ExecutionClaim.digest, literal(False).label("buried")).where(
        ExecutionClaim.scope == bindparam("scope"),
        ExecutionClaim.key == bindparam("key"),
    ),
)
_KEPT = (
    select(OutboxRow.id)
    .join(ExecutionClaim, OutboxRow.id == literal("effect-").concat(ExecutionClaim.id))
    .where(
        ExecutionClaim.scope == bindparam("scope"),
        ExecutionClaim.key == bindparam("key"),
    )
)
_NEWEST = (
    select(PayloadVersion.ref, PayloadVersion.version)
    .where(PayloadVersion.item == bindparam("item"))
    .order_by(PayloadVersion.version.desc())
    .limit(1)
)
_VERDICTS = (
    select(Verdict.reviewer, Verdict.verdict, Verdict.expires_at, Verdict.at)
    .where(Verdict.item == bindparam("item"), Verdict.version == bindparam("version"))
    .order_by(Verdict.seq)
)


class Stored(Value):
    """What the artifact store holds now, hashed again."""

    payload_hash: str
    validation_hash: str
    evidence: tuple[EvidenceRef, ...]
    target: Target | None


class Standing(Value):
    """The approvals of one version that stand: by whom, and until when."""

    reviewers: tuple[str, ...]
    expires_at: datetime | None


def read_stored(
    artifacts: ArtifactStore, adapter: Adapter, snapshot: ApprovalSnapshot
) -> Stored:
    """Read payload and evidence and hash them; what is missing has no hash."""
    data = _bytes(artifacts, snapshot.payload.ref)
    found = "missing" if data is None else canonical.payload_hash(data)
    validation, target = "not checked: the payload is not what was stored", None
    if data is not None and found == snapshot.payload.hash:
        validation, target = _judge(adapter, snapshot.tool, data, found)
    return Stored(
        payload_hash=found,
        validation_hash=validation,
        evidence=tuple(e for e in snapshot.evidence if _is_intact(artifacts, e)),
        target=target,
    )


def gather(
    tx: Transaction,
    session: Session,
    item: Item,
    snapshot: ApprovalSnapshot,
    stored: Stored,
    domain: Domain,
    standing: Standing,
) -> Facts:
    """Everything that the guard compares, as it is in this transaction."""
    policy = rules.in_force(tx)
    newest = tx.run(_NEWEST, {"item": item.id}).one()
    spent = tx.run(
        _SPENT, {"item": item.id, "version": item.version, "key": snapshot.key}
    ).first()
    bound = tx.run(_BOUND, {"scope": snapshot.scope, "key": snapshot.key}).first()
    intent = _present_intent(tx, session, item, snapshot, stored, domain, policy)
    return Facts(
        approved=len(standing.reviewers) >= item.required_verdicts,
        cancelled=item.state == State.CANCELLED or session.status == "cancelled",
        tool=item.action_type if item.action_type in domain.adapter.tools else "none",
        payload_ref=newest.ref,
        payload_version=newest.version,
        payload_hash=stored.payload_hash,
        validation_hash=stored.validation_hash,
        evidence=stored.evidence,
        intent=intent,
        canonicalisation=canonical.CANONICALISATION,
        # Tenant, tool and version have reasons of their own; what else names an
        # operation is taken from where it is now.
        scope=idempotency.scope(
            session.environment, snapshot.intent.tenant, snapshot.tool
        ),
        key=idempotency.operation_key(
            item.workflow, item.action, snapshot.payload.version
        ),
        principal_permitted=policy.principal_may(
            session.requested_by, intent.permission
        ),
        approvers_permitted=_may_all(tx, item, standing),
        expires_at=standing.expires_at,
        spent_by=spent.key if spent else None,
        key_digest=bound.digest if bound else None,
        key_expired=bool(bound and bound.buried),
        message_lost=item.state == State.RETRY_READY and not is_kept(tx, snapshot),
        frozen=tuple(
            freeze.told for freeze in freezes.over(tx, session.tenant, item.action_type)
        ),
        reserved_by=_holder(tx, session.tenant, item, intent.resource, domain),
    )


def is_kept(tx: Transaction, snapshot: ApprovalSnapshot) -> bool:
    """Whether the bytes that an operation sends lie in the outbox.

    They do not for a claim of a version before there was one, until it is made good.
    """
    names = {"scope": snapshot.scope, "key": snapshot.key}
    return tx.one(_KEPT, names) is not None


def _holder(
    tx: Transaction, tenant: str, item: Item, resource: str, domain: Domain
) -> str | None:
    """Who holds the resource, where the item's tool needs it alone.

    Not while it is being decided: people may say yes meanwhile.
    """
    tool = domain.adapter.tools.get(item.action_type)
    if tool is None or not tool.exclusive or item.state in OPEN:
        return None
    return reservations.holder(tx, tenant, resource)


def ask_guard(
    tx: Transaction,
    session: Session,
    item: Item,
    snapshot: ApprovalSnapshot,
    stored: Stored,
    domain: Domain,
    standing: Standing | None = None,
    *,
    message_changed: bool = False,
) -> GuardAnswer:
    """The guard's answer now; `standing` defaults to the verdicts on record.

    `message_changed` is what whoever is about to send has found of its message.
    """
    standing = standing or standing_of(tx, item)
    facts = gather(tx, session, item, snapshot, stored, domain, standing)
    facts = facts.model_copy(update={"message_changed": message_changed})
    return guard.check(snapshot, facts, tx.now)


def has_moved(
    tx: Transaction,
    session: Session,
    item: Item,
    snapshot: ApprovalSnapshot,
    stored: Stored,
    domain: Domain,
) -> bool:
    """Whether an approval given now would be void: what is asked is no longer so."""
    as_if = Standing(
        reviewers=(POLICY_REVIEWER,) * item.required_verdicts, expires_at=None
    )
    answer = ask_guard(tx, session, item, snapshot, stored, domain, as_if)
    return isinstance(answer, ReapprovalRequired)


def standing_of(tx: Transaction, item: Item) -> Standing:
    """The approvals of an item's present version that stand.

    Any other verdict voids those before it. While a quorum is still open, an approval
    whose term is over counts no more and can be given again.
    """
    approving: dict[str, datetime] = {}
    for row in tx.all(_VERDICTS, {"item": item.id, "version": item.version}):
        # What had ended when the next one spoke was never a part of the quorum.
        approving = {who: end for who, end in approving.items() if end > row.at}
        if row.verdict == "approved":
            approving[row.reviewer] = row.expires_at
        else:
            approving.clear()
    if item.state in OPEN:
        approving = {who: end for who, end in approving.items() if end > tx.now}
    return Standing(
        reviewers=tuple(sorted(approving)),
        expires_at=min(approving.values(), default=None),
    )


def _present_intent(
    tx: Transaction,
    session: Session,
    item: Item,
    snapshot: ApprovalSnapshot,
    stored: Stored,
    domain: Domain,
    policy: Policy,
) -> EffectiveIntent:
    tool = domain.adapter.tools.get(item.action_type)
    target = stored.target
    resource = snapshot.intent.resource if target is None else target.resource
    return EffectiveIntent(
        tenant=session.tenant,
        principal=session.requested_by,
        permission=tool.permission if tool else "none",
        action=item.action_type,
        resource=resource,
        resource_version=domain.store.resource_version(tx, session.tenant, resource),
        precondition=target.precondition if target else snapshot.intent.precondition,
        schema_version=tool.schema_version if tool else "none",
        policy_version=policy.gate_version,
    )


def _may_all(tx: Transaction, item: Item, standing: Standing) -> bool:
    return all(_may(tx, reviewer, item) for reviewer in standing.reviewers)


def _may(tx: Transaction, reviewer: str, item: Item) -> bool:
    if reviewer == POLICY_REVIEWER:
        return True
    who = people.find(tx, reviewer)
    return who is not None and access.may_decide(who, item.gate) is None


def _judge(
    adapter: Adapter, tool: str, data: bytes, payload_hash: str
) -> tuple[str, Target | None]:
    spec = adapter.tools.get(tool)
    if spec is None:
        return "not checked: the tool is not registered", None
    try:
        payload = spec.input_model.model_validate(canonical.read_json(data))
    except (ValueError, PlacetError):
        return "not checked: the payload no longer fits the tool's input", None
    validation = adapter.validate(tool, payload)
    return validation.hash(payload_hash), adapter.target(tool, payload)


def _bytes(artifacts: ArtifactStore, ref: str) -> bytes | None:
    try:
        return artifacts.read_unverified(ref)
    except NotFound:
        return None


def _is_intact(artifacts: ArtifactStore, evidence: EvidenceRef) -> bool:
    data = _bytes(artifacts, evidence.ref)
    return data is not None and canonical.digest("artifact", data) == evidence.digest
