"""The audit trail: in order, complete, and told where it is not."""

from collections.abc import Callable

import pytest

from blocks.ledger import append_only, audit
from blocks.ledger.audit import ADMIN_CHAIN, Fault
from blocks.ledger.database import Ledger
from blocks.ledger.tables import APPEND_ONLY
from tests import forging
from tests.reading import names
from tests.together import together
from tests.world import World


def verify(ledger: Ledger) -> tuple[int, Fault | None]:
    with ledger.read() as tx:
        return audit.verify(tx)


def fault_in(world: World, chain: str) -> tuple[int, str]:
    fault = verify(world.ledger)[1]
    assert fault is not None
    assert fault.chain == chain
    return fault.seq, fault.problem


@pytest.fixture
def chain(world: World) -> str:
    """A workflow with a trail of some thirty events."""
    work, _ = world.advance(world.resumed())
    return work.workflow


def test_a_trail_that_nobody_touched_holds(world: World, chain: str) -> None:
    """R1"""
    count = len(world.trail(chain)) + len(world.trail(ADMIN_CHAIN))
    assert verify(world.ledger) == (count, None)


def test_every_event_carries_the_hash_of_the_one_before(
    world: World, chain: str
) -> None:
    """R1"""
    trail = world.trail(chain)
    assert [event.seq for event in trail] == list(range(1, len(trail) + 1))
    assert [event.previous for event in trail] == [
        audit.GENESIS,
        *(event.hash for event in trail[:-1]),
    ]


def test_an_altered_event_is_found_at_its_place(world: World, chain: str) -> None:
    """R1"""
    alterations = {
        9: "event = 'rejected'",
        8: "at = '2025-03-04T05:06:08.000000Z'",
        7: """facts = '{"actor":"bob"}'""",
        6: "previous = hash",
        5: "hash = previous",
    }
    for seq, alteration in alterations.items():
        alter = f"UPDATE audit_events SET {alteration} WHERE chain = :it AND seq = :no"
        assert forging.forge(world.ledger, "audit_events", alter, it=chain, no=seq)
        assert fault_in(world, chain) == (seq, "this event was altered")


def test_a_deleted_event_is_found_at_its_place(world: World, chain: str) -> None:
    """R1"""
    delete = "DELETE FROM audit_events WHERE chain = :it AND seq = 7"
    forging.forge(world.ledger, "audit_events", delete, it=chain)
    assert fault_in(world, chain) == (7, "this event is missing")


def test_a_gap_that_was_closed_by_numbering_anew_is_found(
    world: World, chain: str
) -> None:
    """R1"""
    last = len(world.trail(chain))
    delete = "DELETE FROM audit_events WHERE chain = :it AND seq = 7"
    forging.forge(world.ledger, "audit_events", delete, it=chain)
    for seq in range(8, last + 1):
        renumber = f"UPDATE audit_events SET seq = {seq - 1} WHERE seq = {seq}"
        only = f"{renumber} AND chain = :it"
        forging.forge(world.ledger, "audit_events", only, it=chain)
    assert fault_in(world, chain) == (7, "this event was altered")


def test_a_trail_whose_end_was_cut_off_is_found(world: World, chain: str) -> None:
    """R1"""
    for kept in (20, 10, 0):
        cut = "DELETE FROM audit_events WHERE chain = :it AND seq > :kept"
        forging.forge(world.ledger, "audit_events", cut, it=chain, kept=kept)
        assert fault_in(world, chain)[0] == kept + 1


def test_an_altered_head_is_found(world: World, chain: str) -> None:
    """R1"""
    length = len(world.trail(chain))
    for tamper in (
        "UPDATE audit_heads SET seq = seq - 1 WHERE chain = :it",
        "UPDATE audit_heads SET seq = seq + 1, hash = 'sha256:0' WHERE chain = :it",
        "DELETE FROM audit_heads WHERE chain = :it",
    ):
        forging.run(world.ledger, tamper, it=chain)
        seq, problem = fault_in(world, chain)
        assert (seq, "head altered" in problem) == (length + 1, True)


def test_a_trail_that_was_deleted_with_its_head_is_found(
    world: World, chain: str
) -> None:
    """R1"""
    delete = "DELETE FROM audit_events WHERE chain = :it"
    forging.forge(world.ledger, "audit_events", delete, it=chain)
    forging.run(world.ledger, "DELETE FROM audit_heads WHERE chain = :it", it=chain)
    assert fault_in(world, chain)[0] == 1


def test_a_table_that_can_be_changed_is_found(world: World, dialect: str) -> None:
    """R1"""
    for table in APPEND_ONLY:
        on = f" ON {table}" if dialect == "postgresql" else ""
        for name in append_only.trigger_names(dialect, table):
            forging.run(world.ledger, f"DROP TRIGGER {name}{on}")
            number, problem = fault_in(world, f"the table {table}")
            assert (number, name in problem) == (0, True)
            with world.ledger.write() as tx:
                append_only.guard(tx.connection, [table])
    assert verify(world.ledger)[1] is None


@pytest.mark.parametrize("dialect", ["postgresql"])
def test_a_trigger_that_is_switched_off_is_found(world: World, dialect: str) -> None:
    """R1: SQLite has no switch."""
    off = "ALTER TABLE verdicts DISABLE TRIGGER verdicts_no_update"
    forging.run(world.ledger, off)
    assert "verdicts_no_update" in fault_in(world, "the table verdicts")[1]


def test_events_of_a_transaction_that_failed_are_not_in_the_trail(
    world: World,
) -> None:
    before = world.trail(ADMIN_CHAIN)
    with pytest.raises(ZeroDivisionError), world.ledger.write() as tx:
        audit.append(tx, ADMIN_CHAIN, "policy_set", actor="nobody")
        raise ZeroDivisionError
    assert world.trail(ADMIN_CHAIN) == before


def appender(ledger: Ledger, chain: str) -> Callable[[int], None]:
    def append(index: int) -> None:
        for number in range(4):
            with ledger.write() as tx:
                audit.append(tx, chain, "tool_called", tool=f"{index}.{number}")

    return append


def test_writers_at_the_same_time_keep_one_chain(world: World, chain: str) -> None:
    """R1"""
    before = len(world.trail(chain))
    done = together(8, appender(world.ledger, chain))
    assert done == [None] * 8
    assert len(world.trail(chain)) == before + 32
    assert verify(world.ledger)[1] is None


def test_writers_at_the_same_time_may_begin_a_chain(world: World) -> None:
    """R1"""
    for round_number in range(4):
        chain = f"new-{round_number}"
        assert together(8, appender(world.ledger, chain)) == [None] * 8
        assert names(world.trail(chain)) == ["tool_called"] * 32
    assert verify(world.ledger)[1] is None


def test_a_trail_can_be_verified_while_it_grows(world: World, chain: str) -> None:
    """R1"""

    def verify_often(index: int) -> list[Fault | None]:
        return [verify(world.ledger)[1] for _ in range(12)]

    append = appender(world.ledger, chain)
    done = together(4, lambda n: append(n) if n else verify_often(n))
    assert done[0] == [None] * 12
