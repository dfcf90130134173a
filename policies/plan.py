"""What an agent proposes, what a person is shown of it, and what they answer."""

from datetime import datetime
from typing import Annotated, Literal, TypeAlias

from pydantic import AfterValidator, Field

from policies.intent import EffectiveIntent, PayloadRef
from policies.policy import RiskLevel
from policies.snapshot import EvidenceRef
from policies.value import Json, Value


class Action(Value):
    """One intended tool call.

    `subject` names what it acts on in the domain's own terms; the tool's final input is
    assembled from validated results by the adapter, never taken from here.
    """

    id: str
    tool: str
    subject: str
    rationale: str
    confidence: float | None = None


def _distinct(actions: tuple[Action, ...]) -> tuple[Action, ...]:
    if len({action.id for action in actions}) != len(actions):
        raise ValueError("two actions have the same id")
    return actions


class AgentPlan(Value):
    """The ordered actions that one request proposes; each has an id of its own."""

    summary: str
    actions: Annotated[tuple[Action, ...], AfterValidator(_distinct)]


class PacketField(Value):
    """One field of the payload as a reviewer sees it."""

    name: str
    value: Json
    editable: bool
    multiline: bool
    secret: bool = False


class PacketEvidence(Value):
    """One piece of evidence with its text as the reviewer sees it."""

    name: str
    evidence: EvidenceRef
    text: str


class PacketItem(Value):
    """One action as it is shown, in the order in which it is to be read."""

    item: str
    action: str
    title: str
    tool: str
    rationale: str
    payload: PayloadRef
    snapshot: str
    intent: EffectiveIntent
    intent_digest: str
    evidence: tuple[PacketEvidence, ...]
    risk_level: RiskLevel
    risk_reasons: tuple[str, ...]
    reversible: str
    fields: tuple[PacketField, ...]
    diff: str | None
    deadline: datetime
    term_seconds: int


class PacketAnswer(Value):
    """A question that a person answered before, and what they said."""

    question: str
    answer: str
    by: str


class ReviewPacket(Value):
    """Everything a reviewer is shown for one round; no prompts, traces or secrets."""

    workflow: str
    summary: str
    requested_by: str
    tenant: str
    items: tuple[PacketItem, ...]
    answers: tuple[PacketAnswer, ...] = ()


VerdictWord: TypeAlias = Literal["approve", "reject", "edit", "withdraw"]


class ItemVerdict(Value):
    """What a person says about one item, bound to what they saw."""

    item: str
    verdict: VerdictWord
    version: int
    snapshot: str = Field(min_length=8)
    """The snapshot's digest as shown, or at least the 8 hex characters of a form."""
    reason: str = ""
    edit: dict[str, Json] | None = None


def _one_each(verdicts: tuple[ItemVerdict, ...]) -> tuple[ItemVerdict, ...]:
    if len({verdict.item for verdict in verdicts}) != len(verdicts):
        raise ValueError("an item has two verdicts")
    return verdicts


class PlanReviewResult(Value):
    """One verdict per item of a round; all of them are recorded, or none."""

    verdicts: Annotated[
        tuple[ItemVerdict, ...], Field(min_length=1), AfterValidator(_one_each)
    ]
