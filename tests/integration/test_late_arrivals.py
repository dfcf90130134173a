"""What was sent may arrive late: nothing is believed, or ended, before it cannot."""

from itertools import count
from typing import Any

import httpx
import pytest

from blocks.control import By
from blocks.http_provider import HttpProvider
from blocks.ledger import effects
from blocks.ledger.people import TokenProof
from policies.errors import Conflict
from tasks import supervising
from tests.bank import tools
from tests.bank.world import BankWorld
from tests.integration.test_reconcile import lost
from tests.provider_proxy import ProviderProxy, Told
from tests.provider_server import HonestProvider
from tests.stripe_server import LocalStripe
from tests.world import TERMINAL


def test_a_refused_retry_fails(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """A8: once the first send cannot arrive any more."""
    proxy.plan = ["drop_before", *[Told(402, [], b"no money")] * 2]
    work, _ = bank.advance(bank.resumed())
    assert (work.session.status, len(proxy.writes)) == ("unknown", 2)
    assert "may still arrive" in work.state.execution_result[0].detail
    bank.clock.move(59)
    supervising.recover_effects.fn(bank.another())
    assert len(proxy.writes) == 2
    for _ in range(2):
        bank.clock.move(2)
        supervising.recover_effects.fn(bank.another())
    assert (bank.item(work).state, honest.effects) == ("failed", [])
    assert "no money" in str(bank.told(work, "execution_failed")[0]["detail"])


@pytest.mark.parametrize("second", [401, 402, None])
def test_a_no_to_a_retry_is_none_while_the_first_send_is_on_its_way(
    bank: BankWorld,
    honest: HonestProvider,
    proxy: ProviderProxy,
    monkeypatch: pytest.MonkeyPatch,
    second: int | None,
) -> None:
    """X5, S9: without a connection (None) as well."""
    proxy.plan = ["keep", *([Told(second, [], b"no")] if second else [])]
    if second is None:
        lose_the_second_connection(monkeypatch)
    work, _ = bank.advance(bank.resumed())
    assert bank.item(work).state == "execution_unknown"
    assert [told.status for told in proxy.deliver()] == [201]
    bank.clock.move(60)
    supervising.recover_effects.fn(bank.another())
    assert (bank.item(work).state, len(honest.effects)) == ("executed", 1)


def lose_the_second_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    """The provider cannot be reached for a moment."""
    whole, sends = HttpProvider._write, count()

    def write(self: HttpProvider, *given: Any) -> Any:
        if next(sends) == 1:
            raise httpx.ConnectError("refused")
        return whole(self, *given)

    monkeypatch.setattr(HttpProvider, "_write", write)


def test_what_somebody_has_reported_late_is_not_looked_for_in_vain(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X2, S9: nor may a person settle it as not happened."""
    work, claim = bank.claimed()
    result = tools.pay_out(bank.services, claim.id, claim.token)
    bank.clock.move(61)
    proxy.lookups = ["drop_before", Told(404, [], b"never heard of it")]
    work, _ = bank.advance(bank.superseded(work))
    with bank.ledger.write() as tx:
        assert not effects.finish(tx, claim, result)
    bank.clock.move(61)
    assert not bank.look_up(work)
    by = By(
        reviewer="ada",
        proof=TokenProof(token=bank.people["ada"].token),
        channel=TERMINAL,
        reason="nobody got it",
    )
    control = bank.services.control
    with pytest.raises(Conflict, match="It did happen") as refused:
        control.settle(work.workflow, by, happened=False)
    assert refused.value.code == "late_result"
    control.settle(work.workflow, by, happened=True)
    assert (bank.item(work).state, len(honest.effects)) == ("executed", 1)


def test_that_it_did_not_happen_is_not_believed_while_it_can_still_arrive(
    stripe_bank: BankWorld, stripe: LocalStripe, stripe_proxy: ProviderProxy
) -> None:
    """X5, S9"""
    stripe_proxy.plan = ["drop_before"]
    work, _ = stripe_bank.advance(stripe_bank.resumed())
    assert work.session.status == "unknown"
    stripe_bank.clock.move(58)
    assert not stripe_bank.look_up(work)
    stripe_bank.clock.move(2)
    assert stripe_bank.look_up(work)
    work = stripe_bank.goes_on(work)
    assert (work.session.status, len(stripe.payouts)) == ("completed", 1)


def test_an_answer_that_takes_long_tells_of_when_it_was_asked_for(
    stripe_bank: BankWorld, stripe: LocalStripe, stripe_proxy: ProviderProxy
) -> None:
    """X5, S9: what arrives while it is looked for is not in the answer."""
    stripe_proxy.plan = ["drop_before"]
    work, _ = stripe_bank.advance(stripe_bank.resumed())

    def find_slowly(key: str) -> str | None:
        found = stripe.find(key)
        stripe_bank.clock.move(60)
        return found

    stripe_proxy.find = find_slowly
    assert not stripe_bank.look_up(work)
    assert stripe_bank.look_up(work)


def test_a_late_arrival_at_a_provider_that_ignores_the_key_doubles_nothing(
    stripe_bank: BankWorld, stripe: LocalStripe, stripe_proxy: ProviderProxy
) -> None:
    """X5, S9"""
    stripe_proxy.plan = ["keep"]
    work, _ = stripe_bank.advance(stripe_bank.resumed())
    stripe_bank.clock.move(59)
    assert not stripe_bank.look_up(work)
    assert [told.status for told in stripe_proxy.deliver()] == [200]
    stripe_bank.clock.move(60)
    assert stripe_bank.look_up(work)
    work = stripe_bank.goes_on(work)
    assert work.session.status == "completed"
    assert (len(stripe.payouts), len(stripe_proxy.writes)) == (1, 1)


def test_a_late_arrival_at_a_provider_that_knows_the_key_doubles_nothing(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5, S9"""
    proxy.plan = ["keep"]
    work, _ = bank.advance(bank.resumed())
    assert work.session.status == "completed"
    assert [told.status for told in proxy.deliver()] == [201]
    assert (len(proxy.writes), len(honest.effects)) == (2, 1)


def test_what_a_forgetful_provider_has_not_done_yet_is_not_final(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5: it may arrive, and the retry may come when its key is forgotten."""
    bank.promises(keeps_keys_seconds=3600, settles_seconds=60)
    work = lost(bank, proxy, "keep")
    bank.clock.move(58)
    assert not bank.look_up(work)
    proxy.deliver()
    bank.clock.move(5)
    assert bank.look_up(work)
    assert (bank.item(work).state, len(honest.effects)) == ("executed", 1)
