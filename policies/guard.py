"""The last question before an effect: is this still what was approved?

The rules are the table of reasons in the order in which they are told. `check` always
walks all of them: whoever is refused learns every reason at once.
"""

from collections.abc import Callable, Sequence
from datetime import datetime
from typing import Literal, NamedTuple, TypeAlias, assert_never

from policies.intent import EffectiveIntent, intent_digest
from policies.lifecycle import State
from policies.snapshot import ApprovalSnapshot, EvidenceRef
from policies.value import Value

ReasonCode: TypeAlias = Literal[
    "not_approved",
    "approval_spent",
    "key_conflict",
    "key_expired",
    "cancelled",
    "permission_missing",
    "tool_mismatch",
    "tenant_mismatch",
    "payload_ref_mismatch",
    "payload_hash_mismatch",
    "payload_version_mismatch",
    "validation_changed",
    "evidence_changed",
    "intent_mismatch",
    "resource_version_changed",
    "schema_version_changed",
    "policy_version_changed",
    "approval_expired",
    "approver_not_permitted",
    "message_lost",
    "message_changed",
    "frozen",
    "resource_reserved",
]
Consequence: TypeAlias = Literal["blocked", "stays", "expired", "frozen", "reapproval"]


class Facts(Value):
    """The present, read again: what the snapshot is compared with.

    Hashes and digests are of bytes that were read just now, never copies of the
    snapshot's own. `evidence` leaves out what could not be read.
    """

    approved: bool
    cancelled: bool
    tool: str
    payload_ref: str
    payload_version: int
    payload_hash: str
    validation_hash: str
    evidence: tuple[EvidenceRef, ...]
    intent: EffectiveIntent
    canonicalisation: str
    scope: str
    key: str
    principal_permitted: bool
    approvers_permitted: bool
    expires_at: datetime | None
    spent_by: str | None = None
    """The operation key of the claim that has used this approval, if any."""
    key_digest: str | None = None
    """The intent digest that the key is bound to already, if any."""
    key_expired: bool = False
    message_lost: bool = False
    """It is to be tried again, and the bytes that were sent are not kept."""
    message_changed: bool = False
    """What lies ready to be sent is not what the claim's event tells."""
    frozen: tuple[str, ...] = ()
    """The freezes that stand over the tool: what, since when, by whom and why."""
    reserved_by: str | None = None
    """The operation key that holds the resource, where the tool needs it alone."""


class Reason(Value):
    """One way in which the present differs from what was approved."""

    code: ReasonCode
    detail: str


class Executable(Value):
    """Nothing differs: the effect may happen."""

    kind: Literal["executable"] = "executable"


class ReapprovalRequired(Value):
    """The approval no longer covers the action; `to` is where the item goes."""

    kind: Literal["reapproval_required"] = "reapproval_required"
    reasons: tuple[Reason, ...]
    to: State


class Blocked(Value):
    """The action must not happen; `to` is None where the item stays as it is."""

    kind: Literal["blocked"] = "blocked"
    reasons: tuple[Reason, ...]
    to: State | None


GuardAnswer: TypeAlias = Executable | ReapprovalRequired | Blocked
Check: TypeAlias = Callable[[ApprovalSnapshot, Facts, datetime], str | None]


class Rule(NamedTuple):
    """A reason, what follows from it, and the check that finds it."""

    code: ReasonCode
    then: Consequence
    check: Check


def _differs(what: str, approved: object, present: object) -> str | None:
    if approved == present:
        return None
    return f"{what} was {approved} when approved and is {present} now"


def _not_approved(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return None if f.approved else "no standing approval covers this version"


def _approval_spent(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.spent_by in (None, s.key):
        return None
    return f"the approval was used by operation {f.spent_by}"


def _key_conflict(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.key_digest in (None, s.intent_digest):
        return None
    return f"key {s.key} is bound to another intent, {f.key_digest}"


def _key_expired(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return f"key {s.key} is past its retention" if f.key_expired else None


def _cancelled(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return "the item was cancelled" if f.cancelled else None


def _permission_missing(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.principal_permitted:
        return None
    return f"{s.intent.principal} may no longer do {s.intent.permission}"


def _tool(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the tool", s.tool, f.tool)


def _tenant(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the tenant", s.intent.tenant, f.intent.tenant)


def _payload_ref(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the payload's ref", s.payload.ref, f.payload_ref)


def _payload_hash(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the hash of the stored payload", s.payload.hash, f.payload_hash)


def _payload_version(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the payload version", s.payload.version, f.payload_version)


def _validation(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs("the validation's hash", s.validation_hash, f.validation_hash)


def _evidence(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if s.evidence == f.evidence:
        return None
    present = set(f.evidence)
    changed = [e.ref for e in s.evidence if e not in present] or ["its order or number"]
    return "evidence is not what was seen: " + ", ".join(changed)


# What names the operation is derived again as well, never copied.
_OPERATION = ("canonicalisation", "scope", "key")
_OWN_REASON = {"tenant", "resource_version", "schema_version", "policy_version"}


def _intent(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if intent_digest(s.payload, s.intent) != s.intent_digest:
        return "the snapshot's intent does not have the digest that was approved"
    names = [
        name
        for name in EffectiveIntent.model_fields
        if name not in _OWN_REASON
        and getattr(s.intent, name) != getattr(f.intent, name)
    ]
    names += [name for name in _OPERATION if getattr(s, name) != getattr(f, name)]
    return "the intent differs in " + ", ".join(names) if names else None


def _resource_version(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs(
        f"the version of {s.intent.resource}",
        s.intent.resource_version,
        f.intent.resource_version,
    )


def _schema_version(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs(
        "the schema version", s.intent.schema_version, f.intent.schema_version
    )


def _policy_version(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return _differs(
        "the policy version", s.intent.policy_version, f.intent.policy_version
    )


def _approval_expired(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.expires_at is None or now < f.expires_at:
        return None
    return f"the approval ended at {f.expires_at.isoformat()}"


def _approvers(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.approvers_permitted:
        return None
    return "who approved has lost the right to approve since"


def _message_lost(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if not f.message_lost:
        return None
    return f"what was sent under {s.key} is not kept, and no other bytes may go out"


def _message_changed(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if not f.message_changed:
        return None
    return f"what lies ready under {s.key} is not what was promised with its claim"


def _frozen(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    return "; ".join(f.frozen) or None


def _reserved(s: ApprovalSnapshot, f: Facts, now: datetime) -> str | None:
    if f.reserved_by in (None, s.key):
        return None
    return f"{s.intent.resource} is held by operation {f.reserved_by}"


RULES: tuple[Rule, ...] = (
    Rule("not_approved", "stays", _not_approved),
    Rule("approval_spent", "stays", _approval_spent),
    Rule("key_conflict", "stays", _key_conflict),
    Rule("key_expired", "stays", _key_expired),
    Rule("cancelled", "stays", _cancelled),
    Rule("permission_missing", "blocked", _permission_missing),
    Rule("tool_mismatch", "blocked", _tool),
    Rule("tenant_mismatch", "blocked", _tenant),
    Rule("payload_ref_mismatch", "blocked", _payload_ref),
    Rule("payload_hash_mismatch", "blocked", _payload_hash),
    Rule("payload_version_mismatch", "reapproval", _payload_version),
    Rule("validation_changed", "reapproval", _validation),
    Rule("evidence_changed", "reapproval", _evidence),
    Rule("intent_mismatch", "reapproval", _intent),
    Rule("resource_version_changed", "reapproval", _resource_version),
    Rule("schema_version_changed", "reapproval", _schema_version),
    Rule("policy_version_changed", "reapproval", _policy_version),
    Rule("approval_expired", "expired", _approval_expired),
    Rule("approver_not_permitted", "reapproval", _approvers),
    Rule("message_lost", "reapproval", _message_lost),
    Rule("message_changed", "blocked", _message_changed),
    Rule("frozen", "frozen", _frozen),
    Rule("resource_reserved", "frozen", _reserved),
)

_RESERVED: ReasonCode = "resource_reserved"
_THEN: dict[ReasonCode, Consequence] = {rule.code: rule.then for rule in RULES}
# The gravest consequence decides: a freeze must not keep an expired approval alive,
# and nothing that was tampered with may be offered for approval again.
_GRAVITY: tuple[Consequence, ...] = (
    "blocked",
    "stays",
    "expired",
    "frozen",
    "reapproval",
)


def check(snapshot: ApprovalSnapshot, facts: Facts, now: datetime) -> GuardAnswer:
    """Compare what was approved with what is; tell all differences and what follows."""
    found = tuple(
        Reason(code=rule.code, detail=detail)
        for rule in RULES
        if (detail := rule.check(snapshot, facts, now)) is not None
    )
    return Executable() if not found else _answer(found)


def reserved(resource: str) -> Blocked:
    """The answer to whoever came second for a resource, an instant after its look."""
    detail = f"{resource} is held by another operation"
    return Blocked(reasons=(Reason(code=_RESERVED, detail=detail),), to=None)


def gravest(reasons: Sequence[Reason]) -> Reason:
    """The reason that decides what follows; of equal ones the first."""
    return min(reasons, key=lambda reason: _GRAVITY.index(_THEN[reason.code]))


def _answer(reasons: tuple[Reason, ...]) -> ReapprovalRequired | Blocked:
    then = _THEN[gravest(reasons).code]
    match then:
        case "blocked":
            return Blocked(reasons=reasons, to=State.BLOCKED)
        case "stays" | "frozen":
            return Blocked(reasons=reasons, to=None)
        case "expired":
            return ReapprovalRequired(reasons=reasons, to=State.EXPIRED)
        case "reapproval":
            return ReapprovalRequired(reasons=reasons, to=State.REAPPROVAL_REQUIRED)
        case _:
            assert_never(then)
