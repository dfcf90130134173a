"""Endpoints of language models that fail, and what an endpoint is told of us."""

import sys
import traceback
from collections.abc import Iterator

import pytest
from pydantic import SecretStr

from blocks.drafting import DraftRequest
from blocks.model_client import ApiDrafter
from policies.errors import Misconfigured, Unavailable
from tests.draft_requests import reply_request
from tests.model_server import KEY, PROVIDERS, ModelServer, Provider, model_server

both = pytest.mark.parametrize("provider", PROVIDERS)


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        server.answer({"subject": "Re: x", "body": "Dear Ada"})
        yield server


@pytest.fixture
def asked() -> DraftRequest:
    return reply_request("Where is my order?")


@both
@pytest.mark.parametrize("status", [302, 400, 401, 403, 404, 429, 500, 503])
def test_a_refused_request_is_told_at_once_and_never_with_the_key(
    server: ModelServer, asked: DraftRequest, provider: Provider, status: int
) -> None:
    server.refuse(status)
    with pytest.raises(Unavailable, match=f"HTTP {status}") as failed:
        ApiDrafter(server.endpoint(provider)).draft(asked)
    assert failed.value.code == "model_unavailable"
    assert KEY not in "".join(traceback.format_exception(failed.value))
    assert len(server.seen) == 1


@both
def test_an_endpoint_that_hangs_is_given_up_after_its_time(
    server: ModelServer, asked: DraftRequest, provider: Provider
) -> None:
    server.hang()
    with pytest.raises(Unavailable, match=r"within 0\.3 s"):
        ApiDrafter(server.endpoint(provider, timeout_seconds=0.3)).draft(asked)


@both
def test_an_answer_that_breaks_off_is_no_answer(
    server: ModelServer, asked: DraftRequest, provider: Provider
) -> None:
    server.cut_off()
    with pytest.raises(Unavailable, match="in the middle of its answer"):
        ApiDrafter(server.endpoint(provider)).draft(asked)


@both
def test_an_endpoint_that_is_not_there_is_named(
    asked: DraftRequest, provider: Provider
) -> None:
    with model_server() as gone:
        endpoint = gone.endpoint(provider)
    with pytest.raises(Unavailable, match=r"127\.0\.0\.1.* cannot be reached"):
        ApiDrafter(endpoint).draft(asked)


def test_without_the_extra_it_is_said_how_to_install_it(
    server: ModelServer, asked: DraftRequest, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delitem(sys.modules, "blocks.model_http", raising=False)
    monkeypatch.delattr("blocks.model_http", raising=False)
    monkeypatch.setitem(sys.modules, "pydantic_ai.direct", None)
    with pytest.raises(Misconfigured, match=r"uv pip install .*'\.\[models\]'"):
        ApiDrafter(server.endpoint("openai")).draft(asked)


@pytest.mark.parametrize("key", ["sk-secret\n", " sk-secret", "sk-sécret"])
def test_a_key_that_no_header_can_carry_is_refused_unseen(
    server: ModelServer, key: str
) -> None:
    with pytest.raises(Misconfigured, match="characters") as refused:
        server.endpoint("openai", api_key=SecretStr(key))
    assert key.strip() not in str(refused.value)


# What goes out


@both
def test_only_what_the_protocol_needs_leaves_this_machine(
    server: ModelServer,
    asked: DraftRequest,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("OPENAI_ORG_ID", "org-from-the-environment")
    monkeypatch.setenv("ANTHROPIC_CUSTOM_HEADERS", "x-note: from the environment")
    ApiDrafter(server.endpoint(provider)).draft(asked)
    headers = server.seen[0].headers
    assert headers["user-agent"] == "placet"
    assert not [name for name in headers if name.startswith(("x-", "openai-"))]


@both
def test_a_key_from_the_environment_is_not_sent_where_none_is_configured(
    server: ModelServer,
    asked: DraftRequest,
    provider: Provider,
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("OPENAI_API_KEY", "ANTHROPIC_API_KEY", "ANTHROPIC_AUTH_TOKEN"):
        monkeypatch.setenv(name, "from-the-environment")
    ApiDrafter(server.endpoint(provider, api_key=None)).draft(asked)
    assert "from-the-environment" not in str(server.seen[0].headers)
