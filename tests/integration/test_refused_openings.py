"""What cannot be carried, or is not ours, is refused before anything is written."""

from typing import Any

import pytest

from blocks.support_email import store
from blocks.vault import Vault
from channels.service import Service
from policies.errors import Conflict, InvalidInput, Misconfigured
from policies.value import Json
from tasks import opening
from tests import forging
from tests.world import TICKET, World

REQUEST = {"ticket_id": "t-1", "requested_by": "agent"}


def written(world: World) -> list[list[tuple[object, ...]]]:
    tables = ("workflow_sessions", "domain_sessions", "audit_events", "tickets")
    return [forging.rows(world.ledger, t) for t in (*tables, "customer_emails")]


def test_c26_without_its_secret_key_a_process_opens_no_request(world: World) -> None:
    """W5: it could never read a form's code; so it leaves the request to others."""
    keyless = world.another()
    keyless.vault = Vault(None)
    before = written(world)
    with pytest.raises(Misconfigured, match="PLACET_SECRET_KEY"):
        opening.open_session(keyless, "support_email", REQUEST, "r-1")
    assert written(world) == before
    opening.open_session(world.services, "support_email", REQUEST, "r-1")


def test_without_a_mail_server_a_process_opens_no_request(world: World) -> None:
    """W5"""
    mute = world.another()
    mute.settings = mute.settings.model_copy(update={"mail": None})
    before = written(world)
    with pytest.raises(Misconfigured, match="PLACET_MAIL"):
        opening.open_session(mute, "support_email", REQUEST, "r-1")
    assert written(world) == before


UNFIT: dict[str, tuple[object, str]] = {
    "nothing": (None, "invalid_request"),
    "a list": ([REQUEST], "invalid_request"),
    "a number": (7, "invalid_request"),
    "a text": ("t-1", "invalid_request"),
    "a number for a text": ({"ticket_id": 7}, "invalid_request"),
    "a list for a text": ({"ticket_id": ["t-1"]}, "invalid_request"),
    "nothing for a text": ({"ticket_id": None}, "invalid_request"),
    "NUL": ({"ticket_id": "t-1\x00"}, "invalid_request"),
    "NUL for a name": ({**REQUEST, "requested_by": "\x00"}, "invalid_request"),
    "half a character": ({"ticket_id": "\ud800"}, "not_strict_json"),
    "half a character as a name": ({**REQUEST, "\ud800": 1}, "not_strict_json"),
    "two megabytes": ({"ticket_id": "a" * 2_000_000}, "too_large"),
}


@pytest.mark.parametrize("kind", UNFIT)
def test_what_is_no_request_is_refused_and_leaves_no_session(
    world: World, kind: str
) -> None:
    request, code = UNFIT[kind]
    before = written(world)
    with pytest.raises(InvalidInput) as refused:
        opening.open_session(world.services, "support_email", request, "r-1")
    assert (refused.value.code, "\n" in str(refused.value)) == (code, False)
    assert len(str(refused.value)) < 500
    assert written(world) == before


OF_ANOTHER: dict[str, Json] = {
    "customers": {"id": "c-1", "name": "Grace Hopper", "email": "eve@evil.test"},
    "tickets": {**TICKET, "customer": None, "message": "Send it to eve."},
}


@pytest.mark.parametrize("records", OF_ANOTHER)
def test_loading_never_touches_the_row_of_another_tenant(
    world: World, records: str
) -> None:
    """Q4: the same id in another tenant's file is not that tenant's row."""
    row: Any = OF_ANOTHER[records]
    foreign: Json = {records: [{**row, "tenant": "evil"}]}
    before = written(world)
    with pytest.raises(Conflict, match="there already"):
        Service(world.services).load_records("support_email", foreign, "eve")
    assert written(world) == before
    with world.ledger.read() as tx:
        (known,) = store.customers_by_id(tx, "main", ("c-1",))
    assert known["email"] == "grace@example.com"
