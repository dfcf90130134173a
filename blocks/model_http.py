"""One exchange with a model over HTTP, on tape.

The only module that imports what the extra `models` installs. pydantic-ai writes the
request in the endpoint's protocol and the provider's own client sends it; what comes
back is taken from the tape, byte for byte, and read by `blocks.wire`.
"""

import asyncio
from collections.abc import Callable
from typing import Any

import httpx2
from anthropic import AsyncAnthropic
from openai import AsyncOpenAI
from pydantic_ai.direct import model_request
from pydantic_ai.messages import ModelRequest, SystemPromptPart, UserPromptPart
from pydantic_ai.models import Model, ModelRequestParameters
from pydantic_ai.models.anthropic import AnthropicModel
from pydantic_ai.models.openai import OpenAIChatModel
from pydantic_ai.providers.anthropic import AnthropicProvider
from pydantic_ai.providers.openai import OpenAIProvider
from pydantic_ai.settings import ModelSettings
from pydantic_ai.tools import ToolDefinition

from blocks.endpoint import Endpoint, Question
from blocks.wire import ANSWER_TOOL

# The clients add what they know of this machine and what they find in its environment
# (organisation, project, other headers); only what the protocols need goes out.
_HEADERS = frozenset(
    {
        "accept",
        "accept-encoding",
        "anthropic-beta",
        "anthropic-version",
        "authorization",
        "connection",
        "content-length",
        "content-type",
        "host",
        "user-agent",
        "x-api-key",
    }
)


class Tape:
    """What went out and what came back; None for what never came."""

    def __init__(self) -> None:
        self.request: bytes | None = None
        self.status: int | None = None
        self.response: bytes | None = None
        self.hooks: dict[str, list[Callable[..., Any]]] = {
            "request": [self.record_request],
            "response": [self.record_response],
        }

    async def record_request(self, request: httpx2.Request) -> None:
        """Note the request's body, and send no headers but the protocol's."""
        for name in set(request.headers) - _HEADERS:
            del request.headers[name]
        request.headers["User-Agent"] = "placet"
        self.request = await request.aread()

    async def record_response(self, response: httpx2.Response) -> None:
        """Note status and whole body; a body that breaks off is not noted."""
        self.status = response.status_code
        self.response = await response.aread()


async def exchange(endpoint: Endpoint, question: Question, tape: Tape) -> None:
    """Ask once, without any retry.

    May raise anything, also over an answer that is wholly on the tape: the client
    libraries stumble over answers that are not as agreed in many ways.
    """
    # Unpacked, the bytes on the tape are those of the body whatever the server packs.
    headers = {"Accept-Encoding": "identity"}
    async with httpx2.AsyncClient(headers=headers, event_hooks=tape.hooks) as http:
        model = _model(endpoint, http)
        async with asyncio.timeout(endpoint.timeout_seconds):
            await model_request(
                model,
                [_message(question)],
                model_settings=_settings(endpoint),
                model_request_parameters=_answer_tool(question),
                instrument=False,
            )


def _model(endpoint: Endpoint, http: httpx2.AsyncClient) -> Model:
    key = endpoint.api_key.get_secret_value() if endpoint.api_key else ""
    # Given no key, the clients would look for one in the environment, and send it.
    key = key or "none"
    if endpoint.provider == "openai":
        openai = AsyncOpenAI(
            base_url=endpoint.base_url, api_key=key, http_client=http, max_retries=0
        )
        provider = OpenAIProvider(openai_client=openai)
        return OpenAIChatModel(endpoint.model, provider=provider)
    anthropic = AsyncAnthropic(
        base_url=endpoint.base_url, api_key=key, http_client=http, max_retries=0
    )
    return AnthropicModel(
        endpoint.model, provider=AnthropicProvider(anthropic_client=anthropic)
    )


def _message(question: Question) -> ModelRequest:
    system = SystemPromptPart(question.system)
    return ModelRequest(parts=[system, UserPromptPart(question.user)])


def _settings(endpoint: Endpoint) -> ModelSettings:
    settings = ModelSettings(timeout=endpoint.timeout_seconds)
    sampling = endpoint.sampling
    if sampling.temperature is not None:
        settings["temperature"] = sampling.temperature
    if sampling.top_p is not None:
        settings["top_p"] = sampling.top_p
    if sampling.max_tokens is not None:
        settings["max_tokens"] = sampling.max_tokens
    if sampling.seed is not None:
        settings["seed"] = sampling.seed
    return settings


def _answer_tool(question: Question) -> ModelRequestParameters:
    tool = ToolDefinition(
        name=ANSWER_TOOL,
        description="Give the answer. Call this once.",
        parameters_json_schema=dict(question.answer_schema),
        kind="output",
    )
    return ModelRequestParameters(
        output_mode="tool", output_tools=[tool], allow_text_output=False
    )
