"""Risk comes from what can be checked; a model's word can only raise it."""

import math
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from policies.policy import LEVELS, RiskPolicy
from policies.risk import Risk, assess, at_least
from policies.tool import RiskTraits
from tests.unit.values import unhurried

DEFAULT = RiskPolicy()
EXPOSURES = ("none", "internal", "external")
points = st.integers(0, 9)
costs = st.integers(0, 200_000) | st.sampled_from([0, 1, 9_999, 10_000, 100_000])
confidences = st.none() | st.floats(0, 1)
traits = st.builds(
    RiskTraits,
    cost_minor=costs,
    irreversible=st.booleans(),
    personal_data=st.booleans(),
    exposure=st.sampled_from(EXPOSURES),
    legal_effect=st.booleans(),
)
policies = st.just(DEFAULT) | st.builds(
    RiskPolicy,
    **dict.fromkeys(
        (
            *("irreversible", "personal_data", "internal_exposure"),
            *("external_exposure", "legal_effect"),
        ),
        points,
    ),
    costs=st.lists(st.tuples(costs, points), max_size=3).map(tuple),
    medium_from=points,
    high_from=points,
    critical_from=points,
    confidence_floor=st.floats(0, 1),
)


def worse(one: RiskTraits, other: RiskTraits) -> RiskTraits:
    """Traits with the harm of both."""
    return RiskTraits(
        cost_minor=max(one.cost_minor, other.cost_minor),
        irreversible=one.irreversible or other.irreversible,
        personal_data=one.personal_data or other.personal_data,
        exposure=max(one.exposure, other.exposure, key=EXPOSURES.index),
        legal_effect=one.legal_effect or other.legal_effect,
    )


@unhurried
@given(traits, traits, confidences, policies)
def test_more_harm_never_lowers_the_level(
    one: RiskTraits, other: RiskTraits, confidence: float | None, policy: RiskPolicy
) -> None:
    """A9: whatever is added to an action's harm."""
    more = assess(worse(one, other), confidence, policy)
    assert at_least(more.level, assess(one, confidence, policy).level)


@unhurried
@given(traits, st.floats(0, 1), st.floats(0, 1), policies)
def test_less_confidence_never_lowers_the_level(
    harm: RiskTraits, one: float, other: float, policy: RiskPolicy
) -> None:
    """A9: a model that is less sure never gets its action through more easily."""
    less, more = sorted((one, other))
    assert at_least(assess(harm, less, policy).level, assess(harm, more, policy).level)


@unhurried
@given(traits, st.floats(), policies)
def test_no_confidence_lowers_what_can_be_checked(
    harm: RiskTraits, confidence: float, policy: RiskPolicy
) -> None:
    """A9: a model cannot talk a risk down, whatever number it says."""
    checked = assess(harm, None, policy).level
    assert at_least(assess(harm, confidence, policy).level, checked)


@pytest.mark.parametrize("confidence", [math.nan, -math.inf, -1.0, 0.0, 0.499])
def test_a_low_or_senseless_confidence_sends_a_low_risk_to_a_person(
    confidence: float,
) -> None:
    """A9: NaN is no confidence."""
    risk = assess(RiskTraits(), confidence, DEFAULT)
    assert risk.level == "medium"
    assert "below the policy's floor" in risk.reasons[-1]


def test_a_confidence_at_the_floor_or_none_at_all_changes_nothing() -> None:
    harmless = Risk(level="low", reasons=("nothing in it can do harm",))
    assert assess(RiskTraits(), 0.5, DEFAULT) == harmless
    assert assess(RiskTraits(), None, DEFAULT) == harmless


def test_a_high_risk_stays_as_high_as_it_is_when_confidence_is_low() -> None:
    harm = RiskTraits(cost_minor=100_000)
    assert assess(harm, 0.0, DEFAULT).level == "high"


@pytest.mark.parametrize(
    ("harm", "level"),
    [
        ({}, "low"),
        ({"irreversible": True, "exposure": "external"}, "low"),
        (
            {"irreversible": True, "exposure": "external", "personal_data": True},
            "medium",
        ),
        ({"legal_effect": True}, "medium"),
        ({"cost_minor": 9_999, "irreversible": True}, "low"),
        ({"cost_minor": 10_000}, "medium"),
        ({"cost_minor": 10_000, "legal_effect": True}, "high"),
        ({"cost_minor": 100_000, "legal_effect": True}, "critical"),
    ],
)
def test_the_default_policy_weighs_an_action(harm: dict[str, Any], level: str) -> None:
    assert assess(RiskTraits(**harm), None, DEFAULT).level == level


def test_every_trait_that_counts_is_told_to_the_reviewer() -> None:
    harm = RiskTraits(
        cost_minor=5,
        irreversible=True,
        personal_data=True,
        exposure="external",
        legal_effect=True,
    )
    assert assess(harm, None, DEFAULT).reasons == (
        "it moves money: 5 minor units",
        "it cannot be taken back",
        "it holds personal data",
        "its exposure is external",
        "it commits us legally",
    )


def test_a_negative_amount_cannot_hide_that_money_moves() -> None:
    with pytest.raises(ValidationError, match="cost_minor"):
        RiskTraits(cost_minor=-1_000_000)


@pytest.mark.parametrize("name", ["irreversible", "legal_effect", "external_exposure"])
def test_a_policy_in_which_harm_lowers_the_risk_is_refused(name: str) -> None:
    """A9: for a policy that a user has edited, too."""
    with pytest.raises(ValidationError, match=name):
        RiskPolicy.model_validate({name: -1})


def test_an_external_exposure_never_weighs_less_than_an_internal_one() -> None:
    """A9: even where a policy's author has given it fewer points."""
    odd = RiskPolicy(internal_exposure=8, external_exposure=1)
    levels = {
        assess(RiskTraits(exposure=where), None, odd).level
        for where in ("internal", "external")
    }
    assert levels == {"high"}


def test_levels_are_ordered() -> None:
    assert all(at_least(level, level) for level in LEVELS)
    assert at_least("critical", "high")
    assert not at_least("low", "medium")
