"""What executing a payload would mean: for whom, on what, under which rules."""

from policies import canonical
from policies.value import Json, Value


class PayloadRef(Value):
    """One immutable payload: where its bytes lie, its version and its hash."""

    ref: str
    version: int
    hash: str


class EffectiveIntent(Value):
    """The meaning of executing a payload, beside its bytes.

    `resource_version` is None where the resource must not exist yet; that absence is
    asserted like any version.
    """

    tenant: str
    principal: str
    permission: str
    action: str
    resource: str
    resource_version: int | None
    precondition: str
    schema_version: str
    policy_version: str


def intent_digest(payload: PayloadRef, intent: EffectiveIntent) -> str:
    """A digest over payload ref, version and hash and every field of the intent."""
    body: Json = {"payload": payload.model_dump(), "intent": intent.model_dump()}
    return canonical.digest("intent", canonical.canonical_bytes(body))
