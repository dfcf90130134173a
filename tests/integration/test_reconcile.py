"""An unknown outcome: asked for, settled, and tried again under the same key."""

from typing import Any

import pytest

from blocks import gate
from blocks.ledger import claims
from policies.decision import RequestApproval
from policies.errors import Superseded
from tasks.work import Work, reload
from tests.bank import tools
from tests.bank.adapter import PAY_OUT
from tests.bank.world import BankWorld
from tests.provider_proxy import ProviderProxy, Told
from tests.provider_server import HonestProvider
from tests.reading import names

OUTCOMES = {"execution_unknown", "reconciled", "retry_ready", "executed"}


def outcomes(bank: BankWorld, work: Work) -> list[str]:
    return [name for name in names(bank.trail(work)) if name in OUTCOMES]


def lost(bank: BankWorld, proxy: ProviderProxy, doing: Any) -> Work:
    """A payment whose outcome is unknown, and the provider did not answer at once."""
    proxy.plan, proxy.lookups = [doing], ["drop_before"]
    work, _ = bank.advance(bank.resumed())
    assert (bank.item(work).state, work.session.status) == (
        "execution_unknown",
        "unknown",
    )
    return work


def test_s9_a_provider_that_acts_and_drops_has_acted_once(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5, S9"""
    proxy.plan = ["drop_after"]
    work, _ = bank.advance(bank.resumed())
    assert (bank.item(work).state, work.session.status) == ("executed", "completed")
    assert outcomes(bank, work) == ["execution_unknown", "reconciled", "executed"]
    assert (len(honest.effects), len(proxy.writes)) == (1, 1)


def test_a_provider_that_drops_before_it_acts_is_sent_the_very_same_bytes_again(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5"""
    proxy.plan = ["drop_before"]
    work, _ = bank.advance(bank.resumed())
    assert work.session.status == "completed"
    assert outcomes(bank, work) == [
        "execution_unknown",
        "reconciled",
        "retry_ready",
        "executed",
    ]
    first, second = proxy.writes
    assert first == second
    assert first.headers["Idempotency-Key"] == bank.version(work).snapshot.key
    assert [effect.body for effect in honest.effects] == [first.body]


def test_a_retry_has_a_higher_token(bank: BankWorld, proxy: ProviderProxy) -> None:
    """X2"""
    proxy.plan = ["drop_before"]
    work, _ = bank.advance(bank.resumed())
    claimed = bank.told(work, "execution_claimed")
    assert [told["fencing_token"] for told in claimed] == [1, 2]
    assert len({told["claim"] for told in claimed}) == 1


@pytest.mark.parametrize("doing", ["drop_before", "drop_after", "hold"])
def test_whenever_the_provider_times_out_the_payment_is_made_once(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy, doing: Any
) -> None:
    """X5"""
    bank.promises(timeout_seconds=0.5)
    proxy.plan = [doing]
    work, _ = bank.advance(bank.resumed())
    # What is held up arrives in the end, and is known.
    proxy.release.set()
    assert work.session.status == "completed"
    assert len(honest.effects) == 1


def test_a_server_error_is_asked_about_and_tried_again(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5"""
    proxy.plan = [Told(503, [], b"later"), Told(429, [], b"later")]
    work, _ = bank.advance(bank.resumed())
    bank.clock.move(60)
    work = bank.goes_on(work)
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert len({seen.body for seen in proxy.writes}) == 1


def test_a_request_that_ended_as_unknown_goes_on_when_the_provider_answers(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5"""
    work = lost(bank, proxy, "drop_after")
    assert bank.look_up(work)
    assert bank.status(work) == "running"
    work = bank.goes_on(work)
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert bank.told(work, "reconciled")[0]["provider_ref"] == "po_1"


def test_a_provider_that_answers_nothing_is_asked_later_and_later(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X5"""
    work = lost(bank, proxy, "drop_before")
    waits = []
    for _ in range(3):
        proxy.lookups = ["drop_before"]
        assert not bank.look_up(work)
        due = bank.claim_of(work).due_at
        assert due is not None
        waits.append(round((due - bank.clock.now).total_seconds()))
    assert waits == [2, 4, 8]


def test_an_unknown_outcome_that_nobody_can_tell_stays(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5, S9"""
    bank.promises(looks_up=False)
    proxy.plan = ["drop_after"]
    work, _ = bank.advance(bank.resumed())
    bank.clock.move(30 * 86_400)
    assert not bank.look_up(work)
    work = bank.goes_on(work)
    assert (bank.item(work).state, len(proxy.seen)) == ("execution_unknown", 1)
    assert len(honest.effects) == 1


def test_a_provider_that_may_have_forgotten_the_key_is_not_believed(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5, S9: to send again would be to act again."""
    bank.promises(keeps_keys_seconds=3600, settles_seconds=60)
    work = lost(bank, proxy, "drop_after")
    honest.forget()
    bank.clock.move(3600)
    assert not bank.look_up(work)
    assert bank.item(work).state == "execution_unknown"
    assert len(proxy.writes) == 1


def test_what_has_changed_since_is_approved_again_before_a_retry(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X4"""
    work = lost(bank, proxy, "drop_before")
    assert bank.look_up(work)
    bank.touch("a-1")
    work, decision = bank.advance(reload(bank.services, work.held))
    assert isinstance(decision, RequestApproval)
    assert (bank.item(work).version, honest.effects) == (2, [])
    work, _ = bank.next_form(work)
    bank.approve(work)
    work, _ = bank.advance(bank.resume(work))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert honest.effects[0].key == bank.version(work).snapshot.key


def test_nothing_is_tried_again_while_it_is_frozen(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X9"""
    work = lost(bank, proxy, "drop_before")
    assert bank.look_up(work)
    bank.set_frozen(True)
    work = bank.goes_on(work)
    assert (bank.item(work).state, honest.effects) == ("retry_ready", [])
    bank.set_frozen(False)
    work, _ = bank.advance(bank.asked_again(work))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)


@pytest.mark.parametrize("sent", [False, True])
def test_a_process_that_dies_in_a_send_leaves_what_the_next_one_settles(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy, sent: bool
) -> None:
    """X8, S9"""
    work, claim = bank.claimed()
    if sent:
        tools.pay_out(bank.services, claim.id, claim.token)
    else:
        gate.open_for(bank.services.gate, claim.id, claim.token, PAY_OUT.name)
    bank.clock.move(61)
    work, _ = bank.advance(bank.superseded(work))
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert len(proxy.writes) == 1


def test_a_process_that_stood_still_sends_nothing_when_it_goes_on(
    bank: BankWorld,
    honest: HonestProvider,
    proxy: ProviderProxy,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    """X2, S9: by then it may be settled that nothing was sent."""
    work, claim = bank.claimed()
    operation = gate.open_for(bank.services.gate, claim.id, claim.token, PAY_OUT.name)
    late = gate.elapsed() + 61
    monkeypatch.setattr(gate, "elapsed", lambda: late)
    bank.clock.move(61)
    bank.advance(bank.superseded(work))
    with pytest.raises(Superseded):
        operation.confirm()


def test_a_slow_greeting_keeps_nobody_from_sending_who_still_has_the_claim(
    bank: BankWorld, monkeypatch: pytest.MonkeyPatch
) -> None:
    """X2: past the lease it counts whether somebody has taken the claim over."""
    _, claim = bank.claimed()
    operation = gate.open_for(bank.services.gate, claim.id, claim.token, PAY_OUT.name)
    late = gate.elapsed() + 61
    monkeypatch.setattr(gate, "elapsed", lambda: late)
    bank.clock.move(61)
    operation.confirm()
    with bank.ledger.read() as tx:
        assert claims.load(tx, claim.id).lease_until > bank.clock.now


def test_who_comes_back_to_a_claim_of_ours_too_late_renews_it_first(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X2: without a lease, others could settle it while we send."""
    work, claim = bank.claimed()
    bank.clock.move(61)
    with pytest.raises(Superseded):
        tools.pay_out(bank.services, claim.id, claim.token)
    assert bank.claim_of(work).state == "claimed"
    work, _ = bank.advance(work)
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert bank.claim_of(work).token == claim.token
