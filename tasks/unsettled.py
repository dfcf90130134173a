"""Outcomes that are not known: whether the provider will tell, or a person must.

What a person is told of one is here, for every way in and for the supervisor.
"""

from datetime import datetime
from typing import Literal

from blocks.ledger import unsettled
from blocks.ledger.unsettled import Unsettled
from policies.errors import PlacetError
from policies.value import Value
from tasks.effects import External
from tasks.opening import tools_of
from tasks.services import Services


class Outcome(Value):
    """An effect whose outcome is not known, and who can settle it.

    `settled_by` is `person` where its provider cannot tell, or cannot be believed any
    more. `asked_again_at` is when a provider is asked that can. `only_one` says whether
    its request names it by itself.
    """

    workflow_id: str
    item: str
    action: str
    action_type: str
    tenant: str
    version: int
    operation: str
    provider_ref: str
    recipient: str | None
    since: datetime
    detail: str
    settled_by: Literal["person", "provider"]
    asked_again_at: datetime | None
    only_one: bool


def everywhere(services: Services) -> tuple[Outcome, ...]:
    """Every outcome that is not known, the oldest first."""
    with services.ledger.read() as tx:
        found = unsettled.everywhere(tx)
    return _with_who_settles(services, found)


def of_workflow(services: Services, workflow: str) -> tuple[Outcome, ...]:
    """A request's outcomes that are not known, the oldest first."""
    with services.ledger.read() as tx:
        found = unsettled.of_workflow(tx, workflow)
    return _with_who_settles(services, found)


def for_people(services: Services) -> tuple[Outcome, ...]:
    """Those that wait for a person."""
    return tuple(o for o in everywhere(services) if o.settled_by == "person")


def commands(outcome: Outcome) -> tuple[str, str]:
    """What records that it happened, and what records that it did not."""
    item = "" if outcome.only_one else f" --item {outcome.item}"
    how = f"--as YOU --reason WHY{item}"
    return (
        f"placet resolve {outcome.workflow_id} happened {how}",
        f"placet resolve {outcome.workflow_id} not-happened {how}",
    )


def what_to_do(outcome: Outcome) -> str:
    """What a person does about it, on one line."""
    happened, _ = commands(outcome)
    return f"find out whether it did, and record that: {happened} (or not-happened)"


def asked_again(outcome: Outcome) -> str:
    """That its provider will be asked, and when next."""
    due = outcome.asked_again_at
    when = "" if due is None else f", at {due:%Y-%m-%d %H:%M:%S} UTC or soon after"
    return f"the supervisor asks its provider again{when}"


def in_words(outcome: Outcome) -> str:
    """What is not known, on one line, for whoever finds it there."""
    to = f" to {outcome.recipient}" if outcome.recipient else ""
    since = f"{outcome.since:%Y-%m-%d %H:%M} UTC"
    return (
        f"whether {outcome.action_type} {outcome.provider_ref}{to} happened is not "
        f"known since {since}"
    )


def _with_who_settles(
    services: Services, found: tuple[Unsettled, ...]
) -> tuple[Outcome, ...]:
    return tuple(_outcome(services, one, found) for one in found)


def _outcome(
    services: Services, one: Unsettled, found: tuple[Unsettled, ...]
) -> Outcome:
    tells = _tells(services, one)
    return Outcome(
        workflow_id=one.workflow,
        item=one.item,
        action=one.action,
        action_type=one.action_type,
        tenant=one.tenant,
        version=one.version,
        operation=one.operation,
        provider_ref=one.provider_ref,
        recipient=one.recipient,
        since=one.since,
        detail=one.detail,
        settled_by="provider" if tells else "person",
        asked_again_at=one.due_at if tells else None,
        only_one=sum(other.workflow == one.workflow for other in found) == 1,
    )


def _tells(services: Services, one: Unsettled) -> bool:
    """Whether its provider will tell: it looks up, and has not forgotten the key."""
    try:
        effect = tools_of(services, one.domain).EFFECTS[one.action_type]
        assert isinstance(effect, External)
        promise = effect.provider(services).promise
    except (PlacetError, KeyError):
        # Its domain or its provider's settings are gone: nobody will be asked.
        return False
    kept = promise.keeps_keys_seconds
    age = (services.clock() - one.claimed_at).total_seconds()
    return promise.looks_up and (kept is None or age < kept)
