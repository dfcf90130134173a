"""The one state that a person debugging a request wants to see."""

from datetime import datetime
from typing import Literal, TypeAlias

from pydantic import Field

from policies.interaction import Interaction
from policies.lifecycle import State
from policies.plan import AgentPlan, PlanReviewResult, ReviewPacket
from policies.policy import RiskLevel
from policies.value import Json, Value

Step: TypeAlias = Literal[
    "validate_request",
    "collect_context",
    "prepare_agent_work",
    "resolve_review",
    "execute_action",
    "close_request",
]
STEPS: tuple[Step, ...] = (
    "validate_request",
    "collect_context",
    "prepare_agent_work",
    "resolve_review",
    "execute_action",
    "close_request",
)
SessionStatus: TypeAlias = Literal[
    "running",
    "waiting",
    "completed",
    "rejected",
    "blocked",
    "failed",
    "expired",
    "cancelled",
    "unknown",
]
OPEN_STATUS: frozenset[SessionStatus] = frozenset({"running", "waiting"})


class ExecutionResult(Value):
    """What became of one action at its provider."""

    item: str
    action: str
    operation: str
    outcome: Literal["executed", "failed", "unknown"]
    detail: str
    artifact: str


class RequestState(Value):
    """All results of a request so far; business values stay JSON for the adapter."""

    request: dict[str, Json] = Field(default_factory=dict)
    context: dict[str, Json] | None = None
    analysis: dict[str, Json] | None = None
    proposal: dict[str, Json] | None = None
    agent_plan: AgentPlan | None = None
    review_packet: ReviewPacket | None = None
    plan_review_result: PlanReviewResult | None = None
    review_decision: str | None = None
    execution_result: tuple[ExecutionResult, ...] = ()
    completed_steps: tuple[Step, ...] = ()


class ItemView(Value):
    """What a decision needs to know of one item."""

    item: str
    action: str
    state: State
    version: int
    risk_level: RiskLevel
    held: tuple[str, ...] = ()
    """Codes of the guard's last refusal, where the item stays in its state."""
    busy_until: datetime | None = None
    """Until when its operation is in another process's hands, or is not due again."""


class Answered(Value):
    """A question that was put, and its answer; None when it lapsed unanswered."""

    question: Interaction
    answer: str | None


class View(Value):
    """Everything a decision may look at."""

    workflow: str
    tenant: str
    requested_by: str
    state: RequestState
    items: tuple[ItemView, ...] = ()
    answers: tuple[Answered, ...] = ()
