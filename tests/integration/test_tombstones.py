"""A key that was used stays used when its claim is no longer kept."""

from itertools import count

import pytest

from blocks.ledger import claims, effects, tombstones
from blocks.ledger.claims import Claim
from policies.errors import Refused
from tasks.work import Work, reload
from tests import forging
from tests.bank import tools
from tests.bank.world import TRANSFER, BankWorld
from tests.breaking import BrokenOff, broken_at
from tests.provider_proxy import ProviderProxy
from tests.provider_server import HonestProvider
from tests.together import together

BURIED = ("key_tombstones", "execution_claims", "outbox")


def bury(bank: BankWorld, most: int = 100) -> int:
    """As the supervisor does, a year later."""
    bank.clock.move(365 * 86_400)
    with bank.ledger.write() as tx:
        return tombstones.bury(tx, tx.now, most)


def done(bank: BankWorld, request_id: str = "request-1") -> Work:
    work, _ = bank.advance(bank.resumed(request_id))
    assert work.session.status == "completed"
    return work


def codes(refused: object) -> set[str]:
    assert isinstance(refused, claims.Refused)
    return {reason.code for reason in refused.answer.reasons}


def as_in_an_old_backup(bank: BankWorld) -> None:
    """The request is as it was before its effect."""
    forging.run(bank.ledger, "UPDATE items SET state = 'graph_resumed'")
    open_again = "UPDATE workflow_sessions SET status = 'running'"
    forging.run(bank.ledger, open_again)


def test_a_buried_key_is_never_claimed_again(bank: BankWorld) -> None:
    """X6, S11"""
    work = done(bank)
    assert bury(bank) == 1
    assert forging.rows(bank.ledger, "execution_claims") == []
    assert "key_expired" in codes(bank.claim(work))
    assert bury(bank) == 0
    assert "key_expired" in codes(bank.claim(work))
    assert forging.rows(bank.ledger, "execution_claims") == []


def test_s11_a_buried_key_executes_nothing_even_from_an_old_backup(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X6, S11"""
    work = done(bank)
    bury(bank)
    as_in_an_old_backup(bank)
    work = bank.execute(bank.superseded(reload(bank.services, work.held)))
    work, _ = bank.advance(work)
    assert work.session.status == "blocked"
    told = bank.told(work, "policy_blocked")[-1]
    assert "key_expired" in str(told["reasons"])
    assert len(honest.effects) == 1


def test_the_evidence_of_a_buried_key_stays_readable(bank: BankWorld) -> None:
    """X6, R2"""
    work = done(bank)
    key, item = bank.version(work).snapshot.key, bank.item(work).id
    bury(bank)
    with bank.ledger.read() as tx:
        (result,) = effects.results_of(tx, item)
        assert effects.workflow_of_provider_ref(tx, "po_1") == work.workflow
    assert (result["key"], result["outcome"]) == (key, "executed")
    assert b'"status":201' in bank.services.artifacts.get(result["artifact"])
    message = str(bank.told(work, "executed")[0]["execution_artifact"])
    assert key.encode() in bank.services.artifacts.get(message)


def test_the_old_claim_opens_nothing(bank: BankWorld) -> None:
    """X6"""
    work = done(bank)
    claim = bank.claim_of(work)
    bury(bank)
    with pytest.raises(Refused) as refused:
        tools.pay_out(bank.services, claim.id, claim.token)
    assert refused.value.code == "not_claimed"


@pytest.mark.parametrize("doing", ["drop_before", "drop_after"])
def test_what_is_not_over_is_not_buried(
    bank: BankWorld, proxy: ProviderProxy, doing: str
) -> None:
    """X6: an unknown outcome waits, however long."""
    bank.promises(looks_up=False)
    proxy.plan = [doing]  # type: ignore[list-item]
    bank.advance(bank.resumed())
    bank.claimed("request-2", orders=[{**TRANSFER, "account": "a-3"}])
    assert bury(bank) == 0
    kept = "SELECT count(*) FROM execution_claims WHERE state IN ('unknown', 'claimed')"
    assert forging.scalar(bank.ledger, kept) == 2


def test_so_many_are_buried_at_a_time_and_no_more(bank: BankWorld) -> None:
    """X6"""
    for number in range(3):
        done(bank, f"request-{number}")
    assert [bury(bank, 2), bury(bank, 2), bury(bank, 2)] == [2, 1, 0]


def test_a_claim_and_its_tombstone_change_places_in_one_moment(
    bank: BankWorld,
) -> None:
    """X6"""
    done(bank)
    before = [forging.rows(bank.ledger, table) for table in BURIED]
    for statement in count(1):
        try:
            with broken_at(bank.ledger.engine, statement):
                bury(bank)
        except BrokenOff:
            assert [forging.rows(bank.ledger, table) for table in BURIED] == before
            continue
        break
    assert statement > 4
    assert len(forging.rows(bank.ledger, "key_tombstones")) == 1


def test_who_asks_while_it_is_buried_gets_the_claim_or_a_no(bank: BankWorld) -> None:
    """X6, X1"""
    works = [done(bank, f"request-{number}") for number in range(4)]
    bank.clock.move(365 * 86_400)

    def act(index: int) -> object:
        if index:
            return bank.claim(works[index - 1])
        with bank.ledger.write() as tx:
            return tombstones.bury(tx, tx.now, 100)

    buried, *got = together(5, act)
    assert buried == 4
    for one in got:
        assert isinstance(one, Claim) or "key_expired" in codes(one)
    assert forging.rows(bank.ledger, "execution_claims") == []


def test_a_result_that_comes_after_its_key_was_buried_is_refused_and_kept(
    bank: BankWorld,
) -> None:
    """X2, X6"""
    work = done(bank)
    claim = bank.claim_of(work)
    with bank.ledger.read() as tx:
        told = effects.result_of(tx, claim.id)
    assert told is not None and bury(bank) == 1
    kept = bank.services.artifacts.put(b"late", "execution")
    late = effects.Result(
        outcome="failed", detail="late", artifact=kept, provider_ref=claim.key
    )
    with bank.ledger.write() as tx:
        assert effects.finish(tx, claim, late) is False
        assert effects.results_of(tx, claim.item) == (told,)
    refused = bank.told(work, "late_write_refused")[0]
    assert refused["claim_status"] == "buried"
