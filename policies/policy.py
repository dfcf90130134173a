"""The rules that people set, as data: risk weights, who decides, for how long.

A policy is versioned by its content. Its gating part (risk, access, quorum) has a
version of its own, which is part of every effective intent: changing a deadline does
not void approvals, changing who may approve does.
"""

from functools import cached_property
from typing import Literal, Self, TypeAlias

from pydantic import Field, NonNegativeInt, PositiveInt, model_validator

from policies import canonical
from policies.value import Value

RiskLevel: TypeAlias = Literal["low", "medium", "high", "critical"]
Role: TypeAlias = Literal["reviewer", "owner", "manager", "admin", "auditor"]
DecidingRole: TypeAlias = Literal["reviewer", "owner", "manager"]
LEVELS: tuple[RiskLevel, ...] = ("low", "medium", "high", "critical")


class RiskPolicy(Value):
    """Points per checkable trait, and from how many points a level starts.

    No points are negative: more harm must never lower a level.
    """

    irreversible: NonNegativeInt = 1
    personal_data: NonNegativeInt = 2
    internal_exposure: NonNegativeInt = 0
    external_exposure: NonNegativeInt = 2
    legal_effect: NonNegativeInt = 4
    # Costs in minor units (cents): from how much on, how many points.
    costs: tuple[tuple[NonNegativeInt, NonNegativeInt], ...] = (
        (1, 1),
        (10_000, 4),
        (100_000, 8),
    )
    medium_from: int = 4
    high_from: int = 8
    critical_from: int = 12
    confidence_floor: float = 0.5
    """Below this confidence of the model a low-risk action goes to a person."""


class GatePolicy(Value):
    """Who decides at a level: role, number of distinct people, kind of channel."""

    role: DecidingRole
    verdicts: PositiveInt = 1
    automatic: bool = False
    signed_in: bool = False
    """Only a signed-in channel will do: a form's code lies in Prefect's database."""


class TermPolicy(Value):
    """How long a level waits for a verdict, and how long a verdict then lasts."""

    decide_within_seconds: int
    approval_term_seconds: int


def _default_gates() -> dict[RiskLevel, GatePolicy]:
    return {
        "low": GatePolicy(role="reviewer", automatic=True),
        "medium": GatePolicy(role="reviewer"),
        "high": GatePolicy(role="owner", signed_in=True),
        "critical": GatePolicy(role="owner", verdicts=2, signed_in=True),
    }


def _default_terms() -> dict[RiskLevel, TermPolicy]:
    seconds: dict[RiskLevel, int] = {
        "low": 24 * 3600,
        "medium": 4 * 3600,
        "high": 3600,
        "critical": 900,
    }
    return {
        level: TermPolicy(decide_within_seconds=term, approval_term_seconds=term)
        for level, term in seconds.items()
    }


class Policy(Value):
    """All rules together; the defaults are those of a fresh installation."""

    risk: RiskPolicy = RiskPolicy()
    gates: dict[RiskLevel, GatePolicy] = Field(default_factory=_default_gates)
    terms: dict[RiskLevel, TermPolicy] = Field(default_factory=_default_terms)
    rubric_version: str = "1"
    """The version of the standard by which reviewers judge."""
    denied: dict[str, tuple[str, ...]] = Field(default_factory=dict)
    """Permissions taken from a principal (who asks for actions), by its id."""

    @model_validator(mode="after")
    def _all_levels(self) -> Self:
        for name, levels in (("gates", self.gates), ("terms", self.terms)):
            missing = [level for level in LEVELS if level not in levels]
            if missing:
                raise ValueError(f"{name} lacks the level {', '.join(missing)}")
        return self

    @cached_property
    def version(self) -> str:
        """The digest of the whole policy."""
        return canonical.digest("policy", canonical.canonicalise(self))

    @cached_property
    def gate_version(self) -> str:
        """The digest of the gating part, which approvals are bound to."""
        part = self.model_dump(mode="json", include={"risk", "gates"})
        return canonical.digest("policy", canonical.canonical_bytes(part))

    def principal_may(self, principal: str, permission: str) -> bool:
        """Whether whoever asks for an action may still do so."""
        return permission not in self.denied.get(principal, ())
