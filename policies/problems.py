"""What is wrong with a given value, place by place, in words of our own.

pydantic finds it; its wording is for programmers, and says where its manual is.
"""

from collections.abc import Callable, Mapping, Sequence
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

Words = str | Callable[[Mapping[str, Any]], str]
_WHOLE = "must be a whole number"
_NUMBER = "must be a number"
_SWITCH = "must be true or false"
_LIST = "must be a list"
_OBJECT = "must be a JSON object"
# By pydantic's stable names of what can be wrong.
_WORDS: Mapping[str, Words] = MappingProxyType(
    {
        "missing": "is missing",
        "extra_forbidden": "is not a known field",
        "string_type": "must be text",
        "string_sub_type": "must be text",
        "path_type": "must be a path",
        "int_type": _WHOLE,
        "int_parsing": _WHOLE,
        "int_from_float": _WHOLE,
        "float_type": _NUMBER,
        "float_parsing": _NUMBER,
        "finite_number": _NUMBER,
        "bool_type": _SWITCH,
        "bool_parsing": _SWITCH,
        "list_type": _LIST,
        "tuple_type": _LIST,
        "dict_type": _OBJECT,
        "model_type": _OBJECT,
        "model_attributes_type": _OBJECT,
        "none_required": "must be left out",
        "literal_error": lambda told: f"must be {told['expected']}",
        "enum": lambda told: f"must be {told['expected']}",
        "string_too_short": lambda told: _at_least(told["min_length"], "character"),
        "string_too_long": lambda told: _at_most(told["max_length"], "character"),
        "too_short": lambda told: _at_least(told["min_length"], "entry", "entries"),
        "too_long": lambda told: _at_most(told["max_length"], "entry", "entries"),
        "greater_than": lambda told: f"must be more than {told['gt']:g}",
        "greater_than_equal": lambda told: f"must be {told['ge']:g} or more",
        "less_than": lambda told: f"must be less than {told['lt']:g}",
        "less_than_equal": lambda told: f"must be {told['le']:g} or less",
        "string_pattern_mismatch": "has a character or a form that is not allowed",
        "value_error": lambda told: str(told["error"]),
    }
)


def _dotted(parts: Sequence[str]) -> str:
    return ".".join(parts)


def problems_of(
    error: ValidationError, whole: str, place: Callable[[Sequence[str]], str] = _dotted
) -> tuple[str, ...]:
    """Each problem with its place; `whole` names the value where that is all of it.

    No full stop at the end, and nothing of the given values: they may be secret.
    """
    found = error.errors(include_url=False, include_input=False)
    return tuple(
        _problem(place([str(part) for part in row["loc"]]), whole, _words(row))
        for row in found
    )


def _words(row: Mapping[str, Any]) -> str:
    words = _WORDS.get(row["type"], "is not valid")
    return words if isinstance(words, str) else words(row.get("ctx", {}))


def _problem(place: str, whole: str, words: str) -> str:
    """A check of our own may be a sentence: then the place stands before it."""
    if words.startswith(("is ", "has ", "must ")):
        return f"{place or whole} {words}"
    return f"{place}: {words}" if place else words


def _at_least(number: int, one: str, many: str = "") -> str:
    if number == 1 and not many:
        return "must not be empty"
    return f"must have at least {_counted(number, one, many)}"


def _at_most(number: int, one: str, many: str = "") -> str:
    return f"must have at most {_counted(number, one, many)}"


def _counted(number: int, one: str, many: str) -> str:
    return f"{number} {one if number == 1 else many or one + 's'}"
