"""What runs is what was approved: section A of the failures in the field."""

import json
from typing import Any

import pytest
from pydantic import ValidationError

from policies.errors import InvalidInput, Refused
from policies.plan import ItemVerdict
from tasks import waiting
from tasks.work import Work, reload
from tests import forging
from tests.bank import tools
from tests.bank.adapter import Bank, Payment
from tests.bank.store import BankStore
from tests.bank.world import BankWorld
from tests.integration.guard_changes import CHANGES, overwrite
from tests.integration.test_guard_on_rows import reasons
from tests.integration.test_round_forms import shown, submit
from tests.provider_server import HonestProvider
from tests.reading import codes
from tests.smtp_server import RecordingServer
from tests.world import World

RENT = {
    "account": "a-1",
    "recipient": "a-2",
    "amount_minor": 5_000,
    "subject": "Rent",
    "date": "2025-03-04",
}
RECORDS = ("items", "payload_versions", "verdicts")


def paid(honest: HonestProvider) -> list[int]:
    """The amounts that the provider has paid out."""
    return [json.loads(effect.body)["amount"] for effect in honest.effects]


def paid_to(honest: HonestProvider) -> list[str]:
    """To whom it has."""
    return [json.loads(e.body)["metadata"]["recipient"] for e in honest.effects]


def records(world: World) -> list[list[tuple[Any, ...]]]:
    return [forging.rows(world.ledger, table) for table in RECORDS]


def refused(world: World, work: Work) -> list[str]:
    """Why verdicts on this request were not taken, as the trail tells it."""
    return [str(told["code"]) for told in world.told(work, "verdict_refused")]


def let_it_say(patch: pytest.MonkeyPatch, **changes: Any) -> None:
    """From now on the agent's step proposes something else."""
    assemble = Bank.assemble

    def otherwise(*given: Any) -> Payment:
        return assemble(*given).model_copy(update=changes)

    patch.setattr(Bank, "assemble", otherwise)


def test_a1_what_a_step_says_when_it_runs_again_does_not_run(
    bank: BankWorld, honest: HonestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = bank.resumed()
    let_it_say(monkeypatch, recipient="a-3")
    work, _ = bank.advance(bank.superseded(work))
    assert (work.session.status, paid_to(honest)) == ("completed", ["a-2"])


def test_a1_other_arguments_are_another_version_and_void_the_approval(
    bank: BankWorld, honest: HonestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = bank.resumed()
    let_it_say(monkeypatch, recipient="a-3")
    bank.touch("a-1")
    work = bank.execute(bank.superseded(work))
    assert reasons(bank, work) == ["resource_version_changed"]
    assert bank.item(work).state == "reapproval_required"
    work, asking = bank.form(work)
    assert asking is not None and asking.form.items[0].version == 2
    assert "a-3" in asking.markdown
    assert paid_to(honest) == []
    bank.approve(work)
    bank.advance(bank.resume(work))
    assert paid_to(honest) == ["a-3"]


def test_a2_what_a_hook_makes_of_an_argument_is_asked_and_done(
    bank: BankWorld, honest: HonestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    let_it_say(monkeypatch, amount_minor=2_500)
    work, asking = bank.form(bank.opened())
    assert asking is not None
    assert "2500" in asking.markdown and "5000" not in asking.markdown
    bank.approve(work)
    bank.advance(bank.resume(work))
    assert paid(honest) == [2_500]


def test_a2_what_is_rewritten_after_the_approval_is_blocked(
    bank: BankWorld, honest: HonestProvider
) -> None:
    work = bank.resumed()
    stored = bank.version(work).snapshot.payload.ref
    text = bank.services.artifacts.get(stored).decode()
    overwrite(bank, stored, text.replace("5000", "2500").encode())
    work, _ = bank.advance(bank.execute(work))
    assert "payload_hash_mismatch" in reasons(bank, work)
    assert (bank.item(work).state, paid(honest)) == ("blocked", [])


@pytest.mark.parametrize("code", ["evidence_changed", "resource_version_changed"])
def test_a3_content_that_changed_since_is_not_acted_on(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch, code: str
) -> None:
    work = world.resumed()
    CHANGES[code].do(world, work, monkeypatch)
    work = world.execute(work)
    assert reasons(world, work) == [code]
    assert (world.item(work).state, mail.received) == ("reapproval_required", [])


def test_a4_an_edit_makes_no_other_action(
    bank: BankWorld, honest: HonestProvider
) -> None:
    work = bank.asked()
    before = records(bank)
    others: tuple[dict[str, Any], ...] = (
        {"account": "a-3"},
        {"recipient": "a-3"},
        {"tool": "bank.transfer"},
        {"tenant": "other"},
        {"subject": "Rent", "account": "a-3"},
    )
    for edit in others:
        said = bank.says(work, "edit", edit=edit)
        assert codes(bank.hand_in(work, said)) == ["invalid_edit"]
    assert records(bank) == before
    assert (refused(bank, work), paid(honest)) == (["invalid_edit"] * 5, [])


def test_a6_an_item_s_id_with_other_arguments_changes_nothing(
    bank: BankWorld, honest: HonestProvider
) -> None:
    work = bank.asked()
    said = bank.says(work, "approve", edit={**RENT, "amount_minor": 1})
    assert codes(bank.hand_in(work, said)) == ["invalid_edit"]
    with pytest.raises(ValidationError):
        ItemVerdict.model_validate({**said.model_dump(), "tool": "bank.transfer"})
    assert (refused(bank, work), paid(honest)) == (["invalid_edit"], [])
    bank.approve(work)
    bank.advance(bank.resume(work))
    assert paid(honest) == [5_000]


def test_a6_a_claim_s_id_at_another_tool_moves_nothing(
    bank: BankWorld, honest: HonestProvider
) -> None:
    _, claim = bank.claimed()
    before = bank.balances()
    with pytest.raises(Refused) as told:
        tools.transfer(bank.services, claim.id, claim.token)
    assert told.value.code == "not_claimed"
    assert (bank.balances(), paid(honest)) == (before, [])


def test_a10_a_page_from_before_it_was_asked_again_decides_nothing(
    world: World, mail: RecordingServer
) -> None:
    work = world.resumed()
    page = world.says(work, "approve")
    world.edit_address("c-1", "grace@new.example.com")
    work, _ = world.form(world.execute(work))
    before = records(world)
    outcome = world.hand_in(work, page)
    assert codes(outcome) == ["stale_version"]
    assert "version 2 is" in str(outcome)
    assert (records(world), mail.received) == (before, [])
    assert refused(world, work) == ["stale_version"]


def test_a10_what_was_declined_stays_so_when_it_is_asked_for_again(
    world: World, mail: RecordingServer
) -> None:
    first = world.asked()
    page = world.says(first, "approve")
    world.hand_in(first, world.says(first, "reject"))
    second = world.asked("request-2")
    outcome = world.hand_in(first, page)
    assert codes(outcome) == ["already_decided"]
    assert "rejected v1 by ada" in str(outcome)
    assert world.item(second).state == "waiting_for_review"
    assert (refused(world, first), mail.received) == (["already_decided"], [])


def test_a11_the_answer_of_one_turn_does_not_open_the_next(
    world: World, mail: RecordingServer
) -> None:
    work, first = shown(world, world.asked())
    work, _ = submit(world, work, first, "approve")
    world.edit_address("c-1", "grace@new.example.com")
    work, second = world.form(world.execute(work))
    assert second is not None and second.pause.key != first.pause.key
    work, again = submit(world, work, second, first.form.items[0].choices[0])
    assert again is not None and "Not recorded yet" in again.markdown
    for pause in waiting.unread_pauses(world.services, work):
        work = waiting.take_stored_answer(world.services, work, pause, None)
    assert world.item(work).state == "waiting_for_review"
    assert (len(world.told(work, "resumed")), mail.received) == (1, [])


def test_a13_two_that_wait_at_once_are_never_taken_for_each_other(
    bank: BankWorld, honest: HonestProvider
) -> None:
    work = bank.asked(orders=[{}, {}])
    first, second = bank.items(work)
    foreign = bank.version(work, second).snapshot.digest
    swapped = bank.says(work, "approve", first, snapshot=foreign)
    assert codes(bank.hand_in(work, swapped)) == ["snapshot_mismatch"]
    said = (bank.says(work, "reject", first), bank.says(work, "approve", second))
    assert codes(bank.hand_in(work, *said)) == []
    work, _ = bank.advance(bank.resume(work))
    assert [item.state for item in bank.items(work)] == ["rejected", "executed"]
    keys = [effect.key for effect in honest.effects]
    assert keys == [bank.version(work, second).snapshot.key]


def test_a15_who_saw_what_has_changed_since_approves_nothing(
    world: World, mail: RecordingServer
) -> None:
    work = world.asked()
    seen = world.says(work, "approve")
    world.edit(work, by="bob", body="Something else.")
    assert codes(world.hand_in(work, seen)) == ["stale_version"]
    renumbered = seen.model_copy(update={"version": 2})
    assert codes(world.hand_in(work, renumbered)) == ["snapshot_mismatch"]
    work, _ = world.advance(reload(world.services, work.held))
    assert world.item(work).state == "waiting_for_review"
    assert refused(world, work) == ["stale_version", "snapshot_mismatch"]
    assert mail.received == []


def test_a20_nobody_but_the_tool_says_which_fields_count(
    bank: BankWorld, honest: HonestProvider
) -> None:
    asked: tuple[dict[str, Any], ...] = (
        {"fields": ["amount_minor"]},
        {"presentation": ["subject"]},
        {"orders": [{"ignored": ["amount_minor"]}]},
    )
    for request in asked:
        with pytest.raises(InvalidInput):
            bank.opened(**request)
    work = bank.asked()
    said = bank.says(work, "approve").model_dump()
    with pytest.raises(ValidationError):
        ItemVerdict.model_validate({**said, "fields": ["amount_minor"]})
    assert len(forging.rows(bank.ledger, "workflow_sessions")) == 1
    assert paid(honest) == []


def test_a21_an_approval_that_brings_the_payload_back_is_refused(
    bank: BankWorld, honest: HonestProvider
) -> None:
    work = bank.asked()
    echoed: dict[str, Any] = {name: str(value) for name, value in RENT.items()}
    said = bank.says(work, "approve", edit=echoed)
    assert codes(bank.hand_in(work, said)) == ["invalid_edit"]
    assert (refused(bank, work), paid(honest)) == (["invalid_edit"], [])
    bank.approve(work)
    bank.advance(bank.resume(work))
    assert paid(honest) == [5_000]


def test_a22_an_approval_does_not_stand_for_a_newer_version(
    world: World, mail: RecordingServer
) -> None:
    work = world.resumed()
    world.edit_address("c-1", "grace@new.example.com")
    work, asking = world.form(world.execute(work))
    item = world.item(work)
    assert asking is not None and asking.form.items[0].version == 2
    assert (item.state, item.version) == ("waiting_for_review", 2)
    assert item.expires_at is None
    work = world.execute(work)
    assert reasons(world, work) == ["not_approved"]
    assert mail.received == []


def test_a23_an_approval_is_spent_once(
    world: World, mail: RecordingServer, monkeypatch: pytest.MonkeyPatch
) -> None:
    work = world.resumed()
    CHANGES["approval_spent"].do(world, work, monkeypatch)
    work, _ = world.advance(world.execute(work))
    assert reasons(world, work) == ["approval_spent"]
    assert (work.session.status, mail.received) == ("blocked", [])


def test_a23_what_was_not_there_when_it_was_approved_must_not_be_there(
    bank: BankWorld, honest: HonestProvider, monkeypatch: pytest.MonkeyPatch
) -> None:
    def holds(*given: Any) -> str:
        return f"{given[-1].removeprefix('account:')} may be charged"

    monkeypatch.setattr(BankStore, "precondition", holds)
    work = bank.resumed(orders=[{"account": "a-9"}])
    assert bank.version(work).snapshot.intent.resource_version is None
    bank.load(accounts=[["a-9", 100]])
    work = bank.execute(work)
    assert reasons(bank, work) == ["resource_version_changed"]
    assert (bank.item(work).state, paid(honest)) == ("reapproval_required", [])
