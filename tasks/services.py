"""The composition root: what a process works with, made from its settings once."""

from functools import cached_property
from importlib.resources.abc import Traversable
from typing import TYPE_CHECKING, Any

from blocks.artifacts import ArtifactStore
from blocks.control import Control
from blocks.desk import Desk
from blocks.gate import Gate
from blocks.http_settings import HttpSettings
from blocks.ledger import proposals
from blocks.ledger.clock import Clock
from blocks.ledger.database import Ledger, open_ledger
from blocks.mail_settings import MailSettings
from blocks.model_settings import WorkflowModelSettings
from blocks.settings import Settings, load_settings
from blocks.vault import Vault
from policies.errors import Misconfigured
from tasks.domains import DOMAINS

if TYPE_CHECKING:
    from blocks.choosing import WorkflowModel
    from blocks.drafting import DraftingModel


class Services:
    """The parts that steps, flows and channels share; each is made when first used.

    A plain object on purpose: Prefect walks through dataclasses and models that are
    given to a task, and there is nothing for it to find in here.
    """

    def __init__(self, settings: Settings, clock: Clock | None = None) -> None:
        self.settings = settings
        self._given_clock = clock
        self.domains = DOMAINS

    @cached_property
    def ledger(self) -> Ledger:
        """The ledger, its schema checked against this code."""
        ledger = open_ledger(self._places[0], self._given_clock)
        ledger.check_schema()
        return ledger

    @cached_property
    def clock(self) -> Clock:
        """What time it is: the one that was given, or by the ledger's clock."""
        return self._given_clock or self.ledger.clock

    @cached_property
    def artifacts(self) -> ArtifactStore:
        """The artifact store."""
        return ArtifactStore(self._places[1], self._has_artifacts)

    def _has_artifacts(self) -> bool:
        with self.ledger.read() as tx:
            return proposals.has_artifacts(tx)

    @property
    def environment(self) -> str:
        """The environment's name, a part of every idempotency scope."""
        return self._places[2]

    @cached_property
    def vault(self) -> Vault:
        """The keeper of one-time-code seeds."""
        key = self.settings.secret_key
        return Vault(key.get_secret_value() if key else None)

    @cached_property
    def desk(self) -> Desk:
        """Where verdicts and answers are handed in."""
        return Desk(self.ledger, self.artifacts, self.vault, self.domains)

    @cached_property
    def control(self) -> Control:
        """Where outcomes are settled, reversals noted and effects frozen."""
        return Control(self.ledger, self.artifacts, self.vault, self.domains)

    @cached_property
    def mail(self) -> MailSettings:
        """The mail server: of the named block, or of the environment."""
        if self.settings.mail_block is not None:
            loaded: MailSettings = load_block("MailServer", self.settings.mail_block)
            return loaded
        if self.settings.mail is None:
            raise Misconfigured(
                "No mail server is set.",
                hint="Set PLACET_MAIL__HOST, PLACET_MAIL__SENDER and "
                "PLACET_MAIL__MESSAGE_ID_DOMAIN, or PLACET_MAIL_BLOCK.",
            )
        return self.settings.mail

    def http(self, name: str) -> HttpSettings:
        """The HTTP provider of that name: of the environment, or the block."""
        known = self.settings.http.get(name)
        settings: HttpSettings = known or load_block("HttpProviderBlock", name)
        return settings

    def drafter(self, templates: Traversable) -> "DraftingModel":
        """The domain model; `templates` is where the domain keeps its own."""
        name = self.settings.model_block
        source = self.settings.model if name is None else None
        settings = source or load_block("DraftingModelBlock", name or "")
        return settings.drafter(templates)

    @cached_property
    def workflow_model(self) -> "WorkflowModel | None":
        """The workflow model, or None: then rules alone decide."""
        name = self.settings.workflow_model_block
        if name is not None:
            block: WorkflowModelSettings = load_block("WorkflowModelBlock", name)
            return block.chooser()
        settings = self.settings.workflow_model
        return None if settings is None else settings.chooser()

    @property
    def gate(self) -> Gate:
        """The only way to an effect; see `blocks.gate`."""
        return Gate(
            self.ledger, self.artifacts, self.domains, self.settings.lease_seconds
        )

    @cached_property
    def _places(self) -> tuple[str, str, str]:
        """Database URL, artifact URL and environment."""
        settings = self.settings
        if settings.ledger_block is None:
            return settings.database_url, settings.artifacts, settings.environment
        block = load_block("LedgerBlock", settings.ledger_block)
        url = block.database_url.get_secret_value()
        return url, block.artifacts, block.environment


def load_services() -> Services:
    """The services of this process, from its environment."""
    return Services(load_settings())


def load_block(kind: str, name: str) -> Any:
    """A Prefect Block document, by the name of its class and its own name."""
    import blocks
    from blocks.prefect_runs import server_url

    server_url()
    try:
        return getattr(blocks, kind).load(name, _sync=True)
    except ValueError as error:
        raise Misconfigured(
            f"There is no Prefect block {name!r} of the kind {kind}.",
            hint="Make it in the Prefect UI, or `prefect block register -m blocks`.",
        ) from error
