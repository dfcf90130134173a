"""How risky an action is, from what can be checked outside a model.

A model's confidence can raise a level and never lowers one.
"""

from policies.policy import LEVELS, RiskLevel, RiskPolicy
from policies.tool import RiskTraits
from policies.value import Value


class Risk(Value):
    """A level and why; the reasons are sentences for the reviewer."""

    level: RiskLevel
    reasons: tuple[str, ...]


def assess(traits: RiskTraits, confidence: float | None, policy: RiskPolicy) -> Risk:
    """The level of an action with these traits; `confidence` (0 to 1) is a model's."""
    found = _points(traits, policy)
    level = _level(sum(points for points, _ in found), policy)
    reasons = tuple(reason for _, reason in found)
    if confidence is not None and not confidence >= policy.confidence_floor:
        raised = "medium" if level == "low" else level
        why = f"the model's confidence is {confidence:.2f}, below the policy's floor"
        return Risk(level=raised, reasons=(*reasons, why))
    return Risk(level=level, reasons=reasons or ("nothing in it can do harm",))


def at_least(level: RiskLevel, other: RiskLevel) -> bool:
    """Whether `level` is as high as `other` or higher."""
    return LEVELS.index(level) >= LEVELS.index(other)


def _points(traits: RiskTraits, policy: RiskPolicy) -> list[tuple[int, str]]:
    exposure = {
        "none": 0,
        "internal": policy.internal_exposure,
        "external": max(policy.internal_exposure, policy.external_exposure),
    }[traits.exposure]
    cost = max(
        (p for start, p in policy.costs if traits.cost_minor >= start), default=0
    )
    rows = [
        (cost, f"it moves money: {traits.cost_minor} minor units"),
        (policy.irreversible * traits.irreversible, "it cannot be taken back"),
        (policy.personal_data * traits.personal_data, "it holds personal data"),
        (exposure, f"its exposure is {traits.exposure}"),
        (policy.legal_effect * traits.legal_effect, "it commits us legally"),
    ]
    return [row for row in rows if row[0]]


def _level(points: int, policy: RiskPolicy) -> RiskLevel:
    if points >= policy.critical_from:
        return "critical"
    if points >= policy.high_from:
        return "high"
    return "medium" if points >= policy.medium_from else "low"
