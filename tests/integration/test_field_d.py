"""Nothing is approved by nobody: section D of the failures in the field."""

from collections.abc import Callable, Iterator
from typing import Any, NamedTuple

import pytest
from pydantic import ValidationError

from blocks.ledger import items, unattended, verdicts
from policies import lifecycle, risk
from policies.policy import GatePolicy, Policy, RiskPolicy, TermPolicy
from policies.tool import RiskTraits
from policies.value import Value
from tasks.work import Work
from tests import forging
from tests.reading import codes, names
from tests.smtp_server import RecordingServer
from tests.world import SEND, World

ON_SQLITE = pytest.mark.parametrize("dialect", ["sqlite"])


def in_the_queue(world: World) -> list[str]:
    with world.ledger.read() as tx:
        return [item.id for item in items.in_order(tx, None, None)]


def test_d5_what_nobody_decided_expires_and_is_never_approved(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked()
    world.clock.set(world.item(work).deadline)
    work, asking = world.next_form(work)
    assert asking is None
    work, _ = world.advance(work)
    assert (world.item(work).state, work.session.status) == ("expired", "expired")
    assert "deadline_passed" in str(world.told(work, "expired")[0]["reason"])
    assert (forging.rows(world.ledger, "verdicts"), mail.received) == ([], [])


def test_d5_a_deadline_that_passes_with_nobody_there_is_the_supervisor_s(
    world: World,
) -> None:
    work = world.asked()
    world.clock.move(world.services.settings.lease_seconds + 1)
    with world.ledger.read() as tx:
        assert not unattended.need(tx, work.session).owed
    world.clock.set(world.item(work).deadline)
    with world.ledger.read() as tx:
        (left,) = unattended.requests(tx, 10)
        assert unattended.need(tx, left).owed


class Rule(NamedTuple):
    """One rule of a policy: another value for it, and what it changes."""

    changed: Policy
    seen: Callable[[World, Policy], object]


def as_asked(world: World, policy: Policy) -> object:
    """What a request is like that is asked for under this policy."""
    world.set_policy(policy)
    work = world.asked(f"request-{policy.version}")
    item, version = world.item(work), world.version(work)
    waits = round((item.deadline - world.clock.now).total_seconds())
    gate = (item.role, item.required_verdicts, item.signed_in)
    return gate, waits, version.snapshot.term_seconds, item.rubric_version


def as_left_to_policy(world: World, policy: Policy) -> object:
    """Whether a request of low risk waits for a person under this policy."""
    world.set_policy(policy)
    work, _ = world.form(
        world.opened(f"request-{policy.version}", reply="acknowledgement")
    )
    return world.item(work).state


def as_executed(world: World, policy: Policy) -> object:
    """What becomes of what was approved before this policy."""
    world.set_policy(Policy())
    work = world.resumed(f"request-{policy.version}")
    world.set_policy(policy)
    return world.item(world.execute(work)).state


def as_judged(_: World, policy: Policy) -> object:
    """The risk of some actions under this policy, and of a model in doubt."""
    some: tuple[dict[str, Any], ...] = (
        {"irreversible": True},
        {"personal_data": True},
        {"exposure": "internal"},
        {"exposure": "external"},
        {"legal_effect": True},
        {"cost_minor": 50},
        {"legal_effect": True, "personal_data": True},
        {"legal_effect": True, "cost_minor": 100_000},
    )
    traits = [RiskTraits.model_validate(one) for one in some]
    sure = [risk.assess(one, None, policy.risk) for one in traits]
    return sure, risk.assess(traits[0], 0.4, policy.risk)


def gate(**changes: Any) -> Policy:
    made = GatePolicy.model_validate({"role": "reviewer", **changes})
    return Policy(gates={**Policy().gates, "medium": made})


def term(**changes: Any) -> Policy:
    made = Policy().terms["medium"].model_copy(update=changes)
    return Policy(terms={**Policy().terms, "medium": made})


def weighed(**changes: Any) -> Rule:
    return Rule(Policy(risk=RiskPolicy.model_validate(changes)), as_judged)


BY_A_PERSON = Policy(gates={**Policy().gates, "low": GatePolicy(role="reviewer")})
RULES = {
    "risk.irreversible": weighed(irreversible=7),
    "risk.personal_data": weighed(personal_data=7),
    "risk.internal_exposure": weighed(internal_exposure=1),
    "risk.external_exposure": weighed(external_exposure=7),
    "risk.legal_effect": weighed(legal_effect=9),
    "risk.costs": weighed(costs=((1, 9),)),
    "risk.medium_from": weighed(medium_from=5),
    "risk.high_from": weighed(high_from=6),
    "risk.critical_from": weighed(critical_from=13),
    "risk.confidence_floor": weighed(confidence_floor=0.3),
    "gates.role": Rule(gate(role="owner"), as_asked),
    "gates.verdicts": Rule(gate(verdicts=2), as_asked),
    "gates.signed_in": Rule(gate(signed_in=True), as_asked),
    "gates.automatic": Rule(BY_A_PERSON, as_left_to_policy),
    "terms.decide_within_seconds": Rule(term(decide_within_seconds=60), as_asked),
    "terms.approval_term_seconds": Rule(term(approval_term_seconds=60), as_asked),
    "rubric_version": Rule(Policy(rubric_version="2"), as_asked),
    "denied": Rule(Policy(denied={"agent": (SEND,)}), as_executed),
}
PARTS: dict[str, type[Value]] = {
    "risk": RiskPolicy,
    "gates": GatePolicy,
    "terms": TermPolicy,
}


def every_rule() -> Iterator[str]:
    for name in Policy.model_fields:
        if name in PARTS:
            yield from (f"{name}.{field}" for field in PARTS[name].model_fields)
        else:
            yield name


def test_d7_no_rule_of_a_policy_is_without_its_test() -> None:
    assert set(RULES) == set(every_rule())


@ON_SQLITE
@pytest.mark.parametrize("name", RULES)
def test_d7_each_rule_changes_what_happens(world: World, name: str) -> None:
    rule = RULES[name]
    assert rule.seen(world, rule.changed) != rule.seen(world, Policy())


@pytest.mark.parametrize("part", [Policy, *PARTS.values()])
def test_d7_a_rule_that_nothing_reads_is_refused(part: type[Value]) -> None:
    with pytest.raises(ValidationError, match="escalate_to"):
        part.model_validate({"escalate_to": "owner"})


def test_d8_what_has_expired_has_no_form_and_is_not_in_the_queue(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked(recipients=["c-1", "c-2"])
    first, second = world.items(work)
    soon = "UPDATE items SET deadline = created_at WHERE id = :id"
    forging.run(world.ledger, soon, id=first.id)
    _, asking = world.next_form(work)
    assert asking is not None
    assert [item.item for item in asking.form.items] == [second.id]
    assert in_the_queue(world) == [second.id]
    late = world.hand_in(work, world.says(work, "approve", first))
    assert codes(late) == ["item_expired"]
    assert mail.received == []


def ended(world: World, request_id: str, word: str) -> Work:
    """A request that was rejected, or that nobody has decided in time."""
    work = world.asked(request_id)
    if word == "rejected":
        world.hand_in(work, world.says(work, "reject"))
    else:
        world.clock.set(world.item(work).deadline)
    return world.advance(world.resume(work))[0]


def test_d10_an_expiry_is_no_rejection(world: World, mail: RecordingServer) -> None:
    for word, other in (("rejected", "expired"), ("expired", "rejected")):
        work = ended(world, word, word)
        item = world.item(work)
        assert (item.state, work.session.status) == (word, word)
        assert lifecycle.decision_state(item.state) == word
        told = names(world.trail(work))
        assert (told.count(word), told.count(other)) == (1, 0)
        with world.ledger.read() as tx:
            assert len(verdicts.of_item(tx, item.id)) == (word == "rejected")
    assert mail.received == []
