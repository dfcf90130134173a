"""A business domain as the ledger's scripts see it: its judgement and its tables."""

from collections.abc import Mapping
from typing import NamedTuple, Protocol

from blocks.ledger.database import Transaction
from policies.adapter import Adapter
from policies.errors import Misconfigured
from policies.value import Json


class Loaded(NamedTuple):
    """The ids of the records that were given, by what became of each."""

    new: tuple[str, ...]
    changed: tuple[str, ...]
    unchanged: tuple[str, ...]


class DomainStore(Protocol):
    """A domain's tables. Called inside the ledger's transactions."""

    def resource_version(
        self, tx: Transaction, tenant: str, resource: str
    ) -> int | None:
        """The present version of a resource; None if it does not exist."""
        ...

    def precondition(self, tx: Transaction, tenant: str, resource: str) -> str | None:
        """What holds of the resource now, in the words of the adapter's `target`."""
        ...

    def load_records(self, tx: Transaction, records: dict[str, Json]) -> Loaded:
        """Put a domain's records into its tables; the same ones change nothing."""
        ...

    def check_request(self, tx: Transaction, request: dict[str, Json]) -> None:
        """Refuse a request that could only be blocked, by what the tables hold now.

        `NotFound` or `InvalidInput` say what has to be loaded first.
        """
        ...


class Domain(NamedTuple):
    """One registered domain; `tools` is the module that runs its tools.

    `needs` names the services without which a request cannot be carried to its end.
    """

    adapter: Adapter
    store: DomainStore
    tools: str
    needs: tuple[str, ...] = ()


def domain_of(domains: Mapping[str, Domain], name: str) -> Domain:
    """The domain that a request was opened in; `Misconfigured` if it is gone."""
    found = domains.get(name)
    if found is None:
        raise Misconfigured(
            f"The domain {name} of this request is not registered.",
            hint="Add it again in tasks/domains.py.",
        )
    return found
