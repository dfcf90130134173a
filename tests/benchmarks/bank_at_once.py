"""The bank's tools, with a provider that has paid before it is asked: no network."""

from collections.abc import Mapping
from types import MappingProxyType

from blocks.domain import Domain
from blocks.ledger.effects import Result
from blocks.provider import Answer, Finding, Promise, Sendable
from policies.value import Json
from tasks import effects
from tasks.effects import Effect, External
from tasks.services import Services
from tests.bank import tools
from tests.bank.adapter import PAY_OUT
from tests.bank.tools import WORK, collect_context
from tests.bank.world import DOMAINS as WITH_NETWORK

__all__ = ["DOMAINS", "EFFECTS", "WORK", "collect_context"]


class AtOnce:
    """Says yes to everything, by the operation's own key."""

    promise = Promise(dedupes=True, looks_up=True)

    def send(self, operation: Sendable) -> Answer:
        """Accepted."""
        operation.take_body()
        operation.confirm()
        return Answer(
            kind="accepted", detail="200 OK", provider_ref=operation.key, said={}
        )

    def look_up(self, key: str, envelope: dict[str, Json]) -> Finding:
        """It happened."""
        return Finding(kind="happened", detail="200 OK", provider_ref=key, said={})


_PROVIDER = AtOnce()


def pay_out(services: Services, claim: str, token: int) -> Result:
    """Pass the gate and let it be paid."""
    return effects.send(services, claim, token, PAY_OUT.name, _PROVIDER)


_PAYING = tools.EFFECTS[PAY_OUT.name]
assert isinstance(_PAYING, External)
EFFECTS: Mapping[str, Effect] = {
    PAY_OUT.name: _PAYING._replace(tool=pay_out, provider=lambda services: _PROVIDER)
}
DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {"bank": WITH_NETWORK["bank"]._replace(tools=__name__)}
)
