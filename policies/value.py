"""The base of every value that Placet stores, compares or hands on."""

from typing import TypeAlias

from pydantic import BaseModel, ConfigDict, JsonValue

Json: TypeAlias = JsonValue


class Value(BaseModel):
    """A frozen, keyword-only record that refuses fields it does not know."""

    model_config = ConfigDict(frozen=True, extra="forbid")
