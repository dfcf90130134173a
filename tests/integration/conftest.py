"""What the tests of outside effects share: providers, a proxy, and the bank."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from blocks.http_settings import HttpSettings
from tests.bank.world import BankWorld
from tests.provider_proxy import ProviderProxy
from tests.provider_server import HonestProvider
from tests.stripe_server import TOKEN, LocalStripe

KEEPS: dict[str, Any] = {
    "dedupes": True,
    "refuses_conflicts": True,
    "looks_up": True,
    "settles_seconds": 60,
}
IGNORES: dict[str, Any] = {"looks_up": True, "settles_seconds": 60}


@pytest.fixture
def proxy(honest: HonestProvider) -> Iterator[ProviderProxy]:
    """In front of the provider that keeps its promise."""
    with ProviderProxy(honest.port) as running:
        yield running


@pytest.fixture
def stripe_proxy(stripe: LocalStripe) -> Iterator[ProviderProxy]:
    """In front of the provider that ignores the key; looks up by listing."""
    with ProviderProxy(stripe.port, stripe.find) as running:
        yield running


@pytest.fixture
def bank(database: str, tmp_path: Path, proxy: ProviderProxy) -> Iterator[BankWorld]:
    """A bank whose provider keeps its promise."""
    http = HttpSettings(base_url=proxy.url, timeout_seconds=10, **KEEPS)
    made = BankWorld(database, tmp_path, http)
    yield made
    made.close()


@pytest.fixture
def stripe_bank(
    database: str, tmp_path: Path, stripe_proxy: ProviderProxy
) -> Iterator[BankWorld]:
    """A bank whose provider ignores the key; it settles in a minute."""
    token: Any = TOKEN
    http = HttpSettings(
        base_url=stripe_proxy.url, token=token, timeout_seconds=10, **IGNORES
    )
    made = BankWorld(database, tmp_path, http)
    yield made
    made.close()
