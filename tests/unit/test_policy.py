"""A policy is versioned by its content; approvals are bound to its gating part."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import ValidationError

from policies.policy import GatePolicy, Policy, RiskPolicy, TermPolicy
from tests.unit.values import texts, unhurried

DEFAULT = Policy()
GATING: dict[str, Any] = {
    "risk": RiskPolicy(external_exposure=3),
    "gates": DEFAULT.gates | {"medium": GatePolicy(role="owner")},
}
OTHERS: dict[str, Any] = {
    "terms": DEFAULT.terms
    | {"low": TermPolicy(decide_within_seconds=1, approval_term_seconds=1)},
    "rubric_version": "2",
    "denied": {"agent": ("support_email.send",)},
}


def test_the_version_of_a_policy_is_the_same_in_every_run() -> None:
    assert DEFAULT.gate_version == (
        "sha256:eb97aa9a7fb92d535d20ba95cfb7a768445088ff149369684b8d3b96bd744999"
    )
    assert Policy().version == DEFAULT.version


def test_every_part_of_a_policy_belongs_to_its_version() -> None:
    assert set(GATING) | set(OTHERS) == set(Policy.model_fields)
    versions = {Policy(**{n: v}).version for n, v in (GATING | OTHERS).items()}
    assert len(versions | {DEFAULT.version}) == 6


@pytest.mark.parametrize("name", GATING)
def test_who_decides_what_is_part_of_every_approval(name: str) -> None:
    """A2: a change of risk weights, roles or quorum voids approvals."""
    assert Policy(**{name: GATING[name]}).gate_version != DEFAULT.gate_version


@pytest.mark.parametrize("name", OTHERS)
def test_a_changed_deadline_or_rubric_voids_no_approval(name: str) -> None:
    assert Policy(**{name: OTHERS[name]}).gate_version == DEFAULT.gate_version


@pytest.mark.parametrize("name", list(GatePolicy.model_fields))
def test_every_part_of_a_gate_is_gating(name: str) -> None:
    value = {"role": "manager", "verdicts": 3}.get(name, True)
    gate = DEFAULT.gates["medium"].model_copy(update={name: value})
    changed = Policy(gates=DEFAULT.gates | {"medium": gate})
    assert changed.gate_version != DEFAULT.gate_version


def test_a_policy_that_was_stored_and_read_has_the_same_versions() -> None:
    read = Policy.model_validate_json(DEFAULT.model_dump_json())
    assert (read.version, read.gate_version) == (DEFAULT.version, DEFAULT.gate_version)


def test_only_low_risk_is_decided_without_a_person() -> None:
    """S1: people are asked where it matters, and always there."""
    automatic = {level for level, gate in DEFAULT.gates.items() if gate.automatic}
    assert automatic == {"low"}


def test_what_is_grave_needs_a_signed_in_channel_and_more_people() -> None:
    gates = DEFAULT.gates
    assert {level for level, gate in gates.items() if gate.signed_in} == {
        "high",
        "critical",
    }
    assert gates["critical"].verdicts == 2


def test_the_graver_the_shorter_a_verdict_lasts() -> None:
    """A5: an approval has a term at every level."""
    terms = [DEFAULT.terms[level].approval_term_seconds for level in DEFAULT.gates]
    assert terms == sorted(terms, reverse=True) == [86_400, 14_400, 3600, 900]


@pytest.mark.parametrize("verdicts", [0, -1])
def test_a_gate_that_opens_without_a_verdict_is_refused(verdicts: int) -> None:
    """A8: no record is never an approval, whatever the policy's author wrote."""
    with pytest.raises(ValidationError, match="verdicts"):
        GatePolicy(role="reviewer", verdicts=verdicts)


@pytest.mark.parametrize("role", ["admin", "auditor", "nobody"])
def test_a_gate_for_a_role_that_decides_nothing_is_refused(role: str) -> None:
    with pytest.raises(ValidationError, match="role"):
        GatePolicy.model_validate({"role": role})


@unhurried
@given(st.dictionaries(texts, st.lists(texts, max_size=3).map(tuple)), texts, texts)
def test_a_permission_is_taken_from_whom_it_is_denied_and_from_nobody_else(
    denied: dict[str, tuple[str, ...]], who: str, what: str
) -> None:
    taken = (who, what) in {(p, d) for p, all_of in denied.items() for d in all_of}
    assert Policy(denied=denied).principal_may(who, what) is not taken


def test_what_was_denied_by_name_is_denied() -> None:
    policy = Policy(denied={"agent": ("mail.send",)})
    assert not policy.principal_may("agent", "mail.send")
    assert policy.principal_may("agent", "mail.read")
