"""Which unknown outcomes wait for a person, and which for their provider."""

from policies import canonical
from tasks import unsettled
from tests.bank.world import BankWorld
from tests.integration.test_reconcile import lost
from tests.provider_proxy import ProviderProxy
from tests.unattended import ended_as_unknown, whole_turn
from tests.world import World


def test_what_its_provider_will_tell_waits_for_no_person(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5: the supervisor asks; a person sees it in the status."""
    work = lost(bank, proxy, "drop_after")
    (outcome,) = unsettled.of_workflow(bank.services, work.workflow)
    assert (outcome.settled_by, outcome.recipient) == ("provider", None)
    assert outcome.asked_again_at is not None
    assert unsettled.for_people(bank.services) == ()


def test_what_its_provider_may_have_forgotten_waits_for_a_person(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5, S9"""
    bank.promises(keeps_keys_seconds=3600, settles_seconds=60)
    lost(bank, proxy, "drop_after")
    bank.clock.move(3599)
    assert unsettled.for_people(bank.services) == ()
    bank.clock.move(2)
    (outcome,) = unsettled.for_people(bank.services)
    assert (outcome.settled_by, outcome.asked_again_at) == ("person", None)


def test_where_nobody_can_be_asked_any_more_a_person_is(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5: the provider's settings are gone."""
    lost(bank, proxy, "drop_after")
    bank.services.settings.http.clear()
    assert [o.settled_by for o in unsettled.for_people(bank.services)] == ["person"]


def test_every_turn_tells_once_what_only_a_person_can_settle(world: World) -> None:
    """X5, W5: to do, neither done nor failed; found at its server by its Message-ID."""
    work = ended_as_unknown(world)
    key = world.version(work).snapshot.key
    turns = [whole_turn(world) for _ in range(3)]
    assert [(t.done, t.failed) for t in turns] == [((), ())] * 3
    told = {canonical.canonicalise(row) for t in turns for row in t.reported}
    assert (len(told), [len(t.reported) for t in turns]) == (1, [1, 1, 1])
    assert f"<{key}@placet.test> to grace@example.com" in turns[0].reported[0].what
    assert f"placet resolve {work.workflow} happened" in turns[0].reported[0].what


def test_asking_in_vain_leaves_the_trail_as_it_is(world: World) -> None:
    """R1: a request that is over does not get longer with each turn."""
    work = ended_as_unknown(world)
    before = world.trail(work)
    for _ in range(3):
        whole_turn(world)
    assert world.trail(work)[len(before) :] == ()
