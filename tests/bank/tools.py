"""The bank's tools: money paid out by a provider, money moved in our own tables.

Plain functions: a tool need not be a Prefect task.
"""

import json
from collections.abc import Callable, Mapping

from blocks.http_provider import HttpEnvelope, HttpProvider
from blocks.ledger.effects import Result
from blocks.provider import Message
from policies.state import View
from policies.value import Json
from tasks import effects
from tasks.effects import Effect, External, Internal
from tasks.services import Services
from tasks.work import Made, Work
from tests.bank.adapter import PAY_OUT, TRANSFER
from tests.bank.store import move_money

WORK: Mapping[str, Callable[[Services, Work, View], Made]] = {}


def collect_context(services: Services, work: Work) -> Made:
    """Nothing is needed beside the request."""
    return Made(result={"evidence": []})


def pay_out(services: Services, claim: str, token: int) -> Result:
    """Let the provider pay."""
    return effects.send(services, claim, token, PAY_OUT.name, _provider(services))


def transfer(services: Services, claim: str, token: int) -> Result:
    """Move money between accounts of ours."""
    return effects.apply(services, claim, token, TRANSFER.name, move_money)


def _payout(services: Services, payload: dict[str, Json], key: str) -> Message:
    """As Stripe takes payouts. The moment makes each call's bytes different."""
    body: dict[str, Json] = {
        "currency": "eur",
        "amount": payload["amount_minor"],
        "description": payload["subject"],
        "metadata": {
            "operation": key,
            "recipient": payload["recipient"],
            "date": payload["date"],
            "made": services.clock().isoformat(),
        },
    }
    envelope = HttpEnvelope(
        path="/v1/payouts", look_up="/operations/{key}", ref="id"
    ).model_dump()
    data = json.dumps(body, ensure_ascii=False).encode()
    return Message(body=data, media_type="application/json", envelope=envelope)


def _provider(services: Services) -> HttpProvider:
    return HttpProvider(services.http("bank"))


EFFECTS: Mapping[str, Effect] = {
    PAY_OUT.name: External(pay_out, _payout, _provider),
    TRANSFER.name: Internal(transfer),
}
