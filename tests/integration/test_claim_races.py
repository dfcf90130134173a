"""Many who reach for one effect at the same time: one gets it."""

from concurrent.futures import ThreadPoolExecutor

import pytest

from blocks.ledger import claims, sessions, versions
from blocks.ledger.claims import Claim
from blocks.ledger.facts import Stored, read_stored
from blocks.ledger.items import Item
from policies.errors import Superseded
from tasks.support_email import tools
from tasks.work import Work
from tests import forging
from tests.racer import Got, Installation, race, reach
from tests.reading import names
from tests.smtp_server import RecordingServer
from tests.together import RACES, together, until_blocked
from tests.world import World

SEND = "support_email.send_reply"
THREADS, PROCESSES = 64, 8


def claim_of(world: World, work: Work) -> Claim:
    return reach(world.ledger, world.services.artifacts, work.workflow, "thread")


def test_of_64_threads_on_one_key_one_claims_and_all_get_the_same(
    world: World,
) -> None:
    """X1"""
    for number in range(RACES):
        work = world.resumed(f"request-{number}")
        got = together(THREADS, lambda _, w=work: claim_of(world, w))  # type: ignore[misc]
        assert {str(claim) for claim in got} == {str(claim_of(world, work))}
        assert names(world.trail(work)).count("execution_claimed") == 1
    assert len(forging.rows(world.ledger, "execution_claims")) == RACES


def test_of_64_threads_with_one_claim_one_sends(
    world: World, mail: RecordingServer
) -> None:
    """X1"""
    work = world.resumed()

    def send(_: int) -> bool:
        claim = claim_of(world, work)
        try:
            tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
        except Superseded:
            return False
        return True

    assert sorted(map(str, together(THREADS, send))) == ["False"] * 63 + ["True"]
    assert len(mail.received) == 1


def test_of_8_processes_on_one_key_one_claims_and_one_passes_the_gate(
    world: World,
) -> None:
    """X1"""
    works = [world.resumed(f"request-{number}") for number in range(RACES)]
    place = Installation(
        world.services.settings.database_url,
        world.services.settings.artifacts,
        world.clock.now,
    )
    ended = race(place, [work.workflow for work in works], PROCESSES)
    assert [told for told in ended if isinstance(told, str)] == []
    for work, *got in zip(works, *ended, strict=True):
        assert all(isinstance(one, Got) for one in got)
        assert len({(one.claim, one.token) for one in got}) == 1
        assert sum(one.passed for one in got) == 1
        assert names(world.trail(work)).count("dispatched") == 1


def test_of_those_who_take_over_at_once_one_holds_the_claim(world: World) -> None:
    """X2"""

    def take_over(_: int) -> Claim:
        with world.ledger.write() as tx:
            return claims.take_over(tx, claim, "thread", 60)

    for number in range(RACES):
        work, claim = world.claimed(f"request-{number}")
        world.clock.move(61)
        got = together(8, take_over)
        taken = [one for one in got if isinstance(one, Claim)]
        assert [one.token for one in taken] == [2]
        assert sum(isinstance(one, Superseded) for one in got) == 7
        assert names(world.trail(work)).count("claim_taken_over") == 1


def test_a_take_over_and_a_send_at_once_leave_one_of_them(
    world: World, mail: RecordingServer
) -> None:
    """X2"""

    def act(index: int) -> object:
        if index:
            return tools.EFFECTS[SEND].tool(world.services, claim.id, claim.token)
        with world.ledger.write() as tx:
            return claims.take_over(tx, claim, "thread", 60)

    for number in range(RACES):
        before = len(mail.received)
        _, claim = world.claimed(f"request-{number}")
        world.clock.move(61)
        taken, sent = together(2, act)
        assert isinstance(taken, Superseded) != isinstance(sent, Superseded)
        assert len(mail.received) - before == isinstance(taken, Superseded)


@pytest.fixture
def rivals(world: World) -> tuple[Item, Item]:
    """Two approved items, the second one forged to bear the first one's key."""
    world.add_ticket("t-2", message="Where is parcel 100999?")
    first = world.resumed("request-1")
    second = world.resumed("request-2", ticket_id="t-2")
    one, other = world.version(first).snapshot, world.version(second).snapshot
    forging.forge(
        world.ledger,
        "payload_versions",
        "UPDATE payload_versions SET snapshot = replace(snapshot, :theirs, :ours)",
        theirs=other.key,
        ours=one.key,
    )
    return world.item(first), world.item(second)


def stored_of(world: World, item: Item) -> Stored:
    with world.ledger.read() as tx:
        snapshot = versions.load(tx, item.id, item.version).snapshot
    return read_stored(world.services.artifacts, world.domain.adapter, snapshot)


def test_of_two_intents_that_reach_for_one_key_at_once_the_other_is_refused(
    world: World, rivals: tuple[Item, Item]
) -> None:
    """S8"""

    def claim(item: Item) -> object:
        stored = stored_of(world, item)
        with world.ledger.write() as tx:
            session = sessions.load(tx, item.workflow)
            return claims.claim(
                tx, session, item, stored, world.domain, owner="thread", seconds=60
            )

    first, second = rivals
    stored = stored_of(world, first)
    with ThreadPoolExecutor(1) as pool:
        with world.ledger.write() as tx:
            session = sessions.load(tx, first.workflow)
            claims.claim(
                tx, session, first, stored, world.domain, owner="main", seconds=60
            )
            other = pool.submit(claim, second)
            until_blocked(world.ledger, other)
        assert isinstance(other.result(10), claims.Refused)
    assert len(forging.rows(world.ledger, "execution_claims")) == 1
