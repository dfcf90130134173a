"""What a provenance must hold, and what it must never hold."""

from typing import Any

import pytest
from pydantic import ValidationError

from policies.errors import Misconfigured
from policies.provenance import Provenance, route_of


@pytest.fixture
def told() -> dict[str, Any]:
    """The JSON of a complete provenance."""
    stored = {"ref": "prompt/sha256:00", "digest": "sha256:" + "0" * 64}
    return {
        "provider": "openai",
        "route": "https://models.example.com/v1",
        "model": "m",
        "model_version": "m-2026-01-31",
        "system_input": stored,
        "user_input": stored,
        "sampling": {"temperature": 0, "top_p": None, "max_tokens": 9, "seed": None},
        "prompt_template": stored,
        "prompt_template_version": "1",
        "tool_versions": {"draft_reply": "1"},
        "schema_versions": {"reply": "sha256:11"},
        "retrieval_refs": ["evidence/sha256:22"],
        "outputs": ["subject"],
        "response": stored,
        "response_id": "r-1",
        "finish_reason": "stop",
        "usage": {"input_tokens": 3, "output_tokens": 4},
    }


def test_a_complete_provenance_survives_json(told: dict[str, Any]) -> None:
    provenance = Provenance.model_validate(told)
    assert Provenance.model_validate_json(provenance.model_dump_json()) == provenance


@pytest.mark.parametrize("field", list(Provenance.model_fields))
def test_no_field_can_be_left_out(told: dict[str, Any], field: str) -> None:
    del told[field]
    with pytest.raises(ValidationError, match=field):
        Provenance.model_validate(told)


@pytest.mark.parametrize("field", ["model", "model_version", "response_id"])
def test_no_name_can_be_left_empty(told: dict[str, Any], field: str) -> None:
    told[field] = ""
    with pytest.raises(ValidationError, match=field):
        Provenance.model_validate(told)


@pytest.mark.parametrize("setting", ["temperature", "top_p", "max_tokens", "seed"])
def test_sampling_says_of_every_setting_whether_it_was_set(
    told: dict[str, Any], setting: str
) -> None:
    del told["sampling"][setting]
    with pytest.raises(ValidationError, match=setting):
        Provenance.model_validate(told)


@pytest.mark.parametrize(
    "route",
    [
        "https://user:secret@models.example.com/v1",
        "https://models.example.com/v1?key=secret",
        "https://models.example.com/v1#secret",
    ],
)
def test_a_route_that_could_hold_a_secret_is_refused(
    told: dict[str, Any], route: str
) -> None:
    told["route"] = route
    with pytest.raises(ValidationError, match="a route has no user"):
        Provenance.model_validate(told)


def test_a_route_is_what_remains_of_a_url_without_its_secrets() -> None:
    url = "https://user:secret@[2001:db8::1]:8443/v1/?key=secret#secret"
    assert route_of(url) == "https://[2001:db8::1]:8443/v1"


@pytest.mark.parametrize(
    "url", ["", "models.example.com", "ftp://h/secret", "https://h:secret/", "https://"]
)
def test_a_base_url_that_is_no_web_address_is_refused_unseen(url: str) -> None:
    with pytest.raises(Misconfigured, match="base URL") as refused:
        route_of(url)
    assert "secret" not in str(refused.value)
