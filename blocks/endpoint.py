"""Where a model is reached, how it is sampled, and what it is asked."""

from typing import Literal

from pydantic import ConfigDict, Field, JsonValue, SecretStr, field_validator

from blocks.generation import PromptTemplate
from policies.errors import Misconfigured
from policies.provenance import Sampling, Text, route_of
from policies.value import Value


class Endpoint(Value):
    """A model behind HTTP. `provider` is the protocol that the endpoint speaks."""

    # An error of validation must not show the key.
    model_config = ConfigDict(hide_input_in_errors=True)

    provider: Literal["openai", "anthropic"]
    base_url: str
    model: Text
    api_key: SecretStr | None
    """None for a server of one's own that asks for no key."""
    sampling: Sampling
    timeout_seconds: float = Field(gt=0)
    """For one question and its whole answer."""

    @field_validator("base_url")
    @classmethod
    def _address(cls, value: str) -> str:
        route_of(value)
        return value

    @field_validator("api_key")
    @classmethod
    def _fits_a_header(cls, value: SecretStr | None) -> SecretStr | None:
        key = "" if value is None else value.get_secret_value()
        if not key.isascii() or not key.isprintable() or " " in key:
            raise Misconfigured(
                "The model's API key holds characters that no API key has.",
                hint="Copy it again, without line ends or blanks around it.",
            )
        return value

    @property
    def route(self) -> str:
        """The base URL without anything secret."""
        return route_of(self.base_url)


class Question(Value):
    """What a model is asked, and the JSON schema that its answer must satisfy."""

    task: Text
    """What the answer's schema is called in a provenance."""
    prompt: PromptTemplate
    system: Text
    user: Text
    outputs: tuple[Text, ...]
    answer_schema: dict[str, JsonValue]
