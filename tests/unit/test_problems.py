"""What is wrong with a value is told in our words, with its place."""

from typing import Any, Literal

import pytest
from pydantic import Field, ValidationError, field_validator

from policies.adapter import Name
from policies.errors import InvalidInput
from policies.problems import problems_of
from policies.value import Value


class Part(Value):
    address: str = "a@b.example"

    @field_validator("address")
    @classmethod
    def _check(cls, address: str) -> str:
        if "@" not in address:
            raise ValueError("must be one address")
        return address


class Whole(Value):
    name: Name = "n"
    number: int = Field(default=1, gt=0, le=9)
    share: float = 0.5
    switch: bool = True
    text: str = Field(default="x", min_length=1, max_length=5)
    word: Literal["yes", "no"] = "yes"
    parts: tuple[Part, ...] = Field(default=(), max_length=2)
    facts: dict[str, int] = Field(default_factory=dict)


NAME = (
    "name must begin with a letter or digit and hold only letters, digits and "
    ". _ @ -, 100 at most"
)
CASES: dict[str, tuple[dict[str, Any], str]] = {
    "unknown": ({"urgent": 1}, "urgent is not a known field"),
    "text": ({"text": 7}, "text must be text"),
    "empty": ({"text": ""}, "text must not be empty"),
    "long": ({"text": "abcdef"}, "text must have at most 5 characters"),
    "number": ({"number": "x"}, "number must be a whole number"),
    "half": ({"number": 1.5}, "number must be a whole number"),
    "zero": ({"number": 0}, "number must be more than 0"),
    "ten": ({"number": 10}, "number must be 9 or less"),
    "share": ({"share": "x"}, "share must be a number"),
    "switch": ({"switch": "x"}, "switch must be true or false"),
    "word": ({"word": "perhaps"}, "word must be 'yes' or 'no'"),
    "list": ({"parts": 1}, "parts must be a list"),
    "entries": ({"parts": [{}, {}, {}]}, "parts must have at most 2 entries"),
    "object": ({"parts": [1]}, "parts.0 must be a JSON object"),
    "inner": ({"parts": [{"address": "x"}]}, "parts.0.address must be one address"),
    "facts": ({"facts": {"a": "b"}}, "facts.a must be a whole number"),
    "name": ({"name": "a b"}, NAME),
    "no name": ({"name": 1}, "name must be text"),
}


@pytest.mark.parametrize("case", CASES)
def test_a_problem_names_its_place_and_what_would_do(case: str) -> None:
    given, told = CASES[case]

    with pytest.raises(ValidationError) as caught:
        Whole.model_validate(given)

    assert problems_of(caught.value, "the request") == (told,)


@pytest.mark.parametrize("said", ("It is late", "It is late."))
def test_a_hint_begins_a_sentence_of_its_own(said: str) -> None:
    assert str(InvalidInput(said, hint="Try again.")) == "It is late. Try again."


def test_what_is_wrong_as_a_whole_has_the_name_that_it_is_given() -> None:
    with pytest.raises(ValidationError) as caught:
        Whole.model_validate([])

    assert problems_of(caught.value, "the request") == (
        "the request must be a JSON object",
    )
