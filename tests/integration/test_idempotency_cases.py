"""What Placet does where an idempotency key is used again, situation by situation.

The situations are those of the case data; docs/reliability.md tells where the IETF
draft and Stripe answer otherwise.
"""

import json
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

import pytest

from blocks import gate
from blocks.ledger import claims, tombstones
from blocks.ledger.claims import Claim
from policies.decision import RequestApproval
from policies.errors import Conflict, InvalidInput, Superseded
from policies.value import Json
from tasks import opening
from tasks.work import Work, reload
from tests import forging
from tests.bank.adapter import PAY_OUT
from tests.bank.world import TRANSFER, BankWorld
from tests.cases import cases, needs_cases
from tests.provider_proxy import ProviderProxy, Told
from tests.provider_server import HonestProvider
from tests.together import until

ROOT = Path(__file__).parents[2]
SHOWN: set[str] = set()
Test = TypeVar("Test", bound=Callable[..., None])


def case(row: str) -> Callable[[Test], Test]:
    """Name the situation that a test shows."""

    def note(test: Test) -> Test:
        SHOWN.add(row)
        return test

    return note


def rows() -> list[dict[str, Any]]:
    text = cases("idempotency", "behaviour.json").read_text("utf-8")
    found: list[dict[str, Any]] = json.loads(text)["rows"]
    return found


def paid(bank: BankWorld, request_id: str = "request-1") -> Work:
    work, _ = bank.advance(bank.resumed(request_id))
    return work


def opened_again(bank: BankWorld, **request: Json) -> None:
    opening.open_session(bank.services, "bank", {**request}, "request-1")


@needs_cases
def test_every_situation_of_the_case_data_is_shown() -> None:
    """X1"""
    assert {row["id"] for row in rows()} == SHOWN


@needs_cases
def test_every_situation_stands_in_the_docs_table() -> None:
    told = (ROOT / "docs" / "reliability.md").read_text("utf-8")
    assert [row["id"] for row in rows() if f"| `{row['id']}` |" not in told] == []


@case("first")
def test_a_new_key_is_claimed_executed_and_its_result_kept(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X1"""
    work = paid(bank)
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert work.state.execution_result[0].outcome == "executed"


@case("replay")
def test_the_same_again_gets_the_same_result_and_calls_nobody(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X1"""
    work = bank.execute(bank.resumed())
    (first,) = work.state.execution_result
    before = bank.services.artifacts.get(first.artifact)
    work = bank.execute(work)
    assert work.state.execution_result == (first,)
    assert bank.services.artifacts.get(first.artifact) == before
    assert (len(proxy.seen), isinstance(bank.claim(work), Claim)) == (1, True)


@case("other_payload")
def test_the_same_key_with_another_payload_is_a_conflict(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X1, S8"""
    work = paid(bank)
    with pytest.raises(Conflict) as conflict:
        opened_again(bank, orders=[{"amount_minor": 1}])
    assert conflict.value.code == "idempotency_conflict"
    before = forging.rows(bank.ledger, "executions")
    forging.run(bank.ledger, "UPDATE execution_claims SET digest = 'sha256:0'")
    refused = bank.claim(work)
    assert isinstance(refused, claims.Refused)
    assert "key_conflict" in [reason.code for reason in refused.answer.reasons]
    assert bank.told(work, "idempotency_conflict")
    assert (forging.rows(bank.ledger, "executions"), len(proxy.seen)) == (before, 1)


@case("other_endpoint")
def test_the_same_key_for_another_tool_is_a_conflict(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X1: with the very same arguments."""
    paid(bank)
    with pytest.raises(Conflict) as conflict:
        opened_again(bank, orders=[TRANSFER])
    assert conflict.value.code == "idempotency_conflict"
    assert (len(proxy.seen), bank.entries()) == (1, [])


@case("other_caller")
def test_the_same_key_in_another_tenant_is_another_key(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X1, S2: whoever asks there finds neither a result nor a conflict."""
    paid(bank, "request-1")
    work = bank.resumed("request-2")
    mine = bank.version(work).snapshot
    theirs = mine.scope.replace('"main"', '"other"')
    taken = "UPDATE execution_claims SET scope = :scope, key = :key"
    forging.run(bank.ledger, taken, scope=theirs, key=mine.key)
    work, _ = bank.advance(work)
    assert (work.session.status, len(honest.effects)) == ("completed", 2)
    assert bank.claim_of(work).scope == mine.scope != theirs


@case("in_progress")
def test_the_same_while_the_first_runs_finds_it_running(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X1, S7"""
    proxy.plan = ["hold"]
    work = bank.resumed()
    with ThreadPoolExecutor(1) as pool:
        first = pool.submit(bank.execute, work)
        until(lambda: proxy.seen)
        found = bank.claim(work)
        assert isinstance(found, Claim) and found.state == "dispatched"
        with pytest.raises(Superseded):
            bank.execute(work)
        assert opening.take_lease(bank.another(), work.workflow, None) is None
        proxy.release.set()
        assert first.result().state.execution_result[0].outcome == "executed"
    assert (len(honest.effects), len(proxy.seen)) == (1, 1)


@case("missing")
@case("malformed")
@pytest.mark.parametrize(
    "name", ["", " ", "a" * 201, "a" * 256, "a\nb", "a\x00", "\x7f"]
)
def test_a_missing_or_malformed_key_is_refused_and_nothing_stored(
    bank: BankWorld, name: str
) -> None:
    """X1"""
    with pytest.raises(InvalidInput) as refused:
        opening.open_session(bank.services, "bank", {}, name)
    assert refused.value.code == "invalid_request_id"
    assert forging.rows(bank.ledger, "workflow_sessions") == []


@pytest.mark.parametrize("name", ["a", "a" * 200, "Überweisung №1"])
def test_a_key_of_up_to_200_characters_is_taken(bank: BankWorld, name: str) -> None:
    assert opening.open_session(bank.services, "bank", {}, name).request_id == name


@case("expired_key")
def test_a_key_past_its_lifetime_is_refused_for_ever(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X6, S11"""
    work = paid(bank)
    for _ in range(2):
        bank.clock.move(365 * 86_400)
        with bank.ledger.write() as tx:
            tombstones.bury(tx, tx.now, 100)
        refused = bank.claim(work)
        assert isinstance(refused, claims.Refused)
        assert "key_expired" in [reason.code for reason in refused.answer.reasons]
    assert len(honest.effects) == 1


@case("expired_approval")
def test_an_approval_past_its_term_executes_nothing(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """A5"""
    work = bank.resumed()
    bank.clock.move(30 * 86_400)
    work = bank.execute(work)
    assert (bank.item(work).state, proxy.seen) == ("expired", [])
    reasons = bank.told(work, "reapproval_required")[0]["reasons"]
    assert "approval_expired" in str(reasons)


@case("validation_failed_first")
def test_what_was_not_valid_has_used_no_key(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """X1"""
    with pytest.raises(InvalidInput):
        opened_again(bank, orders=[{"amount_minor": -1}])
    assert (paid(bank).session.status, len(honest.effects)) == ("completed", 1)


@case("definite_failure")
def test_a_definite_no_is_the_result_and_not_tried_again(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """A8"""
    proxy.plan = [Told(402, [], b"no money")]
    work = bank.execute(bank.resumed())
    (failed,) = work.state.execution_result
    work = bank.execute(work)
    assert work.state.execution_result == (failed,)
    assert (failed.outcome, len(proxy.seen)) == ("failed", 1)


@case("unknown")
def test_an_unknown_outcome_is_asked_about_and_never_sent_under_another_key(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy
) -> None:
    """X5, S9"""
    proxy.plan = ["drop_before", Told(500, [], b""), "drop_after"]
    work = bank.to_the_end(bank.resumed())
    assert (work.session.status, len(honest.effects)) == ("completed", 1)
    assert len({seen.headers["Idempotency-Key"] for seen in proxy.writes}) == 1


@case("crash_between")
def test_a_claim_of_a_dead_process_does_not_age_into_a_plain_retry(
    bank: BankWorld, proxy: ProviderProxy
) -> None:
    """X8, S9"""
    bank.promises(looks_up=False)
    work, claim = bank.claimed()
    gate.open_for(bank.services.gate, claim.id, claim.token, PAY_OUT.name)
    bank.clock.move(30 * 86_400)
    work, _ = bank.advance(bank.superseded(reload(bank.services, work.held)))
    assert (bank.item(work).state, work.session.status) == (
        "execution_unknown",
        "unknown",
    )
    assert proxy.seen == []


@case("same_intent_other_key")
def test_equal_payloads_are_never_taken_for_one(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """A13"""
    work, _ = bank.advance(bank.resumed(orders=[{}, {}, {}]))
    paid(bank, "request-2")
    assert work.session.status == "completed"
    assert len({effect.key for effect in honest.effects}) == 4


def test_the_second_of_equal_transfers_needs_an_approval_of_its_own(
    bank: BankWorld,
) -> None:
    """A13, X4"""
    first = bank.resumed("request-1", orders=[TRANSFER])
    second = bank.resumed("request-2", orders=[TRANSFER])
    bank.execute(first)
    second, decision = bank.advance(second)
    assert isinstance(decision, RequestApproval)
    assert bank.balances()["a-1"] == 95_000
