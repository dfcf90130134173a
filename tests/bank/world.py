"""An installation with the bank as its domain, and what its accounts hold."""

from collections.abc import Mapping
from pathlib import Path
from types import MappingProxyType
from typing import Any, ClassVar

from sqlalchemy import select

from blocks.domain import Domain
from blocks.http_settings import HttpSettings
from blocks.ledger import claims, freezes, sessions
from blocks.ledger.claims import Claim
from blocks.ledger.freezes import Scope
from policies.decision import Wait
from policies.value import Json
from tasks import reconciling, waiting
from tasks.work import Work, reload
from tests.bank import store
from tests.bank.adapter import Bank
from tests.bank.store import BankStore
from tests.world import FLOW_RUN, World

DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {"bank": Domain(adapter=Bank(), store=BankStore(), tools="tests.bank.tools")}
)
ACCOUNTS: list[Json] = [["a-1", 100_000], ["a-2", 0], ["a-3", 50_000]]
TRANSFER: dict[str, Json] = {"tool": "transfer"}


class BankWorld(World):
    """Two accounts and one provider."""

    domain_name = "bank"
    request: ClassVar[dict[str, Json]] = {}
    permissions = ("bank.pay",)

    def __init__(self, database_url: str, folder: Path, http: HttpSettings) -> None:
        super().__init__(database_url, folder, http={"bank": http})

    def furnish(self) -> None:
        """Make the bank's tables and open the accounts."""
        self.services.domains = DOMAINS
        store.Base.metadata.create_all(self.ledger.engine)
        self.load(accounts=ACCOUNTS)

    def promises(self, **changes: Any) -> None:
        """Let the provider be declared to keep something else."""
        known = self.services.settings.http["bank"].model_dump()
        changed = HttpSettings.model_validate({**known, **changes})
        self.services.settings.http["bank"] = changed

    def set_frozen(self, frozen: bool) -> None:
        """Freeze everything, or lift that."""
        everything = Scope(tenant=None, tool=None)
        with self.ledger.write() as tx:
            freezes.put(tx, everything, frozen=frozen, actor="tests", reason="tests")

    def touch(self, account: str, by: int = 0) -> None:
        """Let somebody else change an account."""
        with self.ledger.write() as tx:
            store.change(tx, account, by)

    def balances(self) -> dict[str, int]:
        """What every account holds."""
        with self.ledger.read() as tx:
            rows = tx.all(select(store.Account).order_by(store.Account.id))
        return {row.id: row.balance for row in rows}

    def entries(self) -> list[tuple[str, int]]:
        """What was booked: account and amount."""
        with self.ledger.read() as tx:
            rows = tx.all(select(store.Entry).order_by(store.Entry.id))
        return [(row.account, row.amount) for row in rows]

    def claim_of(self, work: Work, index: int = 0) -> Claim:
        """The claim on an item's newest operation."""
        with self.ledger.read() as tx:
            return claims.of_item(tx, self.items(work)[index].id)[-1]

    def look_up(self, work: Work) -> bool:
        """Ask the provider what became of the first item's operation."""
        return reconciling.look_up(self.services, work, self.claim_of(work))

    def asked_again(self, work: Work) -> Work:
        """Wait over: the guard is asked again about what it had held back."""
        pause = waiting.start_plain_pause(self.services, work, FLOW_RUN)
        return waiting.let_go(self.services, work, pause)

    def goes_on(self, work: Work) -> Work:
        """The request as far as it goes now, whoever has settled what."""
        work = reload(self.services, work.held)
        return self.advance(work)[0]

    def to_the_end(self, work: Work) -> Work:
        """The request to its end, through every wait for the next attempt."""
        work, decision = self.advance(work)
        while isinstance(decision, Wait):
            assert decision.until is not None
            self.clock.set(decision.until)
            work, decision = self.advance(self.asked_again(work))
        return work

    def status(self, work: Work) -> str:
        """The session's status."""
        with self.ledger.read() as tx:
            return sessions.load(tx, work.workflow).status
