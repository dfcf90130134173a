"""Values never change, know their fields, and never carry another's digest."""

import pytest
from pydantic import ValidationError

from policies.intent import PayloadRef
from policies.policy import Policy, RiskPolicy
from tests.unit.values import PAYLOAD, snapshot


def test_a_value_cannot_be_changed() -> None:
    with pytest.raises(ValidationError, match="frozen"):
        PAYLOAD.version = 9  # type: ignore[misc]


def test_a_value_refuses_a_field_that_it_does_not_know() -> None:
    told = PAYLOAD.model_dump() | {"approved": True}
    with pytest.raises(ValidationError, match="approved"):
        PayloadRef.model_validate(told)


def test_a_changed_copy_computes_what_was_cached_anew() -> None:
    policy = Policy()
    before = policy.gate_version
    changed = policy.model_copy(update={"risk": RiskPolicy(legal_effect=9)})
    assert changed.gate_version != before
    assert policy.gate_version == before


def test_a_deep_copy_is_equal_and_has_the_same_digest() -> None:
    taken = snapshot()
    copied = taken.model_copy(deep=True)
    assert (copied, copied.digest) == (taken, taken.digest)
