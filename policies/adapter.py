"""What a business domain tells the loop: the port that every adapter implements."""

import re
from collections.abc import Mapping
from typing import Annotated, Protocol

from pydantic import AfterValidator, BaseModel

from policies import canonical
from policies.interaction import Interaction
from policies.plan import Action, AgentPlan
from policies.state import RequestState, View
from policies.tool import RiskTraits, ToolSpec
from policies.value import Value

_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._@-]{0,99}")


def _check_name(name: str) -> str:
    if _NAME.fullmatch(name):
        return name
    raise ValueError(
        "must begin with a letter or digit and hold only letters, digits and . _ @ -, "
        "100 at most"
    )


Name = Annotated[str, AfterValidator(_check_name)]


class BaseRequest(Value):
    """What every request says: for which tenant, and who asks."""

    tenant: Name = "main"
    requested_by: Name = "agent"


class Validation(Value):
    """What the domain's own checks say of a tool's input; `rules` is their version."""

    rules: str
    problems: tuple[str, ...]

    @property
    def ok(self) -> bool:
        """Whether nothing was found."""
        return not self.problems

    def hash(self, payload_hash: str) -> str:
        """A digest that changes when the payload, the rules or the findings change."""
        body = {"payload": payload_hash, **self.model_dump(mode="json")}
        return canonical.digest("validation", canonical.canonical_bytes(body))


class Target(Value):
    """The resource that an action touches, and what must hold of it."""

    resource: str
    precondition: str


class Adapter(Protocol):
    """A business domain's judgement. Pure: everything it needs is in its arguments."""

    @property
    def name(self) -> str:
        """The domain's name, as in `placet submit NAME …`."""
        ...

    @property
    def request_model(self) -> type[BaseRequest]:
        """The model that a request's JSON must satisfy."""
        ...

    @property
    def tools(self) -> Mapping[str, ToolSpec]:
        """The domain's tools by name."""
        ...

    def questions(self, view: View) -> tuple[Interaction, ...]:
        """What must or may still be asked of a person before there is a plan."""
        ...

    def remarks(self, view: View) -> tuple[Interaction, ...]:
        """Optional questions that stand in the same form as the verdicts."""
        ...

    def blockers(self, view: View) -> tuple[str, ...]:
        """Why this request cannot go on, if so; sentences."""
        ...

    def permitted_work(self, view: View) -> tuple[str, ...]:
        """The tools that may prepare the proposal now; none when it stands."""
        ...

    def propose(self, view: View) -> AgentPlan | None:
        """The plan that the prepared proposal amounts to; None while it has flaws."""
        ...

    def assemble(self, state: RequestState, action: Action) -> BaseModel:
        """The tool's final input, from validated results alone."""
        ...

    def validate(self, tool: str, payload: BaseModel) -> Validation:
        """The domain's checks of a tool's final input."""
        ...

    def traits(self, tool: str, payload: BaseModel) -> RiskTraits:
        """The risk traits of this very call: the tool's own, raised by its content."""
        ...

    def target(self, tool: str, payload: BaseModel) -> Target:
        """The resource that this call touches."""
        ...
