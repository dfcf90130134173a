"""What the product knows of a tool without running it."""

from typing import Literal, TypeAlias

from pydantic import BaseModel, NonNegativeInt

from policies.value import Value

Effect: TypeAlias = Literal["none", "internal", "external"]
Exposure: TypeAlias = Literal["none", "internal", "external"]


class RiskTraits(Value):
    """The checkable facts about an action that its risk is computed from."""

    cost_minor: NonNegativeInt = 0
    """Money that moves, in minor units of the tenant's currency."""
    irreversible: bool = False
    personal_data: bool = False
    exposure: Exposure = "none"
    legal_effect: bool = False


class ToolSpec(Value):
    """A tool's name, input schema, permission, effect and editable fields.

    `editable` fields may change in a reviewer's edit; every other field may not.
    `secret` fields are shown as a marked digest. `automatic` is False where even a
    low-risk call must be judged by a person. An `exclusive` tool holds its resource
    from the claim until the outcome is known: no other operation on it meanwhile.
    """

    name: str
    title: str
    input_model: type[BaseModel]
    schema_version: str
    permission: str
    effect: Effect
    traits: RiskTraits
    editable: tuple[str, ...] = ()
    multiline: tuple[str, ...] = ()
    secret: tuple[str, ...] = ()
    reversible_by: str | None = None
    automatic: bool = True
    exclusive: bool = False
