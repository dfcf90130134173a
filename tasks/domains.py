"""The registered domains. To add one, add its line here."""

from collections.abc import Mapping
from types import MappingProxyType

from blocks.domain import Domain
from blocks.support_email.store import SupportEmailStore
from policies.errors import InvalidInput
from policies.support_email.adapter import SupportEmail

# `tools` is a name and not a module: whoever only decides or reads need not import
# Prefect, which the tools do.
DOMAINS: Mapping[str, Domain] = MappingProxyType(
    {
        "support_email": Domain(
            adapter=SupportEmail(),
            store=SupportEmailStore(),
            tools="tasks.support_email.tools",
            needs=("mail",),
        ),
    }
)


def find_domain(name: str, domains: Mapping[str, Domain] = DOMAINS) -> Domain:
    """A registered domain, or `InvalidInput` (unknown_domain)."""
    if name not in domains:
        raise InvalidInput(
            f"There is no domain {name!r}.",
            code="unknown_domain",
            hint=f"Registered: {', '.join(sorted(domains))}.",
        )
    return domains[name]


def known_permissions() -> tuple[str, ...]:
    """Every permission that a registered tool asks for; there are no others."""
    tools = (tool for d in DOMAINS.values() for tool in d.adapter.tools.values())
    return tuple(sorted({tool.permission for tool in tools}))
