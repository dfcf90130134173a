"""The tools that touch the world: how each is prepared, and who carries it out.

A domain registers one of these per tool with an effect; nothing is reached without
passing the gate.
"""

from collections.abc import Callable
from datetime import datetime, timedelta
from typing import NamedTuple, TypeAlias

from blocks import gate
from blocks.gate import Apply, Operation
from blocks.ledger.claims import Claim
from blocks.ledger.effects import Found, Outcome, Result
from blocks.ledger.outbox import Outgoing
from blocks.provider import Answer, AnswerKind, Finding, Message, Promise, Provider
from blocks.recovery import Point, reach
from policies import canonical
from policies.value import Json
from tasks.services import Services


class External(NamedTuple):
    """An effect at a provider. `prepare` makes its bytes, once, from the payload.

    `tool` is the Prefect task that is given claim and token.
    """

    tool: Callable[[Services, str, int], Result]
    prepare: Callable[[Services, dict[str, Json], str], Message]
    provider: Callable[[Services], Provider]


class Internal(NamedTuple):
    """An effect in tables of ours, in one transaction with its result."""

    tool: Callable[[Services, str, int], Result]


Effect: TypeAlias = External | Internal

_OUTCOMES: dict[AnswerKind, Outcome] = {
    "accepted": "executed",
    "refused": "failed",
    "unknown": "unknown",
}


def send(
    services: Services, claim: str, token: int, tool: str, provider: Provider
) -> Result:
    """Pass the gate with a claim and hand its promised bytes to the provider, once."""
    operation = gate.open_for(services.gate, claim, token, tool)
    answer = provider.send(operation)
    reach(Point.SENT)
    promise, now = provider.promise, services.clock()
    return _result(services, operation, answer, _open_until(promise, operation, now))


def apply(
    services: Services, claim: str, token: int, tool: str, change: Apply
) -> Result:
    """Pass the gate with a claim and change our own tables, in one transaction."""
    return gate.carry_out(services.gate, claim, token, tool, change)


def promise(
    services: Services, effect: Effect, payload: dict[str, Json], key: str
) -> Outgoing | None:
    """What goes into the outbox with a claim; nothing for an internal effect."""
    if isinstance(effect, Internal):
        return None
    message = effect.prepare(services, payload, key)
    kept = services.artifacts.put(message.body, "execution", message.media_type)
    return Outgoing(message=kept, envelope=message.envelope)


def is_final(promise: Promise, claim: Claim, now: datetime) -> bool:
    """Whether a provider that says "it did not happen" now will not say otherwise.

    One that knows keys for ever does nothing twice, however late a send arrives. With
    any other, the last send must be so old that it cannot arrive any more; and one that
    forgets keys must not have had the time to forget this one. It counts from when the
    outcome was lost: by then whoever sent had ended, or its lease had.
    """
    kept = promise.keeps_keys_seconds
    if kept is not None and _age(claim.claimed_at, now) >= kept:
        return False
    if promise.dedupes and kept is None:
        return True
    return is_settled(promise, claim, now)


def is_settled(promise: Promise, claim: Claim, now: datetime) -> bool:
    """Whether every send of which nothing is known is too old to arrive any more."""
    return claim.lost_at is None or _age(claim.lost_at, now) >= promise.settles_seconds


def _open_until(
    promise: Promise, operation: Operation, now: datetime
) -> datetime | None:
    """Until when a send before this one may still arrive; None: there is none such."""
    lost_at = operation.claim.lost_at
    if lost_at is None or is_settled(promise, operation.claim, now):
        return None
    return lost_at + timedelta(seconds=promise.settles_seconds)


def _age(since: datetime, now: datetime) -> float:
    return (now - since).total_seconds()


def found(services: Services, finding: Finding, settled: bool) -> Found:
    """A provider's finding as the ledger records it."""
    kept = services.artifacts.put(
        canonical.canonical_bytes(canonical.normalise(finding.model_dump(mode="json"))),
        "execution",
    )
    return Found(
        happened=finding.kind == "happened",
        detail=finding.detail,
        artifact=kept,
        provider_ref=finding.provider_ref,
        by={"method": "look-up", "actor": "provider"},
        settled=settled,
    )


def _result(
    services: Services,
    operation: Operation,
    answer: Answer,
    open_until: datetime | None,
) -> Result:
    """What an answer comes to: a no is none while an earlier send may still arrive."""
    if answer.kind != "refused":
        open_until = None
    body: dict[str, Json] = {
        "operation": operation.key,
        "message": operation.message,
        "answer": answer.model_dump(mode="json"),
    }
    kept = canonical.canonical_bytes(canonical.normalise(body))
    detail = answer.detail
    if open_until is not None:
        until = f"{open_until:%Y-%m-%d %H:%M:%S} UTC"
        detail = f"{detail} An earlier send may still arrive, until {until}."
    return Result(
        outcome="unknown" if open_until else _OUTCOMES[answer.kind],
        detail=detail,
        open_until=open_until,
        artifact=services.artifacts.put(kept, "execution"),
        provider_ref=answer.provider_ref,
    )
