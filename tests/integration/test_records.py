"""Loading customers and tickets: refused with the place, or kept as they are."""

import pytest

from blocks.support_email import store
from policies.errors import InvalidInput
from policies.value import Json
from tests.world import TICKET, World

TICKET_TEXTS = ("sender", "subject", "message", "suggested_reply", "language")


def test_text_that_not_every_database_can_hold_is_refused_with_its_place(
    world: World,
) -> None:
    """PostgreSQL has no NUL in a text; JSON spells one as \\u0000."""
    for field in TICKET_TEXTS:
        with pytest.raises(InvalidInput, match=rf"tickets\.1\.{field} must not hold"):
            world.load(tickets=[TICKET, {**TICKET, "id": "t-2", field: "a\x00b"}])
    customer: dict[str, Json] = {"id": "c-3", "name": "Ada", "email": "a@b.test"}
    for field in ("name", "email"):
        with pytest.raises(InvalidInput, match=rf"customers\.0\.{field} must not hold"):
            world.load(customers=[{**customer, field: "\x00"}])


def test_any_other_text_is_kept_as_it_is(world: World) -> None:
    odd = "\x01\x7f\u202e\ufeff\U0001f600"
    world.load(tickets=[{**TICKET, "id": "t-2", "subject": odd}])
    with world.ledger.read() as tx:
        assert store.ticket(tx, "main", "t-2")["subject"] == odd
