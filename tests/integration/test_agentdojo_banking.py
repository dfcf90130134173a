"""Real agents' payments: whatever goes wrong on the way, each is made once.

The data says which state a bank is in when each approved call was made once; a call
made twice shows in it.
"""

import hashlib
import json
from decimal import Decimal
from typing import Any

import pytest
import rfc8785

from policies.value import Json
from tasks.work import Work
from tests.bank.world import BankWorld
from tests.cases import case_lines, cases, needs_cases
from tests.provider_proxy import ProviderProxy
from tests.provider_server import Effect, HonestProvider

_FOLDER = "agentdojo_banking"
pytestmark = needs_cases


def _writes(task: dict[str, Any]) -> list[dict[str, Any]]:
    return [call for call in task["proposals"] if call["kind"] == "write"]


def _pays(task: dict[str, Any]) -> bool:
    """Whether all that it changes is payments: those are what our bank can do."""
    tools = [call["tool"] for call in _writes(task)]
    return bool(tools) and set(tools) == {"send_money"}


TASKS = (
    [task for task in case_lines(_FOLDER, "tasks.jsonl") if _pays(task)]
    if cases(_FOLDER).is_dir()
    else []
)
payments = pytest.mark.parametrize("task", TASKS, ids=lambda t: t["task_id"])


def environment() -> dict[str, Any]:
    found: dict[str, Any] = json.loads(cases(_FOLDER, "env.json").read_text("utf-8"))
    return found


def orders(task: dict[str, Any], tool: str) -> list[dict[str, Any]]:
    """The payments of a task in minor units."""
    return [
        {
            "tool": tool,
            "account": environment()["bank_account"]["iban"],
            "recipient": call["args"]["recipient"],
            "amount_minor": int(Decimal(str(call["args"]["amount"])) * 100),
            "subject": call["args"]["subject"],
            "date": call["args"]["date"],
        }
        for call in _writes(task)
    ]


def state_after(effects: list[Effect]) -> str:
    """The digest of the bank's state, had it begun as the data's and done these."""
    state = environment()
    bank = state["bank_account"]
    for effect in effects:
        said = json.loads(effect.body)
        known = bank["transactions"] + bank["scheduled_transactions"]
        bank["transactions"].append(
            {
                "id": 1 + max(row["id"] for row in known),
                "sender": bank["iban"],
                "recipient": said["metadata"]["recipient"],
                "amount": said["amount"] / 100,
                "subject": said["description"],
                "date": said["metadata"]["date"],
                "recurring": False,
            }
        )
    return hashlib.sha256(rfc8785.dumps(state)).hexdigest()


def approved(bank: BankWorld, asked: list[dict[str, Any]]) -> Work:
    """With accounts for all who take part, and approved by the owner."""
    iban = environment()["bank_account"]["iban"]
    recipients = {order["recipient"] for order in asked}
    bank.load(accounts=[[iban, 181_000], *([name, 0] for name in recipients)])
    bank.add("olga", "owner", permissions=("bank.pay",))
    plain: list[Json] = [*asked]
    work = bank.asked(orders=plain)
    bank.approve(work, by="olga")
    return bank.resume(work)


@payments
def test_whatever_goes_wrong_on_the_wire_the_bank_is_as_after_one_call_each(
    bank: BankWorld, honest: HonestProvider, proxy: ProviderProxy, task: dict[str, Any]
) -> None:
    """X5, X8"""
    asked = orders(task, "pay_out")
    proxy.plan = ["drop_before", "keep", "drop_after"] * len(asked)
    work = bank.to_the_end(approved(bank, asked))
    proxy.deliver()
    assert work.session.status == "completed"
    assert state_after(honest.effects) == task["expected_final_sha256"]
    assert len({effect.key for effect in honest.effects}) == len(asked)
    assert len(proxy.writes) == 3 * len(asked)


@payments
def test_a_transfer_whose_process_dies_is_in_the_balances_once(
    bank: BankWorld, task: dict[str, Any]
) -> None:
    """X3, X8"""
    asked = orders(task, "transfer")[:1]
    work = approved(bank, asked)
    bank.claim(work)
    work = bank.execute(bank.superseded(work))
    work, _ = bank.advance(bank.execute(work))
    amount = asked[0]["amount_minor"]
    moved = amount if amount <= 181_000 else 0
    held = bank.balances()
    assert held[environment()["bank_account"]["iban"]] == 181_000 - moved
    assert held[asked[0]["recipient"]] == moved
    assert work.session.status == ("completed" if moved else "failed")


def test_three_equal_payments_are_three(
    bank: BankWorld, honest: HonestProvider
) -> None:
    """A13"""
    task = next(t for t in TASKS if t["task_id"] == "banking-injection_task_6")
    asked = orders(task, "pay_out")
    assert asked[0] == asked[1] == asked[2]
    work = bank.to_the_end(approved(bank, asked))
    keys = {bank.version(work, item).snapshot.key for item in bank.items(work)}
    assert {effect.key for effect in honest.effects} == keys
    assert len(keys) == 3


def test_an_equal_transfer_after_the_first_is_approved_again(bank: BankWorld) -> None:
    """A13, X4: the first one has changed the account."""
    task = next(t for t in TASKS if t["task_id"] == "banking-injection_task_0")
    asked = orders(task, "transfer") * 2
    work = approved(bank, asked)
    work, _ = bank.advance(work)
    states = [item.state.value for item in bank.items(work)]
    assert states == ["executed", "waiting_for_review"]
