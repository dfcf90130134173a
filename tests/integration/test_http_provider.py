"""HTTP as a provider: what each answer means, what goes out, what is kept of it."""

import logging
import socket
from itertools import count
from typing import Any

import pytest
from pydantic import ValidationError

from blocks import HttpProviderBlock
from blocks.http_provider import HttpProvider
from blocks.http_settings import HttpSettings
from blocks.settings import load_settings
from policies.errors import Superseded
from policies.value import Json
from tasks.services import Services
from tests.provider_proxy import ProviderProxy, Seen, Told
from tests.provider_server import HonestProvider
from tests.sendable import Ready
from tests.stripe_server import LocalStripe

KEY = "op-0123456789"
BODY = b'{"b":1, "a":2}'
TOKEN = "sk_secret_of_the_tests"
ENVELOPE: dict[str, Json] = {
    "path": "/v1/payouts",
    "content_type": "application/vnd.payouts+json",
    "look_up": "/operations/{key}",
    "ref": "id",
}


def settings(proxy: ProviderProxy, **changes: Any) -> HttpSettings:
    known = {"base_url": proxy.url, "token": TOKEN, "timeout_seconds": 10}
    keeps = {"dedupes": True, "looks_up": True, "settles_seconds": 60}
    return HttpSettings.model_validate({**known, **keeps, **changes})


def provider(proxy: ProviderProxy, **changes: Any) -> HttpProvider:
    return HttpProvider(settings(proxy, **changes))


def only(proxy: ProviderProxy) -> Seen:
    (seen,) = proxy.seen
    return seen


def test_the_stored_bytes_go_out_as_they_are_under_the_operation_s_key(
    proxy: ProviderProxy, honest: HonestProvider
) -> None:
    """X5"""
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert (answer.kind, answer.provider_ref) == ("accepted", "po_1")
    seen = only(proxy)
    assert (seen.method, seen.path, seen.body) == ("POST", "/v1/payouts", BODY)
    assert seen.headers["Idempotency-Key"] == KEY
    assert seen.headers["Content-Type"] == "application/vnd.payouts+json"
    assert seen.headers["Authorization"] == f"Bearer {TOKEN}"
    assert [effect.body for effect in honest.effects] == [BODY]


@pytest.mark.parametrize(
    ("statuses", "kind"),
    [
        ((200, 201, 202, 204), "accepted"),
        ((400, 401, 403, 404, 405, 410, 413, 415, 422, 451), "refused"),
        ((408, 409, 425, 429, 301, 302, 303, 307, 308), "unknown"),
        ((500, 501, 502, 503, 504, 599), "unknown"),
    ],
)
def test_a_status_says_whether_it_happened(
    proxy: ProviderProxy, statuses: tuple[int, ...], kind: str
) -> None:
    """X5"""
    for status in statuses:
        proxy.plan = [Told(status, [("Location", proxy.url)], b"because")]
        answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
        assert (answer.kind, answer.said["status"]) == (kind, status)
        assert status == 204 or "because" in answer.detail
    # A redirect is not followed: each was asked once.
    assert len(proxy.seen) == len(statuses)


@pytest.mark.parametrize(("doing", "effects"), [("drop_before", 0), ("drop_after", 1)])
def test_a_lost_connection_tells_nothing(
    proxy: ProviderProxy, honest: HonestProvider, doing: Any, effects: int
) -> None:
    """X5"""
    proxy.plan = [doing]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert answer.kind == "unknown"
    assert answer.detail.endswith("It may have happened.")
    assert (len(honest.effects), len(proxy.seen)) == (effects, 1)


def test_a_time_out_tells_nothing(proxy: ProviderProxy, honest: HonestProvider) -> None:
    """X5"""
    proxy.plan = ["hold"]
    answer = provider(proxy, timeout_seconds=0.1).send(Ready(KEY, BODY, ENVELOPE))
    assert (answer.kind, len(honest.effects)) == ("unknown", 0)
    assert "ReadTimeout" in answer.detail


@pytest.mark.parametrize("body", [BODY, b"1", b"x" * 1_000_000])
@pytest.mark.parametrize("may", [0, 1])
def test_who_may_not_send_any_more_stops_before_the_request_is_whole(
    proxy: ProviderProxy, honest: HonestProvider, may: int, body: bytes
) -> None:
    """X2, S9: neither before its first byte nor before its last."""
    asked = count()

    def confirm() -> None:
        if next(asked) == may:
            raise Superseded("Somebody else has it.")

    with pytest.raises(Superseded):
        provider(proxy).send(Ready(KEY, body, ENVELOPE, confirm))
    assert honest.effects == []
    assert provider(proxy).send(Ready(KEY, BODY, ENVELOPE)).kind == "accepted"


def test_without_a_connection_nothing_was_sent() -> None:
    """A8"""
    with socket.create_server(("127.0.0.1", 0)) as gone:
        url = f"http://127.0.0.1:{gone.getsockname()[1]}"
    answer = HttpProvider(HttpSettings(base_url=url)).send(Ready(KEY, BODY, ENVELOPE))
    assert answer.kind == "refused"
    assert answer.detail.endswith("Nothing was sent.")


@pytest.mark.parametrize("path", ["", "v1", "/a b", "/\r\nX: 1", "@x"])
def test_a_path_that_could_lead_elsewhere_is_not_sent(
    proxy: ProviderProxy, path: str
) -> None:
    answer = provider(proxy).send(Ready(KEY, BODY, {**ENVELOPE, "path": path}))
    assert (answer.kind, proxy.seen) == ("refused", [])


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, "happened"),
        (404, "did not happen"),
        (202, "can't tell"),
        (204, "can't tell"),
        (302, "can't tell"),
        (401, "can't tell"),
        (410, "can't tell"),
        (500, "can't tell"),
    ],
)
def test_a_look_up_says_what_became_of_a_key(
    proxy: ProviderProxy, status: int, kind: str
) -> None:
    """X5"""
    proxy.lookups = [Told(status, [], b'{"id": "po_9"}')]
    finding = provider(proxy).look_up(KEY, ENVELOPE)
    assert finding.kind == kind
    assert (only(proxy).method, only(proxy).path) == ("GET", f"/operations/{KEY}")


def test_a_look_up_that_gets_no_answer_cannot_tell(proxy: ProviderProxy) -> None:
    """X5"""
    proxy.lookups = ["drop_before"]
    assert provider(proxy).look_up(KEY, ENVELOPE).kind == "can't tell"


def test_who_does_not_look_up_is_not_asked(proxy: ProviderProxy) -> None:
    """X5"""
    without = {**ENVELOPE, "look_up": None}
    assert provider(proxy).look_up(KEY, without).kind == "can't tell"
    quiet = provider(proxy, looks_up=False)
    assert quiet.look_up(KEY, ENVELOPE).kind == "can't tell"
    assert (quiet.promise.looks_up, proxy.seen) == (False, [])


def test_a_huge_answer_is_kept_in_part(proxy: ProviderProxy) -> None:
    proxy.plan = [Told(201, [("X-Request-Id", "r" * 999)], b"x" * 10_000_000)]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert answer.kind == "accepted"
    assert len(str(answer.said)) < 4096 + 500
    assert len(answer.detail) < 300


def test_an_answer_that_breaks_off_after_its_status_has_said_so(
    proxy: ProviderProxy,
) -> None:
    proxy.plan = [Told(201, [("Content-Length", "5000")], b'{"id": ')]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert (answer.kind, answer.provider_ref) == ("accepted", KEY)


@pytest.mark.parametrize(
    "body",
    [b"", b"[]", b"{", b'{"id": null}', b'{"id": true}', b'{"id": {}}', b"[" * 50_000],
)
def test_an_answer_without_the_provider_s_name_for_it_has_the_key(
    proxy: ProviderProxy, body: bytes
) -> None:
    proxy.plan = [Told(201, [], body)]
    assert provider(proxy).send(Ready(KEY, BODY, ENVELOPE)).provider_ref == KEY


def test_what_a_server_says_is_shown_harmless(proxy: ProviderProxy) -> None:
    proxy.plan = [Told(402, [], "no\x00\r\n\u202emoney".encode())]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert answer.detail.isprintable()
    assert "\N{RIGHT-TO-LEFT OVERRIDE}" not in answer.detail


def test_the_token_goes_to_the_server_and_nowhere_else(
    proxy: ProviderProxy, caplog: pytest.LogCaptureFixture
) -> None:
    caplog.set_level(logging.DEBUG)
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    finding = provider(proxy).look_up(KEY, ENVELOPE)
    assert [TOKEN in str(seen.headers) for seen in proxy.seen] == [True, True]
    assert TOKEN not in answer.model_dump_json() + finding.model_dump_json()
    assert "HTTP Request: POST" in caplog.text
    assert TOKEN not in caplog.text


def test_a_server_that_repeats_the_token_puts_it_into_no_record(
    proxy: ProviderProxy,
) -> None:
    told = f'{{"id": "{TOKEN}", "seen": "Bearer {TOKEN}"}}'.encode()
    proxy.plan = [Told(500, [("X-Request-Id", TOKEN)], told)]
    proxy.lookups = [Told(200, [], told)]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    finding = provider(proxy).look_up(KEY, ENVELOPE)
    assert TOKEN not in answer.model_dump_json() + finding.model_dump_json()


def test_a_provider_that_ignores_the_key_acts_twice(stripe: LocalStripe) -> None:
    """X5: which is why a promise is declared, and never assumed."""
    body = b'{"amount": 100, "currency": "eur"}'
    with ProviderProxy(stripe.port) as proxy:
        proxy.plan = ["repeat"]
        answer = provider(proxy).send(Ready(KEY, body, ENVELOPE))
    assert answer.kind == "accepted"
    assert len(stripe.payouts) == 2


def test_a_provider_that_keeps_its_promise_acts_once(
    proxy: ProviderProxy, honest: HonestProvider
) -> None:
    """X5"""
    proxy.plan = ["repeat"]
    answer = provider(proxy).send(Ready(KEY, BODY, ENVELOPE))
    assert (answer.kind, answer.provider_ref) == ("accepted", "po_1")
    assert answer.said["headers"]["idempotent-replayed"] == "true"  # type: ignore[index,call-overload]
    assert len(honest.effects) == 1


@pytest.mark.parametrize(
    "given",
    [
        {"base_url": "ftp://bank.test"},
        {"base_url": "https://user:secret@bank.test"},
        {"base_url": "https://bank.test/?a=secret"},
        {"base_url": "http://bank.test", "token": "secret"},
        {"base_url": "https://bank.test", "token": "secret\r\nX: 1"},
        {"base_url": "https://bank.test", "looks_up": True},
    ],
)
def test_settings_that_would_do_harm_are_refused(given: dict[str, Any]) -> None:
    with pytest.raises(ValidationError) as refused:
        HttpSettings.model_validate(given)
    assert "secret" not in str(refused.value)


def test_a_block_holds_the_same_and_hides_the_token() -> None:
    """W5"""
    block = HttpProviderBlock(
        base_url="https://bank.test/api/", token=TOKEN, dedupes=True
    )
    assert block.base_url == "https://bank.test/api"
    assert block.promise == HttpSettings(base_url="http://x", dedupes=True).promise
    assert TOKEN not in repr(block)


def test_a_provider_can_be_set_in_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("PLACET_HTTP__BANK__BASE_URL", "https://bank.test")
    monkeypatch.setenv("PLACET_HTTP__BANK__TOKEN", TOKEN)
    services = Services(load_settings())
    assert services.http("bank").base_url == "https://bank.test"
    assert TOKEN not in repr(services.settings)
