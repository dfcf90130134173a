"""What a verdict is bound to."""

from functools import cached_property

from policies import canonical
from policies.intent import EffectiveIntent, PayloadRef, intent_digest
from policies.value import Value


class EvidenceRef(Value):
    """One piece of evidence as it was seen: ref, version and digest of its bytes."""

    ref: str
    version: int
    digest: str


class ApprovalSnapshot(Value):
    """Everything that must still be so when the approved action is executed.

    `term_seconds` is how long a verdict on it lasts; the verdict fixes `expires_at`.
    """

    canonicalisation: str
    tool: str
    payload: PayloadRef
    validation_hash: str
    intent: EffectiveIntent
    intent_digest: str
    evidence: tuple[EvidenceRef, ...]
    scope: str
    key: str
    term_seconds: int

    @cached_property
    def digest(self) -> str:
        """The digest that is shown with the item and comes back with the verdict."""
        body = canonical.canonical_bytes(self.model_dump(mode="json"))
        return canonical.digest("snapshot", body)


def take_snapshot(
    *,
    tool: str,
    payload: PayloadRef,
    validation_hash: str,
    intent: EffectiveIntent,
    evidence: tuple[EvidenceRef, ...],
    scope: str,
    key: str,
    term_seconds: int,
) -> ApprovalSnapshot:
    """Bind payload, validation, intent, evidence and key as they are now."""
    return ApprovalSnapshot(
        canonicalisation=canonical.CANONICALISATION,
        tool=tool,
        payload=payload,
        validation_hash=validation_hash,
        intent=intent,
        intent_digest=intent_digest(payload, intent),
        evidence=evidence,
        scope=scope,
        key=key,
        term_seconds=term_seconds,
    )
