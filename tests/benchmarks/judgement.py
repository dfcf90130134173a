"""What judging costs: the canonical hash of a payload, and intent and guard per action.

Printed in microseconds per call, and as a ratio to a named bound: the bound for the
hash is 150 µs for 2 kB, for intent and guard 150 µs. `rfc8785` alone stands beside.
"""

import timeit
from collections.abc import Callable
from datetime import UTC, datetime, timedelta

import rfc8785
from pydantic import BaseModel

from policies import canonical, guard, idempotency, snapshot
from policies.guard import Executable, Facts
from policies.intent import EffectiveIntent, PayloadRef, intent_digest

BOUND = 150.0
NOW = datetime(2026, 1, 1, tzinfo=UTC)


class Payload(BaseModel):
    """About 2 kB of what a tool is given."""

    recipient: str
    subject: str
    amounts: list[int]
    lines: dict[str, str]


PAYLOAD = Payload(
    recipient="ada@customer.example",
    subject="Your order",
    amounts=list(range(40)),
    lines={
        f"line_{n}": f"Text of line {n}, as a person would write it" for n in range(30)
    },
)


def microseconds(work: Callable[[], object], number: int = 2000) -> float:
    """The best of five rounds, per call."""
    return min(timeit.repeat(work, number=number, repeat=5)) / number * 1e6


def hash_payload() -> str:
    """From a validated model to its payload hash."""
    return canonical.payload_hash(canonical.canonicalise(PAYLOAD))


def an_intent() -> EffectiveIntent:
    """An effective intent like those that are gated."""
    return EffectiveIntent(
        tenant="main",
        principal="agent",
        permission="support_email.send",
        action="support_email.send_reply",
        resource="customer:C1/email",
        resource_version=1,
        precondition="the address is ada@customer.example",
        schema_version="1",
        policy_version="sha256:" + "0" * 64,
    )


INTENT = an_intent()
REF = PayloadRef(ref="payload/x", version=1, hash=hash_payload())
SNAPSHOT = snapshot.take_snapshot(
    tool="support_email.send_reply",
    payload=REF,
    validation_hash="v",
    intent=INTENT,
    evidence=(),
    scope=idempotency.scope("dev", "main", "support_email.send_reply"),
    key=idempotency.operation_key("wf", "a1", 1),
    term_seconds=60,
)


def judge() -> None:
    """What one look at one action costs: present facts, their intent, and the guard."""
    intent = an_intent()
    intent_digest(REF, intent)
    facts = Facts(
        approved=True,
        cancelled=False,
        tool=SNAPSHOT.tool,
        payload_ref=REF.ref,
        payload_version=1,
        payload_hash=REF.hash,
        validation_hash="v",
        evidence=(),
        intent=intent,
        canonicalisation=canonical.CANONICALISATION,
        scope=idempotency.scope("dev", "main", SNAPSHOT.tool),
        key=idempotency.operation_key("wf", "a1", 1),
        principal_permitted=True,
        approvers_permitted=True,
        expires_at=NOW + timedelta(hours=1),
    )
    assert isinstance(guard.check(SNAPSHOT, facts, NOW), Executable)


def main() -> None:
    """Print the figures."""
    plain = PAYLOAD.model_dump(mode="json")
    size = len(canonical.canonical_bytes(plain))
    assert canonical.canonical_bytes(plain) == rfc8785.dumps(plain)
    rows = (
        (f"canonical hash of {size} bytes", microseconds(hash_payload)),
        ("intent and guard per action", microseconds(judge)),
    )
    for name, cost in rows:
        print(f"{name:32} {cost:7.1f} µs   ratio to {BOUND:.0f} µs: {cost / BOUND:.2f}")
    alone = microseconds(lambda: rfc8785.dumps(plain), 500)
    print(f"{'rfc8785 alone, for comparison':32} {alone:7.1f} µs")


if __name__ == "__main__":
    main()
