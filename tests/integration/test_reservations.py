"""One operation has an account to itself until its outcome is known."""

from itertools import count
from typing import Any

import pytest

from blocks.ledger import claims
from blocks.ledger.claims import Claim
from policies.decision import RequestApproval, Wait
from policies.value import Json
from tasks.work import Work, reload
from tests import forging
from tests.bank.world import TRANSFER, BankWorld
from tests.breaking import BrokenOff, broken_at
from tests.provider_proxy import ProviderProxy
from tests.provider_server import HonestProvider
from tests.together import together

PROMISED = ("execution_claims", "reservations", "outbox")


def promised(bank: BankWorld) -> list[int]:
    return [len(forging.rows(bank.ledger, table)) for table in PROMISED]


def codes(refused: object) -> list[str]:
    assert isinstance(refused, claims.Refused)
    return [reason.code for reason in refused.answer.reasons]


def waits(bank: BankWorld, work: Work) -> Work:
    """The request comes as far as the account that another operation holds."""
    work, decision = bank.advance(reload(bank.services, work.held))
    assert isinstance(decision, Wait)
    assert decision.reasons[0].endswith("resource_reserved")
    return work


def goes(bank: BankWorld, work: Work) -> Work:
    """The guard is asked again, and the request goes on from where it was held."""
    work, decision = bank.advance(bank.asked_again(work))
    if isinstance(decision, RequestApproval):
        work, _ = bank.advance(bank.resume(work))
    return work


def approved_again(bank: BankWorld, work: Work) -> Work:
    work, decision = bank.advance(reload(bank.services, work.held))
    assert isinstance(decision, RequestApproval)
    work, _ = bank.next_form(work)
    bank.approve(work)
    return bank.resume(work)


def test_a_claim_its_reservation_and_its_message_come_together_or_not_at_all(
    bank: BankWorld,
) -> None:
    """X4"""
    work = bank.resumed()
    for statement in count(1):
        try:
            with broken_at(bank.ledger.engine, statement):
                bank.claim(work)
        except BrokenOff:
            assert sum(promised(bank)) in (0, 1)  # a wake may be in the outbox
            assert promised(bank)[:2] == [0, 0]
            continue
        break
    assert statement > 20
    assert promised(bank)[:2] == [1, 1]
    assert forging.scalar(bank.ledger, "SELECT count(claim) FROM outbox") == 1


def test_a_version_that_changed_after_the_guard_said_yes_is_approved_again(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X4: the guard said yes when the request went on; nothing is promised now."""
    work = bank.resumed()
    bank.touch("a-1")
    assert codes(bank.claim(work)) == ["resource_version_changed"]
    assert promised(bank)[:2] == [0, 0]
    assert (bank.item(work).state, honest.effects) == ("reapproval_required", [])
    work, _ = bank.advance(approved_again(bank, work))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)


def test_a_version_that_changed_after_the_claim_releases_it_unsent(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X4"""
    work, _ = bank.claimed()
    bank.touch("a-1")
    work = bank.execute(work)
    assert (bank.item(work).state, proxy.seen) == ("reapproval_required", [])
    assert forging.rows(bank.ledger, "reservations") == []
    states = "SELECT state FROM outbox WHERE kind = 'effect'"
    assert forging.scalar(bank.ledger, states) == "dropped"
    work, _ = bank.advance(approved_again(bank, work))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)


def test_a_claim_and_a_change_at_once_never_let_an_old_version_out(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X4"""
    for number in range(5):
        work = bank.resumed(f"request-{number}")

        def act(index: int, work: Work = work) -> object:
            if not index:
                return bank.claim(work)
            bank.touch("a-1")
            return None

        claimed, touched = together(2, act)
        assert touched is None
        work = bank.execute(reload(bank.services, work.held))
        assert isinstance(claimed, Claim | claims.Refused)
        assert bank.item(work).state == "reapproval_required"
    assert honest.effects == []
    assert forging.rows(bank.ledger, "reservations") == []


def test_of_many_operations_on_one_account_one_holds_it(bank: BankWorld) -> None:
    """X4"""
    works = [bank.resumed(f"request-{number}") for number in range(6)]
    got = together(6, lambda index: bank.claim(works[index]))
    held = [one for one in got if isinstance(one, Claim)]
    assert len(held) == 1
    others = [codes(one) for one in got if not isinstance(one, Claim)]
    assert others == [["resource_reserved"]] * 5
    assert promised(bank)[:2] == [1, 1]


def test_who_comes_second_waits_and_then_goes(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X4: it was promised nothing, and is not approved again."""
    first, claim = bank.claimed("request-1")
    second = waits(bank, bank.resumed("request-2"))
    assert (bank.item(second).state, proxy.seen) == ("approved", [])
    bank.execute(first)
    assert bank.claim_of(first).id == claim.id
    second = goes(bank, second)
    assert (second.session.status, len(honest.effects)) == ("completed", 2)
    assert bank.item(second).version == 1


def test_who_waits_for_an_account_looks_again_soon(bank: BankWorld) -> None:
    """X4"""
    bank.claimed("request-1")
    _, decision = bank.advance(bank.resumed("request-2"))
    assert isinstance(decision, Wait) and decision.until is not None
    assert 0 < (decision.until - bank.clock.now).total_seconds() < 10


def test_an_unknown_outcome_keeps_the_account_until_it_is_settled(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X4, X5"""
    proxy.plan, proxy.lookups = ["drop_after"], ["drop_before"]
    first, _ = bank.advance(bank.resumed("request-1"))
    second = waits(bank, bank.resumed("request-2"))
    assert bank.look_up(first)
    second = goes(bank, second)
    assert second.session.status == "completed"
    assert len(honest.effects) == 2


def test_what_did_not_happen_lets_others_go_first(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X4, X5"""
    proxy.plan, proxy.lookups = ["drop_before"], ["drop_before"]
    first, _ = bank.advance(bank.resumed("request-1"))
    assert bank.look_up(first)
    second, _ = bank.claimed("request-2")
    first = waits(bank, first)
    bank.execute(second)
    first, _ = bank.advance(bank.asked_again(first))
    assert first.session.status == "completed"
    keys = [effect.key for effect in honest.effects]
    works = (second, first)
    assert keys == [bank.version(work).snapshot.key for work in works]


def test_who_waited_for_what_changed_the_account_is_approved_again(
    bank: BankWorld,
) -> None:
    """X4"""
    order: list[Json] = [TRANSFER]
    first, _ = bank.claimed("request-1", orders=order)
    second = waits(bank, bank.resumed("request-2", orders=order))
    bank.execute(first)
    second = approved_again(bank, goes(bank, second))
    second, _ = bank.advance(second)
    assert (second.session.status, bank.item(second).version) == ("completed", 2)
    assert bank.balances()["a-1"] == 90_000


def test_another_account_is_not_held(bank: BankWorld, honest: HonestProvider) -> None:
    """X4"""
    bank.claimed("request-1")
    other: dict[str, Json] = {"account": "a-3"}
    work, _ = bank.advance(bank.resumed("request-2", orders=[other]))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)


@pytest.mark.parametrize("tool", ["pay_out", "transfer"])
def test_threads_that_move_money_at_once_lose_and_double_nothing(
    bank: BankWorld, honest: HonestProvider, tool: str
) -> None:
    """X3, X4: each gets through as often as it gets the account."""
    order: dict[str, Json] = {"tool": tool}
    works = [bank.resumed(f"request-{n}", orders=[order]) for n in range(4)]

    def act(index: int) -> Any:
        return bank.execute(works[index])

    assert [e for e in together(4, act) if isinstance(e, Exception)] == []
    states = [bank.item(work).state for work in works]
    done = sum(state == "executed" for state in states)
    assert done >= 1
    assert set(states) <= {"executed", "graph_resumed", "reapproval_required"}
    assert len(honest.effects) + len(bank.entries()) // 2 == done
    assert 100_000 - bank.balances()["a-1"] == 5_000 * (
        done if tool == "transfer" else 0
    )


def test_a_frozen_claim_lets_go_of_the_account(bank: BankWorld) -> None:
    """X4, X9"""
    work, claim = bank.claimed()
    bank.set_frozen(True)
    bank.execute(work)
    assert bank.claim_of(work).state == "claimed"
    assert forging.rows(bank.ledger, "reservations") == []
    bank.set_frozen(False)
    work = bank.asked_again(reload(bank.services, work.held))
    work, _ = bank.advance(work)
    assert (work.session.status, bank.claim_of(work).id) == ("completed", claim.id)
