"""The bank's judgement: one action for each order of a request."""

from collections.abc import Mapping
from types import MappingProxyType
from typing import Literal

from pydantic import BaseModel, ConfigDict, Field, PositiveInt

from policies.adapter import BaseRequest, Name, Target, Validation
from policies.interaction import Interaction
from policies.plan import Action, AgentPlan
from policies.state import RequestState, View
from policies.tool import RiskTraits, ToolSpec
from policies.value import Value


class Order(Value):
    """One movement of money that is asked for."""

    tool: Literal["pay_out", "transfer"] = "pay_out"
    account: Name = "a-1"
    recipient: Name = "a-2"
    amount_minor: PositiveInt = 5_000
    subject: str = Field(default="Rent", max_length=200)
    date: str = "2025-03-04"


class Request(BaseRequest):
    """What is asked for, in order."""

    orders: tuple[Order, ...] = (Order(),)


class Payment(BaseModel):
    """The final input of both tools."""

    model_config = ConfigDict(frozen=True, extra="forbid")

    account: str
    recipient: str
    amount_minor: PositiveInt
    subject: str
    date: str


def _tool(name: str, effect: Literal["internal", "external"]) -> ToolSpec:
    return ToolSpec(
        name=f"bank.{name}",
        title=f"Move money: {name}",
        input_model=Payment,
        schema_version="1",
        permission="bank.pay",
        effect=effect,
        traits=RiskTraits(irreversible=True, exposure=effect),
        editable=("subject", "amount_minor"),
        automatic=False,
        exclusive=True,
    )


PAY_OUT = _tool("pay_out", "external")
TRANSFER = _tool("transfer", "internal")


class Bank:
    """The adapter; it has no state."""

    name = "bank"
    request_model = Request
    tools: Mapping[str, ToolSpec] = MappingProxyType(
        {tool.name: tool for tool in (PAY_OUT, TRANSFER)}
    )

    def questions(self, view: View) -> tuple[Interaction, ...]:
        """None."""
        return ()

    def remarks(self, view: View) -> tuple[Interaction, ...]:
        """None."""
        return ()

    def blockers(self, view: View) -> tuple[str, ...]:
        """Nothing stands in the way."""
        return ()

    def permitted_work(self, view: View) -> tuple[str, ...]:
        """Nothing is drafted."""
        return ()

    def propose(self, view: View) -> AgentPlan | None:
        """One action for each order."""
        orders = Request.model_validate(view.state.request).orders
        actions = tuple(
            Action(
                id=f"a{number}",
                tool=f"bank.{order.tool}",
                subject=str(number),
                rationale=order.subject,
            )
            for number, order in enumerate(orders, start=1)
        )
        return AgentPlan(summary="Payments", actions=actions)

    def assemble(self, state: RequestState, action: Action) -> Payment:
        """The order, as it was asked for."""
        order = Request.model_validate(state.request).orders[int(action.subject) - 1]
        return Payment.model_validate(order.model_dump(exclude={"tool"}))

    def validate(self, tool: str, payload: BaseModel) -> Validation:
        """No rules beyond the model's."""
        return Validation(rules="bank-1", problems=())

    def traits(self, tool: str, payload: BaseModel) -> RiskTraits:
        """The tool's own, and the money."""
        cost = Payment.model_validate(payload.model_dump()).amount_minor
        return self.tools[tool].traits.model_copy(update={"cost_minor": cost})

    def target(self, tool: str, payload: BaseModel) -> Target:
        """The account that is charged."""
        account = payload.model_dump()["account"]
        return Target(
            resource=f"account:{account}", precondition=f"{account} may be charged"
        )
