"""The models as Prefect Blocks: two types, configured apart, keys kept."""

from collections.abc import Iterator
from pathlib import Path

import pytest
from prefect.settings import PREFECT_API_URL, temporary_settings
from pydantic import SecretStr

from blocks.choosing import Choice
from blocks.model import DraftingModelBlock, WorkflowModelBlock
from blocks.template_drafter import TemplateDrafter
from policies.errors import Misconfigured, Unavailable
from tasks.services import load_block
from tests.draft_requests import reply_request
from tests.model_server import KEY, ModelServer, model_server


@pytest.fixture
def server() -> Iterator[ModelServer]:
    with model_server() as server:
        yield server


def test_without_settings_drafts_come_from_templates(tmp_path: Path) -> None:
    assert isinstance(DraftingModelBlock().drafter(tmp_path), TemplateDrafter)


def test_drafting_and_steering_are_configured_apart(
    server: ModelServer, tmp_path: Path
) -> None:
    writes = DraftingModelBlock(
        kind="anthropic", model="writer", base_url=server.url("anthropic")
    )
    steers = WorkflowModelBlock(
        kind="openai", model="steerer", base_url=server.url("openai")
    )
    server.answer({"subject": "", "body": "", "choice": "wait", "intent": ""})
    writes.drafter(tmp_path).draft(reply_request("x"))
    steers.chooser().choose((Choice(name="wait", meaning=""),), "")
    assert [seen.body["model"] for seen in server.seen] == ["writer", "steerer"]


def test_the_settings_of_the_block_are_those_that_are_sent(
    server: ModelServer, tmp_path: Path
) -> None:
    block = DraftingModelBlock(
        kind="openai",
        model="writer",
        base_url=server.url("openai"),
        api_key=SecretStr(KEY),
        temperature=0.1,
        max_tokens=77,
    )
    server.answer({"subject": "", "body": ""})
    block.drafter(tmp_path).draft(reply_request("x"))
    sent = server.seen[0]
    assert sent.headers["authorization"] == f"Bearer {KEY}"
    assert (sent.body["temperature"], sent.body["max_completion_tokens"]) == (0.1, 77)


def test_a_block_never_shows_its_key() -> None:
    block = WorkflowModelBlock(kind="openai", model="m", api_key=SecretStr(KEY))
    assert KEY not in f"{block!r} {block.model_dump_json()}"


def test_a_block_without_a_model_says_what_is_missing(tmp_path: Path) -> None:
    with pytest.raises(Misconfigured, match="No model is named"):
        DraftingModelBlock(kind="openai").drafter(tmp_path)


@pytest.mark.parametrize("block", [DraftingModelBlock, WorkflowModelBlock])
def test_every_setting_is_described_for_whoever_fills_in_the_form(
    block: type[DraftingModelBlock] | type[WorkflowModelBlock],
) -> None:
    assert all(field.description for field in block.model_fields.values())


def test_a_block_is_looked_for_on_no_server_of_its_own() -> None:
    """Prefect would start one where none is configured, and find nothing on it."""
    without = temporary_settings({PREFECT_API_URL: None})
    with without, pytest.raises(Unavailable) as refused:
        load_block("HttpProviderBlock", "bank")
    assert refused.value.code == "no_prefect_server"
