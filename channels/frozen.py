"""Which freezes stand over what is told, so that nobody wonders why it stands still."""

from blocks.ledger.freezes import Freeze
from blocks.ledger.items import Item
from policies.lifecycle import FINAL


def over_items(
    standing: tuple[Freeze, ...], items: tuple[Item, ...]
) -> tuple[Freeze, ...]:
    """The freezes that stop at least one of these items; nothing stops what is over."""
    waiting = [item for item in items if item.state not in FINAL]
    return tuple(
        freeze
        for freeze in standing
        if any(freeze.covers(i.gate.tenant, (i.action_type,)) for i in waiting)
    )


def over_request(
    standing: tuple[Freeze, ...], tenant: str, items: tuple[Item, ...]
) -> tuple[Freeze, ...]:
    """The freezes that stop an open request; one without a plan, whatever it asks."""
    if items:
        return over_items(standing, items)
    return tuple(freeze for freeze in standing if freeze.covers(tenant, ()))
