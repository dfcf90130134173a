"""The drafting model's port: a text in named fields, and how it came about."""

from typing import Annotated, Protocol

from pydantic import Field, JsonValue, StringConstraints, field_validator

from blocks.generation import Generation, PromptTemplate
from blocks.wire import invalid, read_answer, text_in
from policies import canonical
from policies.provenance import Text
from policies.value import Value

Word = Annotated[str, StringConstraints(pattern=r"^[a-z][a-z0-9_]*$")]

CONFIDENCE = "confidence"
"""What a model may say beside the fields: how sure it is, from 0 to 1."""


class OutputField(Value):
    """One text that a draft consists of; the description tells the model what it is."""

    name: Word
    description: Text


class DraftRequest(Value):
    """What is to be drafted, and from what.

    A language model sees `system` and `user`, as assembled from `prompt`; a template
    drafter sees `facts`. Both are to be made from the same context.
    """

    task: Word
    prompt: PromptTemplate
    system: Text
    user: Text
    facts: dict[str, JsonValue]
    outputs: tuple[OutputField, ...] = Field(min_length=1)

    @field_validator("outputs")
    @classmethod
    def _distinct(cls, outputs: tuple[OutputField, ...]) -> tuple[OutputField, ...]:
        names = {output.name for output in outputs} - {CONFIDENCE}
        if len(names) != len(outputs):
            raise ValueError(f"names must differ, and none may be {CONFIDENCE}")
        return outputs

    @property
    def output_names(self) -> tuple[str, ...]:
        """The fields that a draft will have."""
        return tuple(output.name for output in self.outputs)

    @property
    def answer_schema(self) -> dict[str, JsonValue]:
        """The JSON schema of an answer: every field as text, and confidence if any."""
        properties: dict[str, JsonValue] = {
            output.name: {"type": "string", "description": output.description}
            for output in self.outputs
        }
        properties[CONFIDENCE] = {
            "type": "number",
            "minimum": 0,
            "maximum": 1,
            "description": "How sure you are that the draft is right, from 0 to 1.",
        }
        return {
            "type": "object",
            "properties": properties,
            "required": list(self.output_names),
            "additionalProperties": False,
        }


class DraftText(Value):
    """A text in named fields."""

    fields: dict[str, str]


class Draft(DraftText):
    """What a model drafted, with the record of how.

    `confidence` is None where the model gave none. `ignored` names what else the
    answer held; it is noted and has no effect, whatever it is called.
    """

    confidence: float | None
    ignored: tuple[str, ...]
    generation: Generation


class DraftingModel(Protocol):
    """Writes drafts, and nothing but drafts.

    Raises Unavailable (`model_unavailable`) where it cannot be asked, InvalidInput
    (`model_answer_invalid`) where its answer is no draft. Neither is tried again.
    """

    def draft(self, request: DraftRequest) -> Draft:
        """A first draft."""
        ...

    def revise(
        self, request: DraftRequest, draft: DraftText, problems: tuple[str, ...]
    ) -> Draft:
        """Another draft, without the problems that were found in the earlier one."""
        ...


def replay(generation: Generation) -> Draft:
    """The draft that a stored answer amounts to. Nobody is called.

    A live drafter reads its fresh answer with this too, so the two are the same.
    """
    body = read_answer(generation.provider, generation.response).body
    known = {*generation.outputs, CONFIDENCE}
    return Draft(
        fields={name: text_in(body, name) for name in generation.outputs},
        confidence=_confidence(body.get(CONFIDENCE)),
        ignored=tuple(sorted(set(body) - known)),
        generation=generation,
    )


def _confidence(value: JsonValue) -> float | None:
    if value is None:
        return None
    if isinstance(value, bool) or not isinstance(value, int | float):
        raise invalid("The model's confidence is not a number.")
    if not 0 <= value <= 1:
        raise invalid("The model's confidence is not between 0 and 1.")
    return float(value)


def as_json(value: JsonValue) -> str:
    """JSON as text, the same for equal values. Raises NotStrictJson."""
    return canonical.canonical_bytes(value).decode()
