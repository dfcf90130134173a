"""What stands in a model's HTTP exchange, read from its bytes.

A live call and a replay read the stored answer with the same functions, so a replay
cannot differ. The protocols are OpenAI's chat completions and Anthropic's messages;
the answer is the one call of the tool `answer`, or, from a server that knows no tools,
a JSON object as text. What else an answer holds has no effect.
"""

from abc import abstractmethod

from pydantic import AliasPath, BaseModel, Field, JsonValue, ValidationError

from blocks.generation import Provider
from policies import canonical
from policies.errors import InvalidInput, NotStrictJson
from policies.provenance import Sampling, Text, TokenUsage
from policies.value import Value

ANSWER_TOOL = "answer"

_FINISHED = frozenset({"stop", "tool_calls", "end_turn", "tool_use"})
_OUT_OF_TOKENS = frozenset({"length", "max_tokens"})


class Sent(Value):
    """What was asked, as it went out."""

    system: str
    user: str
    sampling: Sampling


class Answer(Value):
    """What an endpoint says of its answer, and the object that it answered with."""

    response_id: Text
    model_version: Text
    finish_reason: Text
    usage: TokenUsage | None
    body: dict[str, JsonValue]


def invalid(
    what: str, hint: str = "Look at the model, or ask it again."
) -> InvalidInput:
    """The error of an answer that cannot be used."""
    return InvalidInput(what, code="model_answer_invalid", hint=hint)


def read_request(request: bytes) -> Sent:
    """System text, user text and sampling of a request's body, in either protocol."""
    body = _RequestBody.model_validate_json(request)
    system = [m.text for m in body.messages if m.role != "user"]
    return Sent(
        system=_joined(body.system) + "".join(system),
        user="".join(m.text for m in body.messages if m.role == "user"),
        sampling=Sampling(
            temperature=body.temperature,
            top_p=body.top_p,
            max_tokens=body.max_tokens or body.max_completion_tokens,
            seed=body.seed,
        ),
    )


def read_answer(provider: Provider, response: bytes) -> Answer:
    """Read a response's body.

    Raises InvalidInput (`model_answer_invalid`) where it is no complete answer.
    """
    try:
        document = canonical.read_json(response)
        reply = _REPLIES[provider].model_validate(document)
        _check_finished(reply.finished_by)
        return Answer(
            response_id=reply.id,
            model_version=reply.model,
            finish_reason=reply.finished_by,
            usage=reply.usage,
            body=_only_object(reply),
        )
    except ValidationError as exc:
        place = ".".join(str(step) for step in exc.errors()[0]["loc"])
        raise invalid(f"The model's answer is not as agreed, at {place}.") from None
    except NotStrictJson as exc:
        raise invalid(f"The model's answer cannot be read. {exc.message}") from None


def text_in(body: dict[str, JsonValue], name: str) -> str:
    """A field of an answer. Raises InvalidInput (`model_answer_invalid`)."""
    value = body.get(name)
    if not isinstance(value, str):
        raise invalid(f"The model's answer has no text in the field {name}.")
    return value


def _check_finished(reason: str) -> None:
    if reason in _OUT_OF_TOKENS:
        hint = "Allow it more tokens (max_tokens of its block)."
        raise invalid(
            "The model ran out of tokens before its answer was complete.", hint
        )
    if reason not in _FINISHED:
        raise invalid("The model broke its answer off.")


def _only_object(reply: "_Reply") -> dict[str, JsonValue]:
    called = reply.called
    if len(called) > 1:
        raise invalid("The model gave several answers instead of one.")
    body = called[0] if called else canonical.read_json(reply.said)
    if not isinstance(body, dict):
        raise invalid("The model answered with something else than named fields.")
    return body


# The parts of the two protocols that are read


class _TextPart(BaseModel):
    text: str


def _joined(content: str | list[_TextPart]) -> str:
    if isinstance(content, str):
        return content
    return "".join(part.text for part in content)


class _RequestMessage(BaseModel):
    role: str
    content: str | list[_TextPart]

    @property
    def text(self) -> str:
        return _joined(self.content)


class _RequestBody(BaseModel):
    messages: list[_RequestMessage]
    system: str | list[_TextPart] = ""
    temperature: float | None = None
    top_p: float | None = None
    max_tokens: int | None = None
    max_completion_tokens: int | None = None
    seed: int | None = None


class _Reply(BaseModel):
    """What every reply tells; `called` are the answers, `said` is text beside them."""

    id: str
    model: str
    finished_by: str
    input_tokens: int | None = None
    output_tokens: int | None = None

    @property
    def usage(self) -> TokenUsage | None:
        if self.input_tokens is None or self.output_tokens is None:
            return None
        return TokenUsage(
            input_tokens=self.input_tokens, output_tokens=self.output_tokens
        )

    @property
    @abstractmethod
    def called(self) -> list[JsonValue]:
        """What was given to the answer tool, once for each call of it."""

    @property
    def said(self) -> str:
        """The text outside of any call."""
        return ""


class LocalReply(_Reply):
    """The document that a drafter without an endpoint leaves behind."""

    finished_by: str = "stop"
    fields: dict[str, JsonValue]

    @property
    def called(self) -> list[JsonValue]:
        return [self.fields]


class _ChatCall(BaseModel):
    name: str = Field(validation_alias=AliasPath("function", "name"))
    arguments: str = Field(validation_alias=AliasPath("function", "arguments"))


class _ChatReply(_Reply):
    """Of POST …/chat/completions, with its first choice."""

    finished_by: str = Field(validation_alias=AliasPath("choices", 0, "finish_reason"))
    input_tokens: int | None = Field(
        default=None, validation_alias=AliasPath("usage", "prompt_tokens")
    )
    output_tokens: int | None = Field(
        default=None, validation_alias=AliasPath("usage", "completion_tokens")
    )
    content: str | None = Field(
        default=None, validation_alias=AliasPath("choices", 0, "message", "content")
    )
    calls: list[_ChatCall] | None = Field(
        default=None, validation_alias=AliasPath("choices", 0, "message", "tool_calls")
    )

    @property
    def called(self) -> list[JsonValue]:
        answers = [call for call in self.calls or () if call.name == ANSWER_TOOL]
        return [canonical.read_json(answer.arguments) for answer in answers]

    @property
    def said(self) -> str:
        return self.content or ""


class _ContentBlock(BaseModel):
    type: str
    text: str = ""
    name: str = ""
    input: JsonValue = None


class _MessagesReply(_Reply):
    """Of POST …/messages."""

    finished_by: str = Field(validation_alias="stop_reason")
    input_tokens: int | None = Field(
        default=None, validation_alias=AliasPath("usage", "input_tokens")
    )
    output_tokens: int | None = Field(
        default=None, validation_alias=AliasPath("usage", "output_tokens")
    )
    content: list[_ContentBlock]

    @property
    def called(self) -> list[JsonValue]:
        uses = [block for block in self.content if block.type == "tool_use"]
        return [use.input for use in uses if use.name == ANSWER_TOOL]

    @property
    def said(self) -> str:
        return "".join(block.text for block in self.content if block.type == "text")


_REPLIES: dict[Provider, type[_Reply]] = {
    "template": LocalReply,
    "openai": _ChatReply,
    "anthropic": _MessagesReply,
}
