"""What the loop is told to do next: the only thing that loop and adapter exchange."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import Field

from policies.interaction import Interaction
from policies.value import Value

Outcome: TypeAlias = Literal["completed", "rejected", "expired", "cancelled"]
Failure: TypeAlias = Literal["failed", "unknown"]


class CallTool(Value):
    """Run one step; `item` names the action's item where the step acts on one."""

    kind: Literal["call_tool"] = "call_tool"
    tool: str
    item: str | None = None
    reasons: tuple[str, ...]


class Ask(Value):
    """Put questions to a person."""

    kind: Literal["ask"] = "ask"
    questions: tuple[Interaction, ...]
    reasons: tuple[str, ...]


class RequestApproval(Value):
    """Wait for verdicts on the open items; `questions` come in the same form."""

    kind: Literal["request_approval"] = "request_approval"
    questions: tuple[Interaction, ...] = ()
    reasons: tuple[str, ...]


class Wait(Value):
    """Nothing can be done and nothing is asked until something changes."""

    kind: Literal["wait"] = "wait"
    until: datetime | None = None
    reasons: tuple[str, ...]


class Complete(Value):
    """The work is done, whether or not something was to be executed."""

    kind: Literal["complete"] = "complete"
    outcome: Outcome
    reasons: tuple[str, ...]


class Fail(Value):
    """An execution failed, or its outcome is not known."""

    kind: Literal["fail"] = "fail"
    outcome: Failure
    reasons: tuple[str, ...]


class Block(Value):
    """Policy does not let it go on; that is not a failure."""

    kind: Literal["block"] = "block"
    outcome: Literal["blocked"] = "blocked"
    reasons: tuple[str, ...]


Decision: TypeAlias = Annotated[
    CallTool | Ask | RequestApproval | Wait | Complete | Fail | Block,
    Field(discriminator="kind"),
]


def choice_name(decision: Decision) -> str:
    """The name by which a workflow model can pick this decision."""
    if isinstance(decision, CallTool):
        return (
            decision.tool
            if decision.item is None
            else f"{decision.tool} {decision.item}"
        )
    return decision.kind
