"""Plain values of what is approved, shown and decided, for tests to change."""

from datetime import UTC, datetime
from typing import Any

from hypothesis import HealthCheck, settings
from hypothesis import strategies as st

from policies.canonical import payload_hash
from policies.guard import Facts
from policies.intent import EffectiveIntent, PayloadRef
from policies.plan import PacketEvidence, PacketField, PacketItem, ReviewPacket
from policies.snapshot import ApprovalSnapshot, EvidenceRef, take_snapshot
from policies.state import RequestState, View

# Shared machines make examples slow at times; what is tested is not speed.
unhurried = settings(deadline=None, suppress_health_check=[HealthCheck.too_slow])
NOW = datetime(2026, 3, 1, 12, tzinfo=UTC)
EVIDENCE = (
    EvidenceRef(ref="evidence/1", version=3, digest="sha256:" + "e" * 64),
    EvidenceRef(ref="evidence/2", version=1, digest="sha256:" + "f" * 64),
)
PAYLOAD = PayloadRef(ref="payload/1", version=2, hash=payload_hash(b'{"to":"ada"}'))
INTENT = EffectiveIntent(
    tenant="main",
    principal="agent",
    permission="mail.send",
    action="mail.send",
    resource="customer:c1/email",
    resource_version=4,
    precondition="the address is ada@example.com",
    schema_version="1",
    policy_version="sha256:" + "7" * 64,
)


def snapshot(**changes: Any) -> ApprovalSnapshot:
    """A snapshot, taken as the product takes it."""
    parts: dict[str, Any] = {
        "tool": "mail.send",
        "payload": PAYLOAD,
        "validation_hash": "sha256:" + "a" * 64,
        "intent": INTENT,
        "evidence": EVIDENCE,
        "scope": '["dev","main","mail.send"]',
        "key": "op-1",
        "term_seconds": 3600,
    }
    return take_snapshot(**parts | changes)


def facts(of: ApprovalSnapshot, **changes: Any) -> Facts:
    """A present in which everything is as it was approved, but for `changes`."""
    return Facts(
        **{
            "approved": True,
            "cancelled": False,
            "tool": of.tool,
            "payload_ref": of.payload.ref,
            "payload_version": of.payload.version,
            "payload_hash": of.payload.hash,
            "validation_hash": of.validation_hash,
            "evidence": of.evidence,
            "intent": of.intent,
            "canonicalisation": of.canonicalisation,
            "scope": of.scope,
            "key": of.key,
            "principal_permitted": True,
            "approvers_permitted": True,
            "expires_at": datetime(2026, 3, 1, 13, tzinfo=UTC),
            **changes,
        }
    )


def field(name: str, value: Any, **changes: Any) -> PacketField:
    """A field as a reviewer sees it: editable, on one line."""
    plain = {"editable": True, "multiline": False}
    return PacketField(name=name, value=value, **plain | changes)


def packet_item(**changes: Any) -> PacketItem:
    """An item as it is shown, with a subject and a body."""
    taken = snapshot()
    parts: dict[str, Any] = {
        "item": "it-0123456789ab",
        "action": "a1",
        "title": "Send a reply",
        "tool": taken.tool,
        "rationale": "Answers ticket t1.",
        "payload": taken.payload,
        "snapshot": taken.digest,
        "intent": taken.intent,
        "intent_digest": taken.intent_digest,
        "evidence": (
            PacketEvidence(name="Ticket", evidence=EVIDENCE[0], text="subject: Hi"),
        ),
        "risk_level": "medium",
        "risk_reasons": ("its exposure is external",),
        "reversible": "no",
        "fields": (field("subject", "Hello"), field("body", "Dear", multiline=True)),
        "diff": None,
        "deadline": NOW,
        "term_seconds": 3600,
    }
    return PacketItem(**parts | changes)


def packet(*items: PacketItem, **changes: Any) -> ReviewPacket:
    """A packet of these items."""
    parts = {
        "workflow": "wf-1",
        "summary": "Ticket t1",
        "requested_by": "agent",
        "tenant": "main",
    }
    return ReviewPacket(items=items, **parts | changes)


def view(state: RequestState | None = None, **changes: Any) -> View:
    """What a decision may look at."""
    parts = {"workflow": "wf-1", "tenant": "main", "requested_by": "agent"}
    return View(state=state or RequestState(), **parts | changes)


# Whole characters only: half a surrogate pair is refused wherever text comes in.
texts = st.text(st.characters(exclude_categories=["Cs"]), max_size=20)
json_values: st.SearchStrategy[Any] = st.recursive(
    st.none()
    | st.booleans()
    | st.integers(-(2**53) + 1, 2**53 - 1)
    | st.floats(allow_nan=False, allow_infinity=False)
    | texts,
    lambda inner: (
        st.lists(inner, max_size=3) | st.dictionaries(texts, inner, max_size=3)
    ),
    max_leaves=6,
)
json_objects = st.dictionaries(texts, json_values, max_size=4)
