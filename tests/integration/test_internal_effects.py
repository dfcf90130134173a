"""An internal effect: precondition, change and result are one, or are not."""

from itertools import count
from typing import Any

import pytest

from blocks.ledger import claims
from blocks.ledger.claims import Claim
from policies.errors import Superseded
from policies.value import Json
from tasks.work import Work
from tests import forging
from tests.bank import tools
from tests.bank.killed import transfer_killed_at
from tests.bank.world import TRANSFER, BankWorld
from tests.breaking import BrokenOff, broken_at
from tests.racer import Installation
from tests.reading import names
from tests.together import together

MOVED = {"a-1": 95_000, "a-2": 5_000, "a-3": 50_000}
TABLES = (
    "bank_accounts",
    "bank_entries",
    "items",
    "execution_claims",
    "executions",
    "reservations",
    "outbox",
    "audit_events",
)


def claimed(bank: BankWorld, **order: Json) -> tuple[Work, Claim]:
    return bank.claimed(orders=[{**TRANSFER, **order}])


def transfer(bank: BankWorld, claim: Claim) -> Any:
    return tools.transfer(bank.services, claim.id, claim.token)


def everything(bank: BankWorld) -> list[Any]:
    return [forging.rows(bank.ledger, table) for table in TABLES]


def place_of(bank: BankWorld) -> Installation:
    settings = bank.services.settings
    return Installation(settings.database_url, settings.artifacts, bank.clock.now)


def test_a_transfer_and_its_result_are_recorded_together(bank: BankWorld) -> None:
    """X3"""
    work, _ = bank.advance(bank.resumed(orders=[TRANSFER]))
    assert (work.session.status, bank.balances()) == ("completed", MOVED)
    assert bank.entries() == [("a-1", -5_000), ("a-2", 5_000)]
    told = bank.told(work, "executed")[0]
    kept = bank.services.artifacts.get(str(told["execution_artifact"]))
    assert b'"balance":95000' in kept
    assert forging.rows(bank.ledger, "reservations") == []


def test_a_transfer_that_fails_between_any_two_statements_has_not_happened(
    bank: BankWorld,
) -> None:
    """X3"""
    _, claim = claimed(bank)
    before = everything(bank)
    for statement in count(1):
        try:
            with broken_at(bank.ledger.engine, statement):
                transfer(bank, claim)
        except BrokenOff:
            assert everything(bank) == before
            continue
        break
    assert statement > 20
    assert bank.balances() == MOVED
    assert len(bank.entries()) == 2


def test_a_transfer_killed_between_any_two_statements_has_not_happened(
    bank: BankWorld,
) -> None:
    """X3, X8"""
    work, claim = claimed(bank)
    before, place = everything(bank), place_of(bank)
    for statement in count(1):
        if transfer_killed_at(place, claim, statement) == 0:
            break
        assert everything(bank) == before
    assert statement > 20
    work, _ = bank.advance(bank.superseded(work))
    assert (work.session.status, bank.balances()) == ("completed", MOVED)
    assert names(bank.trail(work)).count("executed") == 1


def test_a_transfer_that_was_killed_is_made_by_the_next_process(
    bank: BankWorld,
) -> None:
    """X8"""
    work, claim = claimed(bank)
    assert transfer_killed_at(place_of(bank), claim, 20) == -9
    work, _ = bank.advance(bank.superseded(work))
    assert (work.session.status, bank.balances()) == ("completed", MOVED)


def test_a_transfer_without_the_money_fails_and_changes_nothing(
    bank: BankWorld,
) -> None:
    """X3, A8"""
    order: dict[str, Json] = {**TRANSFER, "amount_minor": 200_000}
    bank.add("olga", "owner", permissions=("bank.pay",))
    work = bank.asked(orders=[order])
    bank.approve(work, by="olga")
    work, _ = bank.advance(bank.resume(work))
    assert (work.session.status, bank.entries()) == ("failed", [])
    assert bank.balances()["a-1"] == 100_000
    assert bank.told(work, "execution_failed")[0]["detail"] == "The balance is too low."


def test_a_transfer_between_whose_changes_it_fails_changes_neither(
    bank: BankWorld,
) -> None:
    """X3"""
    work, _ = bank.advance(
        bank.resumed(orders=[{**TRANSFER, "recipient": "nobody"}]),
    )
    assert (work.session.status, bank.entries()) == ("failed", [])
    assert bank.balances()["a-1"] == 100_000


def test_a_failed_transfer_is_not_tried_again(bank: BankWorld) -> None:
    """A8"""
    work = bank.resumed(orders=[{**TRANSFER, "recipient": "nobody"}])
    work = bank.execute(work)
    bank.load(accounts=[["nobody", 0]])
    work = bank.execute(work)
    assert (bank.item(work).state, bank.entries()) == ("failed", [])


def test_only_the_newest_token_moves_money(bank: BankWorld) -> None:
    """X2"""
    _, old = claimed(bank)
    bank.clock.move(61)
    with bank.ledger.write() as tx:
        new = claims.take_over(tx, old, "another", 60)
    with pytest.raises(Superseded):
        transfer(bank, old)
    transfer(bank, new)
    assert bank.balances() == MOVED


def test_of_many_threads_with_one_claim_one_moves_money(bank: BankWorld) -> None:
    """X1, X3"""
    _, claim = claimed(bank)
    got = together(8, lambda _: transfer(bank, claim))
    assert sum(isinstance(one, Superseded) for one in got) == 7
    assert bank.balances() == MOVED


def test_a_take_over_and_a_transfer_at_once_leave_one_of_them(bank: BankWorld) -> None:
    """X2, X3"""
    for number in range(5):
        work, claim = bank.claimed(f"request-{number}", orders=[TRANSFER])
        bank.clock.move(61)

        def act(index: int, claim: Claim = claim) -> object:
            if index:
                return transfer(bank, claim)
            with bank.ledger.write() as tx:
                return claims.take_over(tx, claim, "another", 60)

        taken, _ = together(2, act)
        if isinstance(taken, Claim):
            transfer(bank, taken)
        assert bank.item(work).state == "executed"
        assert len(bank.entries()) == 2 * (number + 1)
